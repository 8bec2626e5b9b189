from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from nagaya.controlplane.hosted.host.host import Host
from nagaya.controlplane.hosted.host.leaving import BalancerFile, drain, read_balancer_file, servers_to_drain
from nagaya.controlplane.hosted.host.roll import Role, Roll, Wanted
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.controlplane.hosted.host.tenant_folder import Started, TenantFolder
from nagaya.supervision.spec import ProcessSpec
from nagaya.supervision.status import ProcessStatus, State
from nagaya.supervision.supervisor import Supervisor
from nagaya.world import World
from support.waiting import eventually

UID = "355ba8b8-c8fd-40d6-92d6-8e90aaaf6302"
FIRST, SECOND, FRONT = f"{UID}.kube-apiserver-0", f"{UID}.kube-apiserver-1", f"{UID}.balancer"
AT = {FIRST: ("127.64.1.2", 6443), SECOND: ("127.64.1.3", 6443)}


def wanted(name: str, version: str = "v1.36.3", role: Role = Role.API_SERVER) -> Wanted:
    return Wanted(role, "kube-apiserver", version, ProcessSpec(name, ("/bin/program", version)))


def running(**states: State) -> dict[str, ProcessStatus]:
    names = {"first": FIRST, "second": SECOND, "front": FRONT}
    return {names[key]: ProcessStatus(names[key], state, 1, 0, "", "") for key, state in states.items()}


ALL_READY = running(first=State.READY, second=State.READY, front=State.READY)
STARTED = {FIRST: wanted(FIRST).started, SECOND: wanted(SECOND).started, FRONT: Started("b", "")}


def to_drain(steps: Roll, processes: dict[str, ProcessStatus] | None = None, marked: tuple[str, ...] = ()) -> set[str]:
    return servers_to_drain(
        steps, FRONT, started=STARTED, processes=ALL_READY if processes is None else processes, marked=marked
    )


def test_an_exchanged_api_server_is_drained() -> None:
    assert to_drain(Roll((wanted(FIRST, "v1.36.4"), wanted(SECOND)))) == {FIRST}


def test_an_adopted_or_new_api_server_is_not_drained() -> None:
    steps = Roll((wanted(FIRST), wanted(SECOND)))

    assert to_drain(steps) == set()
    assert servers_to_drain(steps, FRONT, started={}, processes=ALL_READY) == set()


def test_an_api_server_whose_exchange_was_interrupted_is_drained_again() -> None:
    processes = running(first=State.UNCLAIMED, second=State.UNCLAIMED, front=State.UNCLAIMED)

    assert to_drain(Roll((wanted(FIRST), wanted(SECOND))), processes, marked=(FIRST,)) == {FIRST}


def test_an_api_server_that_has_just_become_ready_is_drained() -> None:
    steps = Roll((wanted(FIRST, "v1.36.4"),))

    assert to_drain(steps, running(first=State.STARTING, front=State.READY)) == {FIRST}
    assert to_drain(steps, running(first=State.WAITING, front=State.READY)) == set()


def test_a_balancer_that_is_away_for_a_moment_changes_nothing() -> None:
    steps = Roll((wanted(FIRST, "v1.36.4"),))

    assert to_drain(steps, running(first=State.READY, front=State.WAITING)) == {FIRST}
    assert to_drain(steps, running(first=State.READY)) == set()


def test_a_surplus_api_server_is_drained_unless_the_balancer_ends_as_well() -> None:
    assert to_drain(Roll(stop=(SECOND,))) == {SECOND}
    assert to_drain(Roll(stop=(SECOND, FRONT))) == set()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(HostSettings(tmp_path), World())


@pytest.fixture
def folder(host: Host) -> TenantFolder:
    found = host.folder(UID)
    found.write_for_balancer({"balancer.json": msgspec.json.encode(FILE)})
    return found


FILE = BalancerFile(tuple(AT.values()), "/ca.crt", tuple(AT), generation=7)


def file(folder: TenantFolder) -> BalancerFile:
    found = read_balancer_file(folder)
    assert found is not None
    return found


class FakeBalancer:
    """Writes what a test wants it to say."""

    def __init__(self, folder: TenantFolder) -> None:
        self._folder = folder

    def say(self, *, generation: int, count: int | None = None, closed: bool = False) -> None:
        status = {
            "observedGeneration": generation,
            "leaving": [] if count is None else [[*AT[FIRST], count]],
            "closed": [AT[FIRST]] if closed else [],
        }
        self._folder.write_for_balancer({"balancer.json.status": json.dumps(status).encode()})

    async def confirm(self) -> None:
        """Confirm everything, as soon as it is wanted."""
        while True:
            wanted = file(self._folder)
            self.say(
                generation=wanted.generation,
                count=0 if AT[FIRST] in wanted.leaving else None,
                closed=AT[FIRST] in wanted.closed,
            )
            await asyncio.sleep(0.01)


async def test_draining_ends_when_the_balancer_has_confirmed_both_states(folder: TenantFolder) -> None:
    balancer = FakeBalancer(folder)
    draining = asyncio.create_task(drain(folder, {FIRST}))
    await eventually(lambda: file(folder).leaving == (AT[FIRST],))
    for count in (None, 2, 1):
        balancer.say(generation=8, count=count, closed=True)
        await asyncio.sleep(0.15)  # several polls of the status, which must confirm nothing
        assert file(folder).closed == ()
    balancer.say(generation=8, count=0)
    await eventually(lambda: file(folder).closed == (AT[FIRST],))
    balancer.say(generation=9, count=0)
    await asyncio.sleep(0.15)  # several polls
    assert not draining.done()
    balancer.say(generation=9, count=0, closed=True)
    async with asyncio.timeout(60):
        assert await draining


