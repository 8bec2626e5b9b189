"""One process over its lives, on virtual time, in a home that the test plays."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from nagaya.supervision.backoff import Backoff
from nagaya.supervision.errors import StillRunning
from nagaya.supervision.events import Adopted, Event, Exited, NotStarted, Ready, Restarting, Started, Stopped
from nagaya.supervision.spec import ProcessSpec
from nagaya.supervision.status import State
from nagaya.supervision.unit import Unit
from support.virtual_run import virtual_world

SPEC = ProcessSpec("etcd", ("/bin/etcd",), grace=5.0)
OTHER = replace(SPEC, files_hash="changed")
RULE = Backoff(first=1.0, limit=8.0, jitter=0.0, stable=30.0)


@dataclass
class PlayedLife:
    pid: int
    digest: str
    home: PlayedHome
    age: float = 0.0
    grace: float = 30.0
    exit: asyncio.Future[int | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    async def ended(self) -> int | None:
        return await asyncio.shield(self.exit)

    async def end(self, grace: float) -> None:
        self.home.graces.append(grace)
        await asyncio.sleep(self.home.end_takes)
        self.die(0)

    def release(self) -> None:
        self.home.released.append(self.pid)

    def die(self, code: int | None) -> None:
        self.home.running.discard(self.pid)
        if not self.exit.done():
            self.exit.set_result(code)


@dataclass
class PlayedHome:
    left: PlayedLife | None = None
    lives: list[PlayedLife] = field(default_factory=list)
    running: set[int] = field(default_factory=set)
    graces: list[float] = field(default_factory=list)
    released: list[int] = field(default_factory=list)
    end_takes: float = 0.0
    failure: Exception | None = None

    def find(self) -> PlayedLife | None:
        left, self.left = self.left, None
        return left

    async def start(self, spec: ProcessSpec) -> PlayedLife:
        if self.failure is not None:
            raise self.failure
        assert not self.running, "two of one"
        life = PlayedLife(100 + len(self.lives), spec.digest, self)
        self.lives.append(life)
        self.running.add(life.pid)
        return life

    async def clear(self) -> None:
        assert not self.running

    def last_lines(self) -> tuple[str, ...]:
        return ("panic: no disk",)

    def leave(self, spec: ProcessSpec, age: float = 0.0) -> PlayedLife:
        self.left = PlayedLife(42, spec.digest, self, age=age, grace=spec.grace)
        self.running.add(42)
        return self.left


class Told:
    """Every event with the time at which it was told."""

    def __init__(self) -> None:
        self.events: list[tuple[float, Event]] = []

    def __call__(self, event: Event) -> None:
        self.events.append((round(asyncio.get_running_loop().time(), 3), event))

    def of(self, *kinds: type) -> list[tuple[float, Event]]:
        return [(time, event) for time, event in self.events if isinstance(event, kinds)]


def unit_of(home: PlayedHome, told: Told) -> Unit:
    return Unit("etcd", home, virtual_world(), RULE, told)


async def test_each_end_is_followed_by_a_longer_pause_and_a_stable_life_forgets_them() -> None:
    home, told = PlayedHome(), Told()
    unit = unit_of(home, told)
    await unit.ensure(SPEC)
    for _ in range(5):
        home.lives[-1].die(1)
        await asyncio.sleep(10)
    await asyncio.sleep(30)
    home.lives[-1].die(-9)
    await asyncio.sleep(10)
    assert [event.delay for _, event in told.of(Restarting) if isinstance(event, Restarting)] == [1, 2, 4, 8, 8, 1]
    assert unit.status.restarts == 6
    await unit.stop()


async def test_an_end_is_told_with_its_code_and_last_words() -> None:
    home, told = PlayedHome(), Told()
    unit = unit_of(home, told)
    await unit.ensure(SPEC)
    home.lives[0].die(-11)
    await asyncio.sleep(0.5)
    assert told.events == [
        (0.0, Started("etcd", 100)),
        (0.0, Ready("etcd", 0.0)),
        (0.0, Exited("etcd", 100, -11, ("panic: no disk",))),
        (0.0, Restarting("etcd", 1.0, 1)),
    ]
    assert str(told.events[2][1]) == "etcd (process 100) was killed by SIGSEGV. Its last words: panic: no disk"
    assert unit.status.state is State.WAITING
    assert unit.status.reason == "process 100 was killed by SIGSEGV"
    await unit.stop()


async def test_the_same_spec_again_changes_nothing() -> None:
    home, told = PlayedHome(), Told()
    unit = unit_of(home, told)
    await unit.ensure(SPEC)
    await unit.ensure(replace(SPEC, grace=9.0))
    assert len(home.lives) == 1
    await unit.stop()
    assert home.graces == [9.0]


async def test_the_same_spec_again_does_not_shorten_a_pause() -> None:
    home, told = PlayedHome(), Told()
    unit = unit_of(home, told)
    await unit.ensure(SPEC)
    home.lives[0].die(1)
    await asyncio.sleep(0.5)
    await unit.ensure(SPEC)
    assert len(home.lives) == 1
    await unit.stop()


async def test_a_changed_spec_ends_the_old_life_before_the_new_one_begins() -> None:
    home, told = PlayedHome(end_takes=3.0), Told()
    unit = unit_of(home, told)
    await unit.ensure(SPEC)
    await unit.ensure(OTHER)
    assert told.of(Started, Stopped) == [
        (0.0, Started("etcd", 100)),
        (3.0, Stopped("etcd")),
        (3.0, Started("etcd", 101)),
    ]
    assert not told.of(Exited)
    await unit.stop()


async def test_a_life_that_was_left_is_adopted_if_it_is_the_wanted_one() -> None:
    home, told = PlayedHome(), Told()
    left = home.leave(SPEC, age=100.0)
    unit = unit_of(home, told)
    assert unit.status.state is State.UNCLAIMED
    await unit.ensure(SPEC)
    assert told.events[0] == (0.0, Adopted("etcd", 42))
    assert not home.lives
    left.die(None)
    await asyncio.sleep(0.1)
    assert told.of(Exited, Restarting) == [
        (0.0, Exited("etcd", 42, None, ("panic: no disk",))),
        (0.0, Restarting("etcd", 1.0, 1)),
    ]
    await unit.stop()


async def test_a_life_that_was_left_with_another_spec_is_replaced() -> None:
    home, told = PlayedHome(), Told()
    home.leave(OTHER)
    unit = unit_of(home, told)
    await unit.ensure(SPEC)
    assert [event for _, event in told.events][:2] == [Stopped("etcd"), Started("etcd", 100)]
    await unit.stop()


async def test_a_life_that_nobody_wants_is_stopped_with_its_own_grace() -> None:
    home, told = PlayedHome(), Told()
    home.leave(SPEC)
    unit = unit_of(home, told)
    await unit.stop()
    assert home.graces == [5.0]
    assert told.events == [(0.0, Stopped("etcd"))]


async def test_what_cannot_be_started_is_tried_again() -> None:
    home, told = PlayedHome(failure=OSError("no more processes")), Told()
    unit = unit_of(home, told)
    await unit.ensure(SPEC)
    assert unit.status.reason == "no more processes"
    await asyncio.sleep(2)
    home.failure = None
    await asyncio.sleep(2)
    assert told.of(NotStarted, Started) == [
        (0.0, NotStarted("etcd", "no more processes")),
        (1.0, NotStarted("etcd", "no more processes")),
        (3.0, Started("etcd", 100)),
    ]
    await unit.stop()


async def test_nothing_is_started_while_the_old_life_cannot_be_ended() -> None:
    home, told = PlayedHome(failure=StillRunning("process 42 does not end")), Told()
    unit = unit_of(home, told)
    await unit.ensure(SPEC)
    assert told.of(NotStarted) == [(0.0, NotStarted("etcd", "process 42 does not end"))]
    await unit.stop()


async def test_stopping_ends_the_pauses_too() -> None:
    home, told = PlayedHome(), Told()
    unit = unit_of(home, told)
    await unit.ensure(SPEC)
    home.lives[0].die(1)
    await asyncio.sleep(0.1)
    await unit.stop()
    await asyncio.sleep(100)
    assert len(home.lives) == 1
    assert unit.status.state is State.STOPPED


async def test_a_change_that_was_interrupted_is_taken_up_by_the_next() -> None:
    home, told = PlayedHome(end_takes=3.0), Told()
    unit = unit_of(home, told)
    await unit.ensure(SPEC)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(unit.ensure(OTHER), 1.0)
    await unit.ensure(OTHER)
    await asyncio.sleep(5)
    assert [life.digest for life in home.lives] == [SPEC.digest, OTHER.digest]
    assert home.running == {101}
    await unit.stop()


async def test_a_process_is_ready_when_its_probe_says_so() -> None:
    answers = [False, ConnectionRefusedError(), True]

    async def probe() -> bool:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    home, told = PlayedHome(), Told()
    unit = unit_of(home, told)
    await unit.ensure(replace(SPEC, ready=probe))
    assert unit.status.state is State.STARTING
    await asyncio.sleep(1)
    assert told.of(Ready) == [(0.1, Ready("etcd", 0.1))]
    assert unit.status.state is State.READY
    await unit.stop()


@pytest.mark.parametrize("takes", [0.3, 3.2, 15.0, 60.0])
async def test_who_gets_ready_is_noticed_soon_and_not_asked_all_the_time(takes: float) -> None:
    asked = []

    async def probe() -> bool:
        asked.append(asyncio.get_running_loop().time())
        return asked[-1] - asked[0] >= takes

    unit = unit_of(PlayedHome(), Told())
    await unit.ensure(replace(SPEC, ready=probe))
    await asyncio.sleep(takes * 2)
    assert unit.status.state is State.READY
    assert asked[-1] - asked[0] <= takes + max(0.05, min(takes * 0.05, 1.0)) + 0.001
    assert len(asked) < 150
    await unit.stop()


async def test_a_probe_that_hangs_is_asked_again() -> None:
    asked = []

    async def probe() -> bool:
        asked.append(asyncio.get_running_loop().time())
        if len(asked) == 1:
            await asyncio.sleep(3600)
        return True

    home, told = PlayedHome(), Told()
    unit = unit_of(home, told)
    await unit.ensure(replace(SPEC, ready=probe))
    await asyncio.sleep(6)
    assert unit.status.state is State.READY
    await unit.stop()


async def test_a_released_process_runs_on_unkept() -> None:
    home, told = PlayedHome(), Told()
    unit = unit_of(home, told)
    await unit.ensure(SPEC)
    await unit.release()
    assert home.released == [100]
    assert home.running == {100}
