"""What kube-controller-manager does about nodes: it notices silence, and turns conditions into taints.

A kubelet that is not heard for the grace period leaves its node Unknown. Conditions and `spec.unschedulable` show as
taints with their date, and the pods of a node that is not Ready are not ready either. Nodes without a simulated
machine (somebody made them by hand) get their taints, but nobody waits for their heartbeats.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant.conditions import set_conditions
from nagaya.simulators.tenant.hands import NODES, PODS, Hands
from nagaya.simulators.tenant.machines import Machines
from nagaya.simulators.tenant.settings import Timing
from nagaya.simulators.tenant.tolerance import UNSCHEDULABLE
from nagaya.simulators.tenant.view import View, condition_of

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_PRESSURES: Final = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
_OURS: Final = frozenset({NOT_READY, UNREACHABLE, UNSCHEDULABLE, *_PRESSURES.values()})
_REPORTED: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


def wanted_taints(node: JsonObject) -> set[tuple[str, str]]:
    """Keys and effects of the taints that follow from a node's conditions and from its being cordoned."""
    status, wanted = node.get("status") or {}, set()
    ready = condition_of(status, "Ready")
    if ready != "True":
        key = UNREACHABLE if ready == "Unknown" else NOT_READY
        wanted |= {(key, "NoSchedule"), (key, "NoExecute")}
    wanted |= {(key, "NoSchedule") for kind, key in _PRESSURES.items() if condition_of(status, kind) == "True"}
    if (node.get("spec") or {}).get("unschedulable"):
        wanted.add((UNSCHEDULABLE, "NoSchedule"))
    return wanted


def retainted(taints: list[JsonObject], wanted: set[tuple[str, str]], now: str) -> list[JsonObject]:
    """A node's taints with those that follow from its state as they should be; all others stay."""
    kept = [each for each in taints if each["key"] not in _OURS or (each["key"], each["effect"]) in wanted]
    known = {(each["key"], each["effect"]) for each in kept}
    return kept + [{"key": key, "effect": effect, "timeAdded": now} for key, effect in sorted(wanted - known)]


class NodeLifecycle:
    """Watches over the nodes."""

    name = "simulated node lifecycle"
    tables = ("nodes", "pods")

    def __init__(self, backend: Backend, view: View, machines: Machines, timing: Timing) -> None:
        self._api = Hands(backend, "kube-controller-manager")
        self._clock = backend.world.clock
        self._view = view
        self._machines = machines
        self._timing = timing

    def start(self) -> Iterator[str]:
        """All nodes."""
        yield from self._view.nodes()

    def on_event(self, event: Event) -> Iterator[str]:
        """A node changed in more than a heartbeat, or one of its pods says it is ready."""
        if event.table == "nodes" and event.record is not None:
            if self._view.node_change(event).matters:
                yield event.key
        elif event.table == "pods" and event.record is not None:
            pod = self._view.pod(event.key)
            if pod is not None and pod.node and pod.ready:
                node = self._view.nodes().get(pod.node)
                if node is not None and node.ready != "True":
                    yield pod.node

    async def sync(self, key: object) -> float | None:
        """Notice silence, set taints, mark pods."""
        assert isinstance(key, str)
        machine, left = self._machines.get(key), None
        if machine is not None and machine.silent_since is not None:
            end = machine.silent_since + self._timing.node_monitor_grace
            left = end - self._clock.monotonic()
            if left <= 0:
                left = None
                await self._api.change(NODES, "", key, self._unknown, subresource="status")
        await self._api.change(NODES, "", key, self._taint)
        node = self._view.nodes().get(key)
        if node is not None and node.ready != "True":
            for pod in list(self._view.pods_on(key)):
                if pod.ready:
                    await self._api.change(PODS, pod.namespace, pod.name, self._not_ready, subresource="status")
        return left

    def _unknown(self, node: JsonObject) -> JsonObject | None:
        status = node.setdefault("status", {})
        wanted: list[JsonObject] = []
        for kind in _REPORTED:
            known = condition_of(status, kind)
            if known == "Unknown":
                continue
            reason, message = (
                ("NodeStatusUnknown", "Kubelet stopped posting node status.")
                if known
                else ("NodeStatusNeverUpdated", "Kubelet never posted node status.")
            )
            wanted.append({"type": kind, "status": "Unknown", "reason": reason, "message": message})
        return node if set_conditions(status, wanted, self._api.now()) else None

    def _taint(self, node: JsonObject) -> JsonObject | None:
        spec = node.setdefault("spec", {})
        taints: list[JsonObject] = spec.get("taints") or []
        made = retainted(taints, wanted_taints(node), self._api.now())
        if made == taints:
            return None
        spec["taints"] = made
        return node

    def _not_ready(self, pod: JsonObject) -> JsonObject | None:
        status = pod.setdefault("status", {})
        return pod if set_conditions(status, [{"type": "Ready", "status": "False"}], self._api.now()) else None
