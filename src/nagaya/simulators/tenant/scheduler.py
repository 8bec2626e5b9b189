"""Gives pods their nodes: the emptiest one that fits, by name among equals, so that a run can be repeated.

A pod that fits nowhere says why, as the real scheduler does (the cluster autoscaler reads it), and is looked at again
when a node changes or a pod goes. Left out: preemption, pod affinity, spreading, host ports, priorities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant.conditions import set_conditions
from nagaya.simulators.tenant.hands import CLAIMS, PODS, Hands
from nagaya.simulators.tenant.tolerance import ELSEWHERE, refusal
from nagaya.simulators.tenant.view import NodeSeen, PodSeen, View

_MINE: Final = "default-scheduler"
_CLAIM_TABLE: Final = "persistentvolumeclaims"


class Scheduler:
    """Binds pods."""

    name = "simulated scheduler"
    tables = ("pods", "nodes", _CLAIM_TABLE)

    def __init__(self, backend: Backend, view: View) -> None:
        self._api = Hands(backend, "kube-scheduler")
        self._view = view
        self._waiting: set[str] = set()  # pods that fit nowhere

    def start(self) -> Iterator[str]:
        """All pods without a node."""
        for pod in self._view.pods():
            if not pod.node:
                yield pod.key

    def on_event(self, event: Event) -> Iterator[str]:
        """A pod came; or there may be room now for one that waits."""
        if event.table == "pods":
            pod = self._view.pod(event.key)
            if pod is None or pod.ended:
                self._waiting.discard(event.key)
                yield from sorted(self._waiting)
            elif not pod.node:
                yield event.key
        elif event.table == "nodes" and event.record is not None:
            if self._waiting and self._view.node_change(event).matters:
                yield from sorted(self._waiting)
        elif event.table == _CLAIM_TABLE and self._waiting:
            yield from sorted(self._waiting)

    async def sync(self, key: object) -> float | None:
        """Bind one pod, or say why not."""
        assert isinstance(key, str)
        self._waiting.discard(key)
        namespace, _, name = key.partition("/")
        pod, seen = self._api.get(PODS, namespace, name), self._view.pod(key)
        if pod is None or seen is None or seen.node or not seen.active:
            return None
        spec = pod["spec"]
        if (spec.get("schedulerName") or _MINE) != _MINE or spec.get("schedulingGates"):
            return None
        missing = [each for each in seen.claims if self._api.get(CLAIMS, namespace, each) is None]
        if missing:
            await self._refuse(seen, f'persistentvolumeclaim "{missing[0]}" not found')
            return None
        fits, refusals = self._look(spec, seen)
        if not fits:
            reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in refusals.items() if count))
            nodes = f"0/{refusals.total()} nodes are available"
            await self._refuse(seen, f"{nodes}: {reasons}." if reasons else "no nodes available to schedule pods")
            return None
        best = min(fits, key=lambda node: (len(self._view.pods_on(node.name)), node.name))
        await self._api.bind(pod, best.name)
        return None

    def _look(self, spec: JsonObject, pod: PodSeen) -> tuple[list[NodeSeen], Counter[str]]:
        fits, refusals, nodes = [], Counter[str](), self._view.nodes()
        chosen = list(nodes.values())
        if pod.pinned:
            # Every node has a daemon's pod of its own: to look at all nodes for each takes the square of their number.
            chosen = [nodes[pod.pinned]] if pod.pinned in nodes else []
            refusals[ELSEWHERE] += len(nodes) - len(chosen)
        for node in chosen:
            if why := refusal(spec, pod, node, self._view.pods_on(node.name)):
                refusals[why] += 1
            else:
                fits.append(node)
        return fits, refusals

    async def _refuse(self, pod: PodSeen, message: str) -> None:
        self._waiting.add(pod.key)
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}

        def tell(current: JsonObject) -> JsonObject | None:
            status = current.setdefault("status", {})
            return current if set_conditions(status, [condition], self._api.now()) else None

        await self._api.change(PODS, pod.namespace, pod.name, tell, subresource="status")
