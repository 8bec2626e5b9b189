"""Deletions step by step, against a tenant and a management API that a test holds in its hands, on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from nagaya.api.cluster.annotations import EXCLUDE_NODE_DRAINING
from nagaya.api.cluster.machine_status import NodeReference
from nagaya.core.machine.deletion.apply import SILENT_RETRY, TENANT_RETRY
from nagaya.core.machine.deletion.node_removal import TRY_AGAIN
from nagaya.core.machine.deletion.pace import AFTER_THE_END, FIRST, JITTER, LONGEST
from nagaya.core.machine.deletion.tenant import PATIENCE
from nagaya.kube.key import Key
from nagaya.kube.remote import Probe
from support.builders import BOOTSTRAP, INFRASTRUCTURE, NAMESPACE, NOW, cluster, date, machine
from support.deletion_seen import WORKER, going, rule
from support.draining import ATTACHMENTS, CONFIGS, DAEMON_SETS, HOSTS, PODS, VOLUMES, Scene, status
from support.machine_seen import config, host, node
from support.virtual_run import run

BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."


def scene(main: Callable[[Scene], Awaitable[None]]) -> None:
    """Play a scene."""

    async def play() -> None:
        async with Scene() as stage:
            await main(stage)

    run(play())


def writes(calls: list[str]) -> list[str]:
    return [each for each in calls if not each.startswith(("GET", "WATCH"))]


def about(pause: float) -> Any:
    """A pause, give or take the jitter."""
    return pytest.approx(pause * (1 - JITTER / 2), rel=JITTER)


async def waits(stage: Scene, view: Any, count: int) -> list[float]:
    """How long each of the next looks makes the deletion wait."""
    found: list[float] = []
    for _ in range(count):
        outcome = await stage.look(view)
        assert outcome.requeue_after is not None
        found.append(outcome.requeue_after)
        await asyncio.sleep(outcome.requeue_after)
    return found


def managed(stage: Scene, *, finalizers: list[str] | None = None) -> Any:
    """The two objects of providers, as the management API has them, in a view of the deletion."""
    drafts = {}
    for name, collection, draft in (("host", HOSTS, host()), ("config", CONFIGS, config())):
        made = stage.management.put(collection, NAMESPACE, "a", metadata={"finalizers": finalizers or []})
        drafts[name] = draft.having(metadata={"uid": made["metadata"]["uid"]})
    return drafts


def test_a_machine_without_pods_and_finalizers_goes_in_one_look() -> None:
    async def main(stage: Scene) -> None:
        stage.tenant.node()
        outcome = await stage.look(going(**managed(stage)))
        assert outcome.completed
        assert outcome.started.node_drain_start_time == NOW
        assert outcome.started.wait_for_node_volume_detach_start_time == NOW
        assert writes(stage.management.calls) == [
            f"DELETE {INFRASTRUCTURE.path(NAMESPACE, 'a')}",
            f"DELETE {BOOTSTRAP.path(NAMESPACE, 'a')}",
        ]
        assert writes(stage.tenant.calls) == ["PATCH /api/v1/nodes/node-a", "DELETE /api/v1/nodes/node-a"]
        assert stage.notes.told == [
            ("SuccessfulDrainNode", 'success draining Machine\'s node "node-a"'),
            ("NodeVolumesDetached", 'success waiting for node volumes detaching Machine\'s node "node-a"'),
        ]

    scene(main)


def test_providers_take_their_time_and_each_is_deleted_once() -> None:
    async def main(stage: Scene) -> None:
        stage.tenant.node()
        drafts = managed(stage, finalizers=["provider"])
        outcome = await stage.look(going(**drafts))
        assert (outcome.reason, outcome.completed) == ("WaitingForInfrastructureDeletion", False)
        drafts["host"] = drafts["host"].deleting()
        outcome = await stage.look(going(**drafts))
        assert outcome.reason == "WaitingForInfrastructureDeletion"
        stage.management.remove(HOSTS, NAMESPACE, "a")
        drafts["host"] = None
        outcome = await stage.look(going(**drafts))
        assert (outcome.reason, outcome.message) == (
            "WaitingForBootstrapDeletion",
            "Waiting for BoatConfig to be deleted",
        )
        stage.management.remove(CONFIGS, NAMESPACE, "a")
        drafts["config"] = None
        assert ("api/v1/nodes", "", "node-a") in stage.tenant.objects
        assert (await stage.look(going(**drafts))).completed
        assert ("api/v1/nodes", "", "node-a") not in stage.tenant.objects
        assert len(writes(stage.management.calls)) == 2

    scene(main)


def test_what_was_never_seen_is_asked_for_before_it_is_forgotten() -> None:
    async def main(stage: Scene) -> None:
        stage.management.put(HOSTS, NAMESPACE, "a")
        view = going(cluster=cluster().deleting(), host=None, config=None)
        outcome = await stage.look(view)
        assert (outcome.completed, outcome.reason) == (False, "WaitingForInfrastructureDeletion")
        stage.management.remove(HOSTS, NAMESPACE, "a")
        assert (await stage.look(view)).completed

    scene(main)


def test_what_was_found_only_on_the_server_is_seen_by_everybody_before_its_event_arrives() -> None:
    async def main(stage: Scene) -> None:
        stage.management.lag = 3600.0
        stage.management.put(HOSTS, NAMESPACE, "a", metadata={"finalizers": ["provider"]})
        await stage.look(going(cluster=cluster().deleting(), host=None, config=None))
        found = stage.rt.cache.get(INFRASTRUCTURE, Key(NAMESPACE, "a"))
        assert found is not None
        assert found.metadata.finalizers == ("provider",)

    scene(main)


def test_a_management_api_that_refuses_is_told_of() -> None:
    async def main(stage: Scene) -> None:
        drafts = managed(stage)
        stage.management.unauthorized = True
        outcome = await stage.look(going(cluster=cluster().deleting(), **drafts))
        assert outcome.reason == "InternalError"
        assert outcome.message == "Failed to delete BoatMachine, please check controller logs for errors"
        assert "Unauthorized" in outcome.problem

    scene(main)


def test_pods_are_evicted_and_waited_for() -> None:
    async def main(stage: Scene) -> None:
        tenant = stage.tenant
        tenant.node()
        tenant.put(DAEMON_SETS, "apps", "web")
        tenant.pod("b")
        tenant.pod("a")
        tenant.pod("agent", owner="DaemonSet")
        tenant.pod("elsewhere", "node-b")
        view = going(**managed(stage))
        outcome = await stage.look(view)
        assert (outcome.reason, outcome.requeue_after) == ("DrainingNode", about(FIRST))
        assert outcome.message == (
            "Drain not completed yet (started at 2026-11-01T12:00:00Z):\n"
            "* Pods apps/a, apps/b: deletionTimestamp set, but still not removed from the Node"
        )
        assert tenant.objects["api/v1/nodes", "", "node-a"]["spec"]["unschedulable"] is True
        assert sorted(each["metadata"]["name"] for each in tenant.evictions) == ["a", "b"]
        assert all("gracePeriodSeconds" not in each["deleteOptions"] for each in tenant.evictions)
        tenant.remove(PODS, "apps", "a")
        tenant.remove(PODS, "apps", "b")
        await asyncio.sleep(FIRST)
        assert (await stage.look(view)).completed
        assert len(tenant.evictions) == 2

    scene(main)


def test_a_drain_is_not_repeated_before_its_time_unless_the_user_changes_something() -> None:
    async def main(stage: Scene) -> None:
        stage.tenant.node()
        stage.tenant.pod("a")
        view = going(**managed(stage))
        first = await stage.look(view)
        assert first.requeue_after is not None
        await asyncio.sleep(0.5)
        asked = len(stage.tenant.calls)
        again = await stage.look(view)
        assert again.message == first.message
        assert again.requeue_after == pytest.approx(first.requeue_after - 0.5)
        assert [each for each in stage.tenant.calls[asked:] if PODS in each] == []
        changed = going(WORKER.annotated({EXCLUDE_NODE_DRAINING: ""}), host=host().deleting())
        assert (await stage.look(changed)).reason == "WaitingForInfrastructureDeletion"
        ruled = replace(view, drain_rules=(rule("r", "Skip"),))
        assert (await stage.look(ruled)).completed

    scene(main)


def test_looks_at_a_drain_that_gets_nowhere_become_rare() -> None:
    async def main(stage: Scene) -> None:
        stage.tenant.node()
        stage.tenant.pod("guarded")
        stage.tenant.refuse = {"guarded": (429, status(429, "TooManyRequests", BUDGET))}
        view = going(**managed(stage))
        pauses = await waits(stage, view, 7)
        assert pauses == [about(each) for each in (1, 2, 4, 8, 16, LONGEST, LONGEST)]
        stage.tenant.refuse = {}
        assert await waits(stage, view, 3) == [about(each) for each in (1, 2, 4)], "a pod was evicted, so it may end"

    scene(main)


def test_pods_that_have_to_be_gone_by_a_date_are_looked_at_then() -> None:
    async def main(stage: Scene) -> None:
        stage.tenant.node()
        stage.tenant.pod("a", metadata={"deletionTimestamp": "2026-11-01T12:00:10Z"})
        view = going(**managed(stage))
        assert await waits(stage, view, 3) == [about(each) for each in (1, 2, 4)]
        elapsed = stage.world.clock.monotonic()
        (last,) = await waits(stage, view, 1)
        assert last < 8 * (1 - JITTER)
        assert (stage.world.clock.now() - NOW).total_seconds() == pytest.approx(10 + AFTER_THE_END, abs=0.1)
        assert stage.world.clock.monotonic() > elapsed

    scene(main)


def test_a_node_that_falls_silent_or_goes_ends_the_pause() -> None:
    async def main(stage: Scene) -> None:
        stage.tenant.node()
        stage.tenant.pod("a", metadata={"deletionTimestamp": "2026-11-01T11:59:00Z"})
        view = going(**managed(stage))
        assert (await stage.look(view)).reason == "DrainingNode"
        stage.tenant.node(ready="Unknown")
        assert (await stage.look(view)).completed, "nobody waits for pods of a silent kubelet"

    scene(main)


def test_a_budget_a_dying_namespace_and_other_failures_are_told() -> None:
    async def main(stage: Scene) -> None:
        tenant = stage.tenant
        tenant.node()
        for name in ("budget", "namespace", "other", "gone"):
            tenant.pod(name)
        cause = {"reason": "DisruptionBudget", "message": "The disruption budget web needs 3 and has 2"}
        tenant.refuse = {
            "budget": (429, status(429, "TooManyRequests", BUDGET, causes=[cause])),
            "namespace": (403, status(403, "Forbidden", "no", causes=[{"reason": "NamespaceTerminating"}])),
            "other": (500, status(500, "InternalError", "etcd is away")),
            "gone": (404, status(404, "NotFound", "not found")),
        }
        outcome = await stage.look(going(**managed(stage)))
        assert outcome.message.splitlines()[1:] == [
            "* Pod apps/budget: cannot evict pod as it would violate the pod's disruption budget. "
            "The disruption budget web needs 3 and has 2",
            "* Pod apps/namespace: failed to evict Pod, Cannot evict pod from terminating namespace: unable to create "
            "eviction (kube-controller-manager should set deletionTimestamp)",
            "* Pod apps/other: failed to evict Pod, etcd is away",
        ]

    scene(main)


def test_a_drain_ends_when_its_time_is_over() -> None:
    async def main(stage: Scene) -> None:
        stage.tenant.node()
        stage.tenant.pod("a")
        worker = WORKER.having(spec={"deletion": {"nodeDrainTimeoutSeconds": 30}})
        view = going(worker, **managed(stage))
        assert (await stage.look(view)).requeue_after == about(FIRST)
        await asyncio.sleep(20)
        outcome = await stage.look(view)
        assert outcome.reason == "DrainingNode"
        await asyncio.sleep(9)
        outcome = await stage.look(view)
        assert (outcome.reason, outcome.requeue_after) == ("DrainingNode", pytest.approx(1, abs=0.1))
        await asyncio.sleep(1)
        assert (await stage.look(view)).completed

    scene(main)


def test_on_an_unreachable_node_pods_get_a_second_and_nobody_waits_for_them() -> None:
    async def main(stage: Scene) -> None:
        tenant = stage.tenant
        tenant.node(ready="Unknown", volumesAttached=[{"name": "kubernetes.io/csi/disks^x", "devicePath": ""}])
        tenant.pod("a")
        tenant.pod("old", metadata={"deletionTimestamp": "2026-11-01T11:59:00Z"})
        view = going(**managed(stage))
        outcome = await stage.look(view)
        assert "* Pod apps/a:" in outcome.message
        assert [each["deleteOptions"]["gracePeriodSeconds"] for each in tenant.evictions] == [1]
        await asyncio.sleep(40)
        assert (await stage.look(view)).completed

    scene(main)


def test_a_node_that_is_gone_or_another_machines_by_now_is_left_alone() -> None:
    async def main(stage: Scene) -> None:
        stage.tenant.pod("a")
        assert (await stage.look(going(**managed(stage)))).completed
        stage.tenant.node(provider_id="boat:///another")
        view = going(machine("a").running().deleting().having(metadata={"uid": "again"}), host=None, config=None)
        assert (await stage.look(view)).completed
        assert writes(stage.tenant.calls) == []
        assert ("api/v1/nodes", "", "node-a") in stage.tenant.objects

    scene(main)


def test_a_silent_tenant_is_not_asked_and_its_return_is_waited_for() -> None:
    async def main(stage: Scene) -> None:
        stage.tenant.node()
        view = going(**managed(stage))
        for outcome in (
            await stage.look(view, remote=False),
            await stage.look(replace(view, probe=Probe(NOW, 1, "no answer"))),
        ):
            assert outcome.reason == "DrainingNode"
            assert outcome.message == "Error draining Node, please check controller logs for errors"
            assert outcome.requeue_after == SILENT_RETRY
            assert outcome.started.node_drain_start_time == NOW
        assert [each for each in stage.tenant.calls if PODS in each] == []
        assert stage.events == ["FailedDrainNode"] * 2
        assert "no answer" in stage.notes.told[-1][1]

    scene(main)


def test_a_hung_tenant_is_given_up_after_a_while() -> None:
    async def main(stage: Scene) -> None:
        stage.tenant.node()
        await stage.remote.cache.current()
        stage.tenant.hung = True
        begun = stage.world.clock.monotonic()
        view = replace(going(**managed(stage)), now=stage.world.clock.now(), remote=stage.remote)
        outcome = await stage.deletion(stage.rt, view)
        assert stage.world.clock.monotonic() - begun == pytest.approx(PATIENCE, abs=0.1)
        assert (outcome.reason, outcome.requeue_after) == ("DrainingNode", TENANT_RETRY)

    scene(main)


def test_a_tenant_that_hangs_during_evictions_costs_ten_seconds() -> None:
    async def main(stage: Scene) -> None:
        tenant = stage.tenant
        tenant.node()
        for number in range(12):
            tenant.pod(f"p{number:02}")
        answer = tenant._answer

        def hang_on_evictions(call: Any) -> Any:
            tenant.slow = 3600.0 if call.path.endswith("p03/eviction") else 0.0
            return answer(call)

        tenant._answer = hang_on_evictions  # type: ignore[method-assign]  # a test double may be bent
        begun = stage.world.clock.monotonic()
        outcome = await stage.look(going(**managed(stage)))
        assert stage.world.clock.monotonic() - begun == pytest.approx(10, abs=0.1)
        assert outcome.message.splitlines()[1:] == [
            "* Pods apps/p00, apps/p01, apps/p02, ... (8 more): deletionTimestamp set, but still not removed from "
            "the Node",
            "* Pod apps/p03: failed to evict Pod, eviction timeout of 10s reached, eviction will be retried",
        ]

    scene(main)


def test_volumes_are_waited_for_until_they_are_detached() -> None:
    async def main(stage: Scene) -> None:
        tenant = stage.tenant
        tenant.node(volumesAttached=[{"name": "kubernetes.io/csi/disks^x", "devicePath": ""}])
        csi = {"driver": "disks", "volumeHandle": "x"}
        claim = {"kind": "PersistentVolumeClaim", "namespace": "apps", "name": "data"}
        tenant.put(VOLUMES, "", "pv", spec={"csi": csi, "claimRef": claim})
        source = {"persistentVolumeName": "gone"}
        tenant.put(ATTACHMENTS, "", "here", spec={"nodeName": "node-a", "source": source}, status={"attached": True})
        tenant.put(ATTACHMENTS, "", "other", spec={"nodeName": "node-b", "source": {}}, status={"attached": True})
        tenant.put(ATTACHMENTS, "", "not-yet", spec={"nodeName": "node-a", "source": {}}, status={"attached": False})
        view = going(**managed(stage))
        outcome = await stage.look(view)
        assert (outcome.reason, outcome.requeue_after) == ("WaitingForVolumeDetach", about(FIRST))
        assert outcome.message == (
            "Waiting for Node volumes to be detached (started at 2026-11-01T12:00:00Z)\n"
            "* PersistentVolumeClaims: apps/data\n"
            "* VolumeAttachment with .spec.source.persistentVolumeName not matching a PersistentVolume: gone"
        )
        asked = len(tenant.calls)
        assert (await stage.look(view)).message == outcome.message
        assert [each for each in tenant.calls[asked:] if PODS in each] == []
        tenant.remove(ATTACHMENTS, "", "here")
        tenant.node(volumesAttached=[])
        assert (await stage.look(view)).completed, "the Node has told, so there is no wait for the next look"

    scene(main)


def test_an_attachment_without_a_volume_is_an_error() -> None:
    async def main(stage: Scene) -> None:
        stage.tenant.node()
        spec = {"nodeName": "node-a", "source": {}}
        stage.tenant.put(ATTACHMENTS, "", "odd", spec=spec, status={"attached": True})
        outcome = await stage.look(going(**managed(stage)))
        assert outcome.reason == "WaitingForVolumeDetach"
        assert outcome.message == (
            "Error waiting for volumes to be detached from Node, please check controller logs for errors"
        )
        assert stage.notes.told[-1] == (
            "FailedWaitForVolumeDetach",
            'error waiting for node volumes detaching, Machine\'s node "node-a": '
            "spec.source.persistentVolumeName for VolumeAttachment odd is not set",
        )

    scene(main)


def test_a_rule_that_cannot_be_understood_stops_the_drain() -> None:
    async def main(stage: Scene) -> None:
        stage.tenant.node()
        stage.tenant.pod("a")
        view = replace(going(**managed(stage)), drain_rules=(rule("r", "Shoo"),))
        assert (await stage.look(view)).reason == "DrainingNode"
        assert stage.tenant.evictions == []
        assert stage.notes.told == [
            (
                "FailedDrainNode",
                'error draining Machine\'s node "node-a": failed to get Pods for eviction: Pods with error '
                '"MachineDrainRule \\"r\\" has unknown spec.drain.behavior: \\"Shoo\\"": apps/a',
            )
        ]

    scene(main)


@pytest.mark.parametrize(
    ("limit", "waits"),
    [(1, [TRY_AGAIN] * 5), (60, [TRY_AGAIN] * 5 + [10.0] * 5), (None, [TRY_AGAIN] * 5 + [10.0] * 7)],
)
def test_a_node_that_cannot_be_deleted_holds_the_machine_until_the_time_is_over(
    limit: int | None, waits: list[float]
) -> None:
    async def main(stage: Scene) -> None:
        stage.tenant.node()
        worker = WORKER.deleting(NOW)
        if limit is not None:
            worker = worker.having(spec={"deletion": {"nodeDeletionTimeoutSeconds": limit}})
        view = going(worker, host=None, config=None)
        found: list[float] = []
        while len(found) < len(waits) + 1:
            outcome = await stage.look(view, remote=False)
            if outcome.completed:
                break
            assert outcome.reason == "DeletingNode"
            assert outcome.requeue_after is not None
            found.append(round(outcome.requeue_after, 1))
            await asyncio.sleep(outcome.requeue_after)
        assert found[: len(waits)] == waits
        assert outcome.completed is (limit is not None)
        assert "FailedDeleteNode" in stage.events

    scene(main)


def test_the_name_of_a_node_that_was_found_only_now_is_told() -> None:
    async def main(stage: Scene) -> None:
        stage.tenant.node()
        stage.tenant.pod("a")
        view = going(machine("a").provisioned().deleting(), nodes=(node(),), **managed(stage))
        assert (await stage.look(view)).node_ref == NodeReference(name="node-a")
        assert date(NOW) in (await stage.look(view)).message

    scene(main)