async def test_a_status_of_an_earlier_exchange_confirms_nothing(folder: TenantFolder) -> None:
    FakeBalancer(folder).say(generation=7, count=0, closed=True)

    assert not await drain(folder, {FIRST}, timeout=0.3)
    assert file(folder).closed == ()


async def test_an_api_server_that_cannot_be_closed_is_open_afterwards_and_still_leaves(folder: TenantFolder) -> None:
    balancer = FakeBalancer(folder)
    draining = asyncio.create_task(drain(folder, {FIRST}, timeout=0.5))
    await eventually(lambda: file(folder).leaving == (AT[FIRST],))
    balancer.say(generation=8, count=0)

    assert not await draining
    assert (file(folder).leaving, file(folder).closed) == ((AT[FIRST],), ())


@pytest.mark.parametrize("names", [set(), {"uid.kube-scheduler"}])
async def test_nothing_is_waited_for_without_a_back_end(folder: TenantFolder, names: set[str]) -> None:
    assert await drain(folder, names)
    assert file(folder) == FILE


async def test_nothing_is_waited_for_without_a_balancer(tmp_path: Path) -> None:
    assert await drain(TenantFolder(tmp_path), {FIRST})
    assert not (tmp_path / "balancer").exists()


class Ended(Supervisor):
    """Notes what is started, which ends what ran before, and what the balancer had been told by then."""

    def __init__(self, folder: TenantFolder) -> None:
        super().__init__(folder.path / "processes", World())
        self.folder = folder
        self.noted: list[tuple[str, bool]] = []
        self.fails: BaseException | None = None
        self.processes = ALL_READY

    def list(self) -> list[ProcessStatus]:
        return [*self.processes.values()]

    async def ensure(self, spec: ProcessSpec) -> None:
        self.noted.append((spec.name, FILE.addresses_of({spec.name})[0] in file(self.folder).closed))
        if self.fails is not None:
            raise self.fails


UPGRADE = Roll((wanted(FIRST, "v1.36.4"),))


async def carry_out(host: Host, folder: TenantFolder, steps: Roll, fails: BaseException | None = None) -> Ended:
    """Carry steps out beside a balancer that confirms."""
    supervisor = Ended(folder)
    supervisor.fails = fails
    host._supervisor = supervisor
    confirming = asyncio.create_task(FakeBalancer(folder).confirm())
    try:
        async with asyncio.timeout(60):
            await host.carry_out(UID, steps, FILE)
    finally:
        confirming.cancel()
    return supervisor


async def test_an_api_server_is_ended_when_it_is_closed(host: Host, folder: TenantFolder) -> None:
    folder.note_started(STARTED)

    supervisor = await carry_out(host, folder, UPGRADE)

    assert supervisor.noted == [(FIRST, True)]
    assert (file(folder).leaving, file(folder).closed) == ((), ())


async def test_an_api_server_that_is_not_drained_stays(
    host: Host, folder: TenantFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.note_started(STARTED)
    host._supervisor = supervisor = Ended(folder)
    monkeypatch.setattr(host, "drained", lambda folder, names: drain(folder, names, timeout=0.2))

    await host.carry_out(UID, UPGRADE, FILE)

    assert supervisor.noted == []
    assert folder.started() == STARTED
    assert file(folder).leaving == (AT[FIRST],)  # the next attempt goes on there
    await host.carry_out(UID, Roll(), FILE)
    assert file(folder).leaving == ()  # unless nobody wants it any more


async def test_other_steps_do_not_wait_for_the_balancer(
    host: Host, folder: TenantFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.note_started(STARTED)
    host._supervisor = supervisor = Ended(folder)
    supervisor.processes = running(first=State.READY, second=State.WAITING, front=State.READY)
    monkeypatch.setattr(host, "drained", lambda folder, names: drain(folder, names, timeout=0.2))

    await host.carry_out(UID, Roll((wanted(FIRST, "v1.36.4"), wanted(SECOND, "v1.36.4"))), FILE)

    assert supervisor.noted == [(SECOND, False)]


async def test_the_mark_goes_if_the_exchange_fails_and_stays_if_nagaya_ends(host: Host, folder: TenantFolder) -> None:
    folder.note_started(STARTED)
    with pytest.raises(ValueError, match="it failed"):
        await carry_out(host, folder, UPGRADE, ValueError("it failed"))
    assert file(folder).leaving == ()

    folder.note_started(STARTED)
    with pytest.raises(asyncio.CancelledError):
        await carry_out(host, folder, UPGRADE, asyncio.CancelledError())
    assert file(folder).leaving == (AT[FIRST],)


async def test_an_interrupted_exchange_is_completed_before_another_one_begins(host: Host, folder: TenantFolder) -> None:
    """Nagaya was killed after it had written down that the first API server is of the new version: it is not."""
    folder.note_started({**STARTED, FIRST: wanted(FIRST, "v1.36.4").started})
    folder.write_for_balancer(
        {"balancer.json": msgspec.json.encode(msgspec.structs.replace(FILE, leaving=(AT[FIRST],)))}
    )

    supervisor = await carry_out(host, folder, Roll((wanted(FIRST, "v1.36.4"), wanted(SECOND, "v1.36.4"))))

    assert supervisor.noted == [(FIRST, True)]
    assert folder.started()[SECOND] == STARTED[SECOND]
    assert file(folder).leaving == ()
