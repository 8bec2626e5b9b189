"""Deletions that are interrupted: whatever call is the last of a process, the next one brings them to an end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nagaya.core.machine.deletion.apply import Deletion
from nagaya.core.machine.seen import Seen
from nagaya.kube.transport import Answer, AnswerLost, Call
from support.builders import NAMESPACE, cluster
from support.deletion_seen import going
from support.draining import CONFIGS, HOSTS, PODS, Scene
from support.kube import FakeServer
from support.machine_seen import config, host
from support.virtual_run import run

NODE = ("api/v1/nodes", "", "node-a")
WRITES = 6  # cordon, two evictions, host, boot data, Node


class Died(Exception):
    """The process is no more."""


class Reaper:
    """Lets something happen right after the n-th write has taken effect, or right before it is made."""

    def __init__(self, at: int, *, before: bool, what: type[Exception]) -> None:
        self._at = at
        self._before = before
        self._what = what
        self.writes = 0

    def attach(self, server: FakeServer) -> None:
        send = server.send

        async def counted(call: Call) -> Answer:
            if call.method == "GET":
                return await send(call)
            self.writes += 1
            fatal = self.writes == self._at
            if fatal and self._before:
                raise self._failure(call)
            answer = await send(call)
            if fatal:
                raise self._failure(call)
            return answer

        server.send = counted  # type: ignore[method-assign]  # a test double may be bent

    def _failure(self, call: Call) -> Exception:
        return AnswerLost(call, "the connection was reset") if self._what is AnswerLost else Died()


def view(stage: Scene, *, whole_cluster: bool) -> Seen:
    """What a process would see now."""

    def draft(collection: str, made: Any) -> Any:
        found = stage.management.objects.get((collection, NAMESPACE, "a"))
        if found is None:
            return None
        made = made.having(metadata={"uid": found["metadata"]["uid"]})
        return made.deleting() if "deletionTimestamp" in found["metadata"] else made

    drafts = {"host": draft(HOSTS, host()), "config": draft(CONFIGS, config())}
    return going(cluster=cluster().deleting() if whole_cluster else cluster(), **drafts)


def others_act(stage: Scene) -> None:
    """Providers and kubelet do their part."""
    for collection in (HOSTS, CONFIGS):
        place = (collection, NAMESPACE, "a")
        if "deletionTimestamp" in stage.management.objects.get(place, {}).get("metadata", {}):
            stage.management.remove(*place)
    for place, pod in [*stage.tenant.objects.items()]:
        if place[0] == PODS and "deletionTimestamp" in pod["metadata"]:
            stage.tenant.remove(*place)


async def play(at: int, *, before: bool, what: type[Exception], whole_cluster: bool) -> int:
    async with Scene() as stage:
        for collection in (HOSTS, CONFIGS):
            stage.management.put(collection, NAMESPACE, "a", metadata={"finalizers": ["provider"]})
        stage.tenant.node()
        stage.tenant.pod("a")
        stage.tenant.pod("b")
        reaper = Reaper(at, before=before, what=what)
        reaper.attach(stage.management)
        reaper.attach(stage.tenant)
        for _ in range(20):
            try:
                outcome = await stage.look(view(stage, whole_cluster=whole_cluster))
            except Died:
                stage.deletion = Deletion()
                continue
            if outcome.completed:
                break
            others_act(stage)
            await asyncio.sleep(outcome.requeue_after or 1.0)
        assert outcome.completed
        assert [each for each in stage.management.objects if each[0] in (HOSTS, CONFIGS)] == []
        assert (NODE in stage.tenant.objects) is whole_cluster
        assert any(each[0] == PODS for each in stage.tenant.objects) is whole_cluster
        return reaper.writes


def test_an_undisturbed_deletion_makes_each_write_once() -> None:
    assert run(play(0, before=False, what=Died, whole_cluster=False)) == WRITES
    assert run(play(0, before=False, what=Died, whole_cluster=True)) == 2


@pytest.mark.parametrize("what", [Died, AnswerLost])
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("at", range(1, WRITES + 1))
def test_a_deletion_that_is_interrupted_at_any_write_comes_to_its_end(
    at: int, before: bool, what: type[Exception]
) -> None:
    assert run(play(at, before=before, what=what, whole_cluster=False)) <= WRITES + 2


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("at", [1, 2])
def test_so_does_that_of_a_whole_cluster(at: int, before: bool) -> None:
    assert run(play(at, before=before, what=Died, whole_cluster=True)) <= 3
