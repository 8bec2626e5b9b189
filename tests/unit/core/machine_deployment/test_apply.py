"""What comes of plans: what the API is asked for, and the events that say how it went."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.core.machine_deployment.applied import Applied
from nagaya.core.machine_deployment.apply import adopt, apply
from nagaya.core.machine_deployment.plan import Plan, Planned
from nagaya.core.machine_deployment.seen import Seen
from nagaya.kube.api import Api
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.errors import Conflict, Forbidden
from nagaya.kube.recorder import EVENTS, Recorder
from nagaya.kube.transport import Answer
from support.builders import NAMESPACE, NOW, Draft, cluster, machine_deployment, machine_set
from support.transports import Scripted, refuses, says
from support.virtual_run import virtual_world

REFUSAL = refuses(403, "Forbidden", "not in this harbour")
OLD = MACHINE_SETS.path(NAMESPACE, "old")
CREATE = Plan("There is none.", (Planned(None, machine_set("old").having(spec={"replicas": 3}).made(), True),))
DELETE = Plan("Clean up.", delete=(machine_set("old").made(),))


class Desk:
    """A deployment whose plans are carried out by an API that gives one answer."""

    def __init__(self, answer: Answer, deployment: MachineDeployment | None = None) -> None:
        self._deployment = deployment or machine_deployment("workers").made()
        self._transport = Scripted(answer, says(201, {"metadata": {"name": "event"}}))
        world = virtual_world()
        client = Client(self._transport, world=world)
        self._api = Api(client, Cache(client, world), "nagaya")
        self._recorder = Recorder(client, world)

    async def apply(self, plan: Plan) -> None:
        sets = (*(change.present for change in plan.sets if change.present is not None), *plan.delete)
        view = Seen(self._deployment, cluster().made(), NOW, sets)
        await apply(self._api, self._recorder, Applied(), view, plan)

    async def adopt(self, orphan: MachineSet) -> None:
        view = Seen(self._deployment, cluster().made(), NOW, orphans=(orphan,))
        await adopt(self._api, self._recorder, view)

    async def events(self, method: str) -> list[Any]:
        """What was recorded after a call for the set `old`."""
        await self._recorder.flush()
        asked, *told = self._transport.calls
        assert (asked.method, asked.path) == (method, OLD)
        assert all((call.method, call.path) == ("POST", EVENTS.path(NAMESPACE)) for call in told)
        return [json.loads(call.body or b"null") for call in told]

    async def event(self, method: str) -> tuple[str, str, str, str]:
        """Type, reason, action and note of the one event about the deployment."""
        (event,) = await self.events(method)
        assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("MachineDeployment", "workers")
        return event["type"], event["reason"], event["action"], event["note"]


def scaled(before: int, after: int) -> Plan:
    draft = machine_set("old")
    present, wanted = draft.having(spec={"replicas": before}).made(), draft.having(spec={"replicas": after}).made()
    return Plan("Scale.", (Planned(present, wanted, False),))


def stored(**parts: Any) -> Answer:
    """The set `old`, as the API has it after a write."""
    return says(200, MACHINE_SETS.content(machine_set("old").having(metadata={"resourceVersion": "2"}, **parts).made()))


@pytest.mark.parametrize(
    ("plan", "method", "reason", "action", "begins"),
    [
        (CREATE, "PATCH", "FailedCreate", "Create", f"Failed to create MachineSet {NAMESPACE}/old: "),
        (scaled(1, 3), "PATCH", "FailedUpdate", "Update", f"Failed to update MachineSet {NAMESPACE}/old: "),
        (DELETE, "DELETE", "FailedDelete", "Delete", 'Failed to delete MachineSet "old": '),
    ],
    ids=["creation", "update", "deletion"],
)
async def test_what_is_refused_is_recorded(plan: Plan, method: str, reason: str, action: str, begins: str) -> None:
    desk = Desk(REFUSAL)
    with pytest.raises(Forbidden, match="not in this harbour"):
        await desk.apply(plan)
    *told, note = await desk.event(method)
    assert told == ["Warning", reason, action]
    assert note.startswith(begins)
    assert "not in this harbour" in note


async def test_a_refused_adoption_is_recorded() -> None:
    desk = Desk(REFUSAL)
    with pytest.raises(Forbidden, match="not in this harbour"):
        await desk.adopt(machine_set("old").made())
    *told, note = await desk.event("PATCH")
    assert told == ["Warning", "FailedAdopt", "Reconcile"]
    assert note.startswith('Failed to adopt MachineSet "old": ')
    assert "not in this harbour" in note


@pytest.mark.parametrize(
    ("plan", "method", "expected"),
    [
        (CREATE, "PATCH", ("SuccessfulCreate", "Create", f"Created MachineSet {NAMESPACE}/old with 3 replicas")),
        (scaled(1, 3), "PATCH", ("SuccessfulScale", "Scale", "Scaled up MachineSet old: 1 -> 3")),
        (scaled(3, 2), "PATCH", ("SuccessfulScale", "Scale", "Scaled down MachineSet old: 3 -> 2")),
        (DELETE, "DELETE", ("SuccessfulDelete", "Delete", 'Deleted MachineSet "old"')),
    ],
    ids=["creation", "growth", "shrinking", "deletion"],
)
async def test_what_is_done_is_recorded(plan: Plan, method: str, expected: tuple[str, str, str]) -> None:
    desk = Desk(stored())
    await desk.apply(plan)
    assert await desk.event(method) == ("Normal", *expected)


async def test_an_adoption_is_recorded() -> None:
    desk = Desk(stored())
    await desk.adopt(machine_set("old").made())
    assert await desk.event("PATCH") == ("Normal", "SuccessfulAdopt", "Reconcile", 'Adopted MachineSet "old"')


async def test_a_change_that_leaves_the_size_as_it_is_is_no_event() -> None:
    draft = machine_set("old").having(spec={"replicas": 3})
    desk = Desk(stored())
    await desk.apply(Plan("Relabel.", (Planned(draft.made(), draft.labelled({"berth": "7"}).made(), False),)))
    assert await desk.events("PATCH") == []


async def test_sets_that_go_with_their_deployment_are_no_event() -> None:
    desk = Desk(stored(), machine_deployment("workers").deleting().made())
    await desk.apply(DELETE)
    assert await desk.events("DELETE") == []


@pytest.mark.parametrize(
    ("deployment", "why"),
    [
        pytest.param(machine_deployment("workers"), "cleanup of old MachineSets", id="it is old"),
        pytest.param(machine_deployment("workers").deleting(), "MachineDeployment deleting", id="its deployment goes"),
    ],
)
async def test_the_log_says_why_a_set_is_deleted(
    deployment: Draft[MachineDeployment], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        await Desk(stored(), deployment.made()).apply(DELETE)
    assert f"MachineSet {NAMESPACE}/old deleting ({why})" in caplog.messages


@pytest.mark.parametrize(("code", "reason"), [(404, "NotFound"), (409, "Conflict")])
async def test_a_set_that_goes_need_not_be_there_any_more(code: int, reason: str) -> None:
    going = machine_set("old").deleting().having(spec={"replicas": 3})
    desk = Desk(refuses(code, reason))
    await desk.apply(Plan("Shrink.", (Planned(going.made(), going.having(spec={"replicas": 2}).made(), False),)))
    assert await desk.events("PATCH") == []


async def test_a_conflict_about_a_set_that_stays_is_recorded() -> None:
    desk = Desk(refuses(409, "Conflict"))
    with pytest.raises(Conflict):
        await desk.apply(scaled(1, 3))
    assert (await desk.event("PATCH"))[:2] == ("Warning", "FailedUpdate")
