from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from nagaya.controlplane.hosted.host.leaving import BalancerFile, left, who_leaves
from nagaya.controlplane.hosted.host.roll import Role, Roll, Wanted
from nagaya.controlplane.hosted.host.tenant_folder import Started, TenantFolder
from nagaya.supervision.spec import ProcessSpec
from nagaya.supervision.status import ProcessStatus, State

FIRST, SECOND, FRONT = "uid.kube-apiserver-0", "uid.kube-apiserver-1", "uid.balancer"
AT = {FIRST: ("127.64.1.2", 6443), SECOND: ("127.64.1.3", 6443)}


def wanted(name: str, version: str = "v1.36.3", role: Role = Role.API_SERVER) -> Wanted:
    return Wanted(role, "kube-apiserver", version, ProcessSpec(name, ("/bin/program", version)))


def running(**states: State) -> dict[str, ProcessStatus]:
    names = {"first": FIRST, "second": SECOND, "front": FRONT}
    return {names[key]: ProcessStatus(names[key], state, 1, 0, "", "") for key, state in states.items()}


ALL_READY = running(first=State.READY, second=State.READY, front=State.READY)
STARTED = {FIRST: wanted(FIRST).started, SECOND: wanted(SECOND).started, FRONT: Started("b", "")}


def test_who_is_exchanged_leaves_first() -> None:
    steps = Roll((wanted(FIRST, "v1.36.4"), wanted(SECOND)))

    assert who_leaves(steps, FRONT, STARTED, ALL_READY) == {FIRST}


def test_who_is_taken_over_or_started_for_the_first_time_does_not_leave() -> None:
    steps = Roll((wanted(FIRST), wanted(SECOND)))

    assert who_leaves(steps, FRONT, STARTED, ALL_READY) == set()
    assert who_leaves(steps, FRONT, {}, ALL_READY) == set()


def test_who_does_not_work_has_nobody_to_let_go() -> None:
    steps = Roll((wanted(FIRST, "v1.36.4"),))

    assert who_leaves(steps, FRONT, STARTED, running(first=State.WAITING, front=State.READY)) == set()
    assert who_leaves(steps, FRONT, STARTED, running(first=State.READY, front=State.WAITING)) == set()
    assert who_leaves(steps, FRONT, STARTED, running(first=State.READY)) == set()


def test_who_is_no_longer_wanted_leaves_too_unless_the_balancer_goes_as_well() -> None:
    assert who_leaves(Roll(stop=(SECOND,)), FRONT, STARTED, ALL_READY) == {SECOND}
    assert who_leaves(Roll(stop=(SECOND, FRONT)), FRONT, STARTED, ALL_READY) == set()


@pytest.fixture
def folder(tmp_path: Path) -> TenantFolder:
    found = TenantFolder(tmp_path)
    content = BalancerFile(tuple(AT.values()), "/ca.crt", tuple(AT))
    found.write({"balancer.json": msgspec.json.encode(content)})
    return found


def marked(folder: TenantFolder) -> list[list[object]]:
    found: list[list[object]] = json.loads(folder.read("balancer.json") or b"{}").get("leaving", [])
    return found


def say(folder: TenantFolder, *leaving: tuple[str, int, int]) -> None:
    folder.write({"balancer.json.status": json.dumps({"leaving": leaving}).encode()})


async def test_it_is_waited_for_until_nobody_is_left(folder: TenantFolder) -> None:
    entered = asyncio.Event()

    async def exchange() -> None:
        async with left(folder, {FIRST}):
            assert marked(folder) == [[*AT[FIRST]]]
            entered.set()

    exchanging = asyncio.create_task(exchange())
    for counts in ([], [2], [1]):
        say(folder, *((*AT[FIRST], count) for count in counts))
        await asyncio.sleep(0.15)
        assert not entered.is_set()
    say(folder, (*AT[FIRST], 0))
    async with asyncio.timeout(10):
        await exchanging

    assert entered.is_set()
    assert marked(folder) == []


async def test_it_is_not_waited_for_ever(folder: TenantFolder) -> None:
    async with left(folder, {FIRST}, limit=0.2):
        assert marked(folder) == [[*AT[FIRST]]]

    assert marked(folder) == []


async def test_the_mark_goes_also_if_the_exchange_fails(folder: TenantFolder) -> None:
    say(folder, (*AT[FIRST], 0))
    with pytest.raises(ValueError, match="it failed"):
        async with left(folder, {FIRST}):
            raise ValueError("it failed")

    assert marked(folder) == []


async def test_a_mark_that_was_left_over_goes(folder: TenantFolder) -> None:
    content = BalancerFile(tuple(AT.values()), "/ca.crt", tuple(AT), leaving=(AT[SECOND],))
    folder.write({"balancer.json": msgspec.json.encode(content)})
    say(folder, (*AT[FIRST], 0))
    async with left(folder, {FIRST}):
        assert marked(folder) == [[*AT[FIRST]]]

    assert marked(folder) == []


@pytest.mark.parametrize("names", [set(), {FIRST, SECOND}, {"uid.kube-scheduler"}])
async def test_nobody_is_marked_who_has_nowhere_to_send_clients_to(folder: TenantFolder, names: set[str]) -> None:
    before = folder.read("balancer.json")
    async with left(folder, names):
        assert folder.read("balancer.json") == before


async def test_without_a_balancer_nothing_is_waited_for(tmp_path: Path) -> None:
    async with left(TenantFolder(tmp_path), {FIRST}):
        assert not (tmp_path / "balancer.json").exists()
