"""Pods that do not tolerate their node any more are deleted, those with a limit when it is over.

What kube-controller-manager's taint manager does: every pod tolerates `not-ready` and `unreachable` for five minutes
unless it says otherwise, because admission adds these tolerations.
"""

from __future__ import annotations

from collections.abc import Iterator

from nagaya.apiserver.meta import times
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant.conditions import set_conditions
from nagaya.simulators.tenant.hands import PODS, Hands
from nagaya.simulators.tenant.tolerance import patience
from nagaya.simulators.tenant.view import NodeSeen, View


class TaintEvictions:
    """Deletes pods from nodes that they do not tolerate."""

    name = "simulated taint evictions"
    tables = ("nodes", "pods")

    def __init__(self, backend: Backend, view: View) -> None:
        self._api = Hands(backend, "kube-controller-manager")
        self._clock = backend.world.clock
        self._view = view

    def start(self) -> Iterator[str]:
        """All pods on nodes that are not for everyone."""
        for node in self._view.nodes().values():
            if _driving(node):
                yield from [pod.key for pod in self._view.pods_on(node.name)]

    def on_event(self, event: Event) -> Iterator[str]:
        """A node's taints changed, or a pod was bound."""
        if event.table == "nodes" and event.record is not None:
            change = self._view.node_change(event)
            if (_driving(change.before) if change.before else []) != (_driving(change.after) if change.after else []):
                yield from [pod.key for pod in self._view.pods_on(event.key)]
        elif event.table == "pods" and event.record is not None:
            pod = self._view.pod(event.key)
            node = self._view.nodes().get(pod.node) if pod else None
            if node is not None and _driving(node):
                yield event.key

    async def sync(self, key: object) -> float | None:
        """Delete the pod if its time has come."""
        assert isinstance(key, str)
        namespace, _, name = key.partition("/")
        pod = self._api.get(PODS, namespace, name)
        if pod is None or pod["metadata"].get("deletionTimestamp"):
            return None
        node = self._view.nodes().get(pod["spec"].get("nodeName") or "")
        left = None if node is None else self._left(pod["spec"].get("tolerations") or [], node)
        if left is None or left > 0:
            return left
        await self._api.change(PODS, namespace, name, self._mark, subresource="status")
        await self._api.delete(PODS, namespace, name, uid=pod["metadata"]["uid"])
        return None

    def _left(self, tolerations: list[JsonObject], node: NodeSeen) -> float | None:
        """Seconds that the pod may stay; None is for ever."""
        now, shortest = self._clock.now(), None
        for taint in _driving(node):
            limit = patience(tolerations, taint)
            if limit is None:
                continue
            added = times.moment(taint["timeAdded"]) if taint.get("timeAdded") else now
            left = limit - (now - added).total_seconds()
            shortest = left if shortest is None else min(shortest, left)
        return shortest

    def _mark(self, pod: JsonObject) -> JsonObject | None:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
        }
        return pod if set_conditions(pod.setdefault("status", {}), [condition], self._api.now()) else None


def _driving(node: NodeSeen) -> list[JsonObject]:
    return [taint for taint in node.taints if taint["effect"] == "NoExecute"]
