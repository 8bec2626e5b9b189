"""Pods that nobody can stop any more are taken out of the API.

Those of a Node that does not exist, some time after it went; and those that are being deleted from a node that is not
ready and that somebody has declared out of service. Both are kube-controller-manager's pod garbage collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant.conditions import set_conditions
from nagaya.simulators.tenant.hands import PODS, Hands
from nagaya.simulators.tenant.settings import Timing
from nagaya.simulators.tenant.view import NodeSeen, PodSeen, View

OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"


def is_out_of_service(node: NodeSeen) -> bool:
    """Whether a node is not ready and somebody vouches for that nothing runs on it."""
    return node.ready != "True" and any(taint["key"] == OUT_OF_SERVICE for taint in node.taints)


class PodGarbage:
    """Removes pods of nodes that are no more."""

    name = "simulated pod garbage collection"
    tables = ("nodes", "pods")

    def __init__(self, backend: Backend, view: View, timing: Timing) -> None:
        self._api = Hands(backend, "kube-controller-manager")
        self._clock = backend.world.clock
        self._view = view
        self._quarantine = timing.orphan_quarantine
        self._missing: dict[str, float] = {}  # nodes, since when

    def start(self) -> Iterator[str]:
        """All nodes that pods are bound to."""
        yield from self._view.occupied_nodes()

    def on_event(self, event: Event) -> Iterator[str]:
        """A node went or changed, or a pod was bound or is being deleted."""
        if event.table == "nodes":
            yield event.key
        elif event.table == "pods":
            pod = self._view.pod(event.key)
            if pod is None or not pod.node:
                return
            node = self._view.nodes().get(pod.node)
            if node is None or is_out_of_service(node):
                yield pod.node

    async def sync(self, key: object) -> float | None:
        """Remove what is left on a node, if it is time."""
        assert isinstance(key, str)
        node, pods = self._view.nodes().get(key), list(self._view.pods_on(key))
        if node is not None:
            self._missing.pop(key, None)
            if is_out_of_service(node):
                for pod in pods:
                    if pod.deleting:
                        await self._remove(pod, "PodGC: node is out-of-service")
            return None
        if not pods:
            self._missing.pop(key, None)
            return None
        left = self._missing.setdefault(key, self._clock.monotonic()) + self._quarantine - self._clock.monotonic()
        if left > 0:
            return left
        for pod in pods:
            await self._remove(pod, "PodGC: node no longer exists")
        self._missing.pop(key, None)
        return None

    async def _remove(self, pod: PodSeen, why: str) -> None:
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": why}

        def fail(current: JsonObject) -> JsonObject:
            status = current.setdefault("status", {})
            set_conditions(status, [condition], self._api.now())
            if not pod.ended:
                status["phase"] = "Failed"
            return current

        await self._api.change(PODS, pod.namespace, pod.name, fail, subresource="status")
        current = self._api.get(PODS, pod.namespace, pod.name)
        if current is not None and current["metadata"]["uid"] == pod.uid:
            await self._api.remove_pod(current)
