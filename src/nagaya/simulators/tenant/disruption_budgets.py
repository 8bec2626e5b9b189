"""How many pods may go now: the status of PodDisruptionBudgets, which evictions are judged by.

The API server charges a budget for every eviction it grants; here the counts follow what pods really do. A charge that
no deletion follows within two minutes is given back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from nagaya.apiserver.meta import times
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.selectors import label_selector
from nagaya.apiserver.selectors.requirement import SelectorError
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant.conditions import set_conditions
from nagaya.simulators.tenant.hands import BUDGETS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, Hands, table_of
from nagaya.simulators.tenant.pod_templates import share
from nagaya.simulators.tenant.view import Owner, PodSeen, View, owner_of

DELETION_TIMEOUT: Final = timedelta(minutes=2)  # from an eviction to the deletion of the pod, as the real controller's
_SCALED: Final = {"ReplicaSet": REPLICA_SETS, "StatefulSet": STATEFUL_SETS, "Deployment": DEPLOYMENTS}


class DisruptionBudgets:
    """Keeps the budgets' statuses."""

    name = "simulated disruption budgets"

    def __init__(self, backend: Backend, view: View) -> None:
        self._api = Hands(backend, "kube-controller-manager")
        self._clock = backend.world.clock
        self._view = view

    def start(self) -> Iterator[str]:
        """All of them."""
        for record in self._api.records(BUDGETS):
            yield record.key

    def on_event(self, event: Event) -> Iterator[str]:
        """A budget changed, a pod, or the number of replicas that there should be."""
        namespace = event.key.partition("/")[0]
        if event.table == table_of(BUDGETS):
            if event.record is not None:
                yield event.key
        elif (event.table == "pods" and self._view.pod_change(event).matters) or event.table in _SCALE_TABLES:
            for record in self._api.records(BUDGETS, namespace):
                yield record.key

    async def sync(self, key: object) -> float | None:
        """Count again."""
        assert isinstance(key, str)
        namespace, _, name = key.partition("/")
        budget = self._api.get(BUDGETS, namespace, name)
        if budget is None:
            return None
        spec = budget.get("spec") or {}
        try:
            selector = label_selector.compiled(spec.get("selector"))
        except SelectorError:
            return None  # selects nothing, and never will
        found = [pod for pod in self._view.pods() if pod.namespace == namespace and selector.matches(pod.labels)]
        pods = [pod for pod in found if not pod.ended]
        expected, desired = self._expectation(spec, pods)
        left: list[float] = []

        def told(obj: JsonObject) -> JsonObject | None:
            left.clear()
            disrupted, waits = self._still_disrupted(obj.get("status") or {}, pods)
            left.extend(waits)
            return self._told(obj, pods, expected, desired, disrupted)

        await self._api.change(BUDGETS, namespace, name, told, subresource="status")
        return min(left) if left else None

    def _expectation(self, spec: JsonObject, pods: Sequence[PodSeen]) -> tuple[int, int]:
        """How many pods there should be, and how many of them healthy."""
        least = spec.get("minAvailable")
        if isinstance(least, int):
            return len(pods), least
        expected = self._scale(pods)
        if least is not None:
            return expected, share(least, expected, 0, up=True)
        return expected, max(0, expected - share(spec.get("maxUnavailable"), expected, 0, up=True))

    def _scale(self, pods: Sequence[PodSeen]) -> int:
        """The replicas that the pods' controllers should have."""
        owners = {(pod.namespace, owner) for pod in pods if (owner := pod.owner) is not None}
        scales = {key: replicas for namespace, owner in owners for key, replicas in self._replicas(namespace, owner)}
        return sum(scales.values())

    def _replicas(self, namespace: str, owner: Owner) -> Iterator[tuple[str, int]]:
        resource: GroupResource | None = _SCALED.get(owner.kind)
        found = self._api.get(resource, namespace, owner.name) if resource else None
        if found is None:
            return
        above = owner_of(found["metadata"])
        if above is not None and above.kind in _SCALED:
            yield from self._replicas(namespace, above)
        else:
            yield found["metadata"]["uid"], found["spec"].get("replicas", 1)

    def _still_disrupted(self, status: JsonObject, pods: Sequence[PodSeen]) -> tuple[dict[str, str], list[float]]:
        """Evictions that no deletion has followed yet, and when to look at them again."""
        kept, waits, now = {}, [], self._clock.now()
        there = {pod.name: pod for pod in pods}
        for name, when in (status.get("disruptedPods") or {}).items():
            left = (times.moment(when) + DELETION_TIMEOUT - now).total_seconds()
            if name in there and not there[name].deleting and left > 0:
                kept[name] = when
                waits.append(left)
        return kept, waits

    def _told(
        self, obj: JsonObject, pods: Sequence[PodSeen], expected: int, desired: int, disrupted: dict[str, str]
    ) -> JsonObject | None:
        healthy = sum(pod.ready and not pod.deleting and pod.name not in disrupted for pod in pods)
        allowed = max(0, healthy - desired) if expected > 0 else 0
        before: JsonObject = obj.get("status") or {}
        generation = obj["metadata"].get("generation") or 0
        status: JsonObject = {
            "observedGeneration": generation,
            "expectedPods": expected,
            "desiredHealthy": desired,
            "currentHealthy": healthy,
            "disruptionsAllowed": allowed,
            "conditions": before.get("conditions") or [],
        }
        if disrupted:
            status["disruptedPods"] = disrupted
        condition = {
            "type": "DisruptionAllowed",
            "status": "True" if allowed else "False",
            "reason": "SufficientPods" if allowed else "InsufficientPods",
            "observedGeneration": generation,
            "message": "",
        }
        turned = set_conditions(status, [condition], self._api.now())
        numbers = ("observedGeneration", "expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
        same = all((before.get(name) or 0) == status[name] for name in numbers)
        if same and not turned and (before.get("disruptedPods") or {}) == disrupted:
            return None
        obj["status"] = status
        return obj


_SCALE_TABLES: Final = frozenset(table_of(each) for each in _SCALED.values())
