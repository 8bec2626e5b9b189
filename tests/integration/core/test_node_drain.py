"""Cluster API's node_drain: pods leave a Node in order, or hold its machine up, until time limits are over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from nagaya.api.cluster.annotations import (
    EXCLUDE_NODE_DRAINING,
    EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH,
    PRE_DRAIN_DELETE_HOOK_PREFIX,
    PRE_TERMINATE_DELETE_HOOK_PREFIX,
)
from nagaya.api.cluster.labels import DRAIN
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.patches import Merge
from support.lab import Lab, Scenario, condition, message, play_embedded
from support.manifests.simulated import CLUSTER_API, Manifest, Simulated
from support.servers import both_servers

Play = Callable[[Scenario], None]
NAME = "demo-workers"
PODS = Kind("", "v1", "Pod", "pods", Untyped)
BUDGETS = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", Untyped)
ATTACHMENTS = Kind("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", Untyped, namespaced=False)


def test_pods_leave_in_the_order_of_the_rules() -> None:
    """On virtual time only: how long it takes is looked at."""

    async def scenario(lab: Lab) -> None:
        rules = [_rule(lab, "first", -5, app="first"), _rule(lab, "last", 5, app="last")]
        machine = await _machine(lab, *rules)
        # Slow to stop, so that those of the next order are still there when it is looked at.
        slow = {"annotations": {"simulated.nagaya.dev/stop-after": "2"}}
        await _pods(lab, machine, {"first": slow, "between": slow, "last": {}})
        await lab.delete("Machine", machine.metadata.name)
        begun = asyncio.get_running_loop().time()
        order: list[str] = []

        async def drained() -> bool:
            evicted = {each.metadata.name for each in await _left(lab) if each.metadata.deleting}
            running = {each.metadata.name for each in await _left(lab)} - evicted
            for name in ("first", "between", "last"):
                if name not in running and name not in order:
                    order.append(name)
            return await lab.get("Machine", machine.metadata.name) is None

        await lab.until("the machine is gone", drained)
        assert order == ["first", "between", "last"]
        assert asyncio.get_running_loop().time() - begun < 15, "pods that have ended are noticed soon"

    play_embedded(scenario)


def test_pods_that_are_to_be_skipped_or_waited_for() -> None:
    """On virtual time only: that may take a minute."""

    async def scenario(lab: Lab) -> None:
        rule = _rule(lab, "leave", None, "Skip", app="by-rule")
        machine = await _machine(lab, rule)
        waits = {"labels": {DRAIN: "wait-completed"}, "annotations": {"simulated.nagaya.dev/run-for": "6"}}
        pods = {"by-rule": {}, "by-label": {"labels": {DRAIN: "skip"}}, "job": waits}
        await _pods(lab, machine, pods, {"restartPolicy": "OnFailure"})
        await lab.delete("Machine", machine.metadata.name)

        async def waiting() -> bool:
            found = await lab.get("Machine", machine.metadata.name)
            return condition(found, "Deleting") == ("True", "DrainingNode")

        await lab.until("the drain waits", waiting)
        assert "job" in message(await lab.get("Machine", machine.metadata.name), "Deleting")
        assert {each.metadata.name for each in await _left(lab) if not each.metadata.deleting} == set(pods)
        host = machine.spec.infrastructure_ref.name

        async def host_going() -> bool:
            obj = await lab.get("SimulatedMachine", host)
            return obj is None or obj.metadata.deleting

        await lab.until("the drain is over", host_going)
        left = {each.metadata.name: each for each in await _left(lab)}
        assert "job" not in left or left["job"].at("status", "phase") == "Succeeded"

    play_embedded(scenario)


def test_a_disruption_budget_holds_a_drain_up_until_it_allows_it() -> None:
    """On virtual time only: that may take a minute."""

    async def scenario(lab: Lab) -> None:
        machine = await _machine(lab)
        await _pods(lab, machine, {"guarded": {}})
        await _budget(lab, "guarded")
        await lab.delete("Machine", machine.metadata.name)

        async def blocked() -> bool:
            found = await lab.get("Machine", machine.metadata.name)
            return "guarded" in message(found, "Deleting")

        await lab.until("the budget is named", blocked)
        found = await lab.get("Machine", machine.metadata.name)
        assert condition(found, "Deleting") == ("True", "DrainingNode")
        assert found.status.deletion.node_drain_start_time is not None
        node = await lab.node("demo", machine.status.node_ref.name)
        assert node is not None
        assert node.at("spec", "unschedulable") is True
        await lab.always(120, lambda: lab.get("Machine", machine.metadata.name))
        await lab.tenant("demo").delete(BUDGETS, "default", "guarded")
        await _gone(lab, machine)

    play_embedded(scenario)


def test_a_drain_that_takes_too_long_is_given_up() -> None:
    """On virtual time only: that takes minutes."""

    async def scenario(lab: Lab) -> None:
        machine = await _machine(lab, limits={"nodeDrainTimeoutSeconds": 300})
        await _pods(lab, machine, {"guarded": {}})
        await _budget(lab, "guarded")
        await lab.delete("Machine", machine.metadata.name)
        await asyncio.sleep(290)
        assert condition(await lab.get("Machine", machine.metadata.name), "Deleting") == ("True", "DrainingNode")
        await _gone(lab, machine, patience=60)

    play_embedded(scenario)


def test_a_machine_waits_until_its_volumes_are_detached() -> None:
    """On virtual time only: that takes minutes."""

    async def scenario(lab: Lab) -> None:
        machine = await _machine(lab)
        node = machine.status.node_ref.name
        await _attachment(lab, node)
        await lab.delete("Machine", machine.metadata.name)

        async def waiting() -> bool:
            found = await lab.get("Machine", machine.metadata.name)
            return condition(found, "Deleting") == ("True", "WaitingForVolumeDetach")

        await lab.until("the deletion waits for the volume", waiting)
        await lab.always(120, waiting)
        await lab.tenant("demo").delete(ATTACHMENTS, "", "elsewhere")
        await lab.always(60, waiting)
        released = Merge({"metadata": {"finalizers": None}})
        await lab.tenant("demo").patch(ATTACHMENTS, "", "elsewhere", released)
        await _gone(lab, machine)

    play_embedded(scenario)


def test_waiting_for_volumes_is_given_up_in_the_end_or_not_begun() -> None:
    async def scenario(lab: Lab) -> None:
        machine = await _machine(lab, limits={"nodeVolumeDetachTimeoutSeconds": 300})
        await _attachment(lab, machine.status.node_ref.name)
        await lab.delete("Machine", machine.metadata.name)
        await asyncio.sleep(290)
        assert condition(await lab.get("Machine", machine.metadata.name), "Deleting")[1] == "WaitingForVolumeDetach"
        await _gone(lab, machine, patience=60)
        (other,) = await lab.running(1)
        await lab.annotate("Machine", other.metadata.name, **{EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH: ""})
        await _attachment(lab, other.status.node_ref.name, "another")
        await lab.delete("Machine", other.metadata.name)
        await _gone(lab, other, patience=60)

    play_embedded(scenario)


def test_a_machine_that_is_excluded_is_not_drained(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        machine = await _machine(lab)
        await _pods(lab, machine, {"guarded": {}})
        await _budget(lab, "guarded")
        await lab.annotate("Machine", machine.metadata.name, **{EXCLUDE_NODE_DRAINING: ""})
        await lab.delete("Machine", machine.metadata.name)
        await _gone(lab, machine)

    play(scenario)


@both_servers
def test_hooks_hold_the_deletion_up_before_the_drain_and_before_the_end(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        machine = await _machine(lab)
        name, node_name = machine.metadata.name, machine.status.node_ref.name
        before, after = f"{PRE_DRAIN_DELETE_HOOK_PREFIX}/wait", f"{PRE_TERMINATE_DELETE_HOOK_PREFIX}/wait"
        await lab.annotate("Machine", name, **{before: "", after: ""})
        await _pods(lab, machine, {"pod": {}})
        await lab.delete("Machine", name)

        async def at(reason: str) -> bool:
            return condition(await lab.get("Machine", name), "Deleting") == ("True", reason)

        await lab.until("the first hook is waited for", lambda: at("WaitingForPreDrainHook"))
        await lab.always(1 if lab.real else 60, lambda: at("WaitingForPreDrainHook"))
        node = await lab.node("demo", node_name)
        assert node is not None
        assert not node.at("spec", "unschedulable")
        assert [each.metadata.name for each in await _left(lab)] == ["pod"]
        await lab.annotate("Machine", name, **{before: None})
        await lab.until("the second hook is waited for", lambda: at("WaitingForPreTerminateHook"))
        assert await _left(lab) == []
        host = await lab.get("SimulatedMachine", machine.spec.infrastructure_ref.name)
        assert not host.metadata.deleting
        await lab.annotate("Machine", name, **{after: None})
        await _gone(lab, machine)
        assert await lab.node("demo", node_name) is None

    play(scenario)


async def _machine(lab: Lab, *rules: Manifest, limits: Mapping[str, int] | None = None) -> Any:
    """The only worker of a cluster that is up."""
    spec = {"deletion": dict(limits)} if limits else {}
    await lab.create(*Simulated("demo", lab.namespace, workers=1, machine_spec=spec).manifests(), *rules)
    await lab.available("demo")
    (machine,) = await lab.running(1)
    return machine


def _rule(lab: Lab, name: str, order: int | None, behavior: str = "Drain", **labels: str) -> Manifest:
    drain: Manifest = {"behavior": behavior} if order is None else {"behavior": behavior, "order": order}
    return {
        "apiVersion": CLUSTER_API,
        "kind": "MachineDrainRule",
        "metadata": {"name": name, "namespace": lab.namespace},
        "spec": {"drain": drain, "pods": [{"selector": {"matchLabels": labels}}]},
    }


async def _pods(lab: Lab, machine: Any, pods: Mapping[str, Manifest], more: Mapping[str, Any] | None = None) -> None:
    """Pods that run on the Node of a machine, and are labelled with their names."""
    client, node = lab.tenant("demo"), machine.status.node_ref.name
    for name, metadata in pods.items():
        labels = {"app": name, **metadata.get("labels", {})}
        made = {**metadata, "name": name, "namespace": "default", "labels": labels}
        spec = {"nodeName": node, "containers": [{"name": "c", "image": "busybox"}], **(more or {})}
        await client.create(PODS, {"metadata": made, "spec": spec})

    async def run() -> bool:
        return all(each.at("status", "phase") == "Running" for each in await _left(lab))

    await lab.until("the pods run", run)


async def _left(lab: Lab) -> list[Untyped]:
    return (await lab.tenant("demo").list(PODS, "default")).items


async def _budget(lab: Lab, app: str) -> None:
    client = lab.tenant("demo")
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}
    await client.create(BUDGETS, {"metadata": {"name": app, "namespace": "default"}, "spec": spec})

    async def counted() -> bool:
        found = await client.get(BUDGETS, "default", app)
        return bool(found.at("status", "currentHealthy") == 1)

    await lab.until("the budget counts its pod", counted)


async def _attachment(lab: Lab, node: str, name: str = "elsewhere") -> None:
    """A volume that is attached to a Node, whose driver never lets go of it: its finalizer stays."""
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "csi.example.com", "volumeHandle": name},
    }
    content = {"metadata": {"name": name}, "spec": volume}
    client = lab.tenant("demo")
    await client.create(Kind("", "v1", "PersistentVolume", "persistentvolumes", Untyped, namespaced=False), content)
    spec = {"attacher": "csi.example.com", "nodeName": node, "source": {"persistentVolumeName": name}}
    metadata = {"name": name, "finalizers": ["external-attacher/csi-example-com"]}
    await client.create(ATTACHMENTS, {"metadata": metadata, "spec": spec})
    await client.patch(ATTACHMENTS, "", name, Merge({"status": {"attached": True}}), subresource="status")


async def _gone(lab: Lab, machine: Any, patience: float = 120) -> None:
    async def check() -> bool:
        found = await lab.get("Machine", machine.metadata.name)
        return found is None or found.metadata.uid != machine.metadata.uid

    await lab.until(f"Machine {machine.metadata.name} is gone", check, patience)
