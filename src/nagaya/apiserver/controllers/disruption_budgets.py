"""The status of PodDisruptionBudgets: how many of their pods may be evicted now.

Evictions are refused as long as this was not worked out for the latest spec. How many pods there should be comes from
their owners, not from counting: a pod that is missing for another reason must not make room for an eviction.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from nagaya.apiserver.controllers.conditions import with_condition
from nagaya.apiserver.controllers.tables import keys
from nagaya.apiserver.meta import integers, times
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.selectors import label_selector
from nagaya.apiserver.selectors.requirement import SelectorError
from nagaya.apiserver.storage import Event

BUDGETS: Final = GroupResource("policy", "poddisruptionbudgets")
_TABLE: Final = "policy/poddisruptionbudgets"
_OWNERS: Final = {
    "ReplicationController": GroupResource("", "replicationcontrollers"),
    "ReplicaSet": GroupResource("apps", "replicasets"),
    "StatefulSet": GroupResource("apps", "statefulsets"),
    "Deployment": GroupResource("apps", "deployments"),
}
_OWNER_TABLES: Final = frozenset(f"{each.group}/{each.resource}".lstrip("/") for each in _OWNERS.values())
EVICTION_TAKES: Final = timedelta(minutes=2)
"""A pod whose eviction was allowed counts as gone for so long, and as there again if it is still there."""


class DisruptionBudgets:
    """Counts what budgets are about."""

    name = "disruption budgets"
    tables = (_TABLE, "pods", *_OWNER_TABLES)

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")

    def start(self) -> Iterator[str]:
        """All budgets."""
        return keys(self._backend.store, _TABLE)

    def on_event(self, event: Event) -> Iterator[str]:
        """A budget came or changed, or a pod or an owner of pods in its namespace did anything."""
        if event.table == _TABLE:
            if event.record is not None:
                yield event.key
        elif (event.table == "pods" or event.table in _OWNER_TABLES) and self._backend.store.count(_TABLE):
            for record in self._backend.store.list(_TABLE, f"{event.key.partition('/')[0]}/").records:
                yield record.key

    async def sync(self, key: object) -> float | None:
        """Bring the status of one budget up to date; look again when an eviction should be over."""
        assert isinstance(key, str)
        namespace, _, name = key.partition("/")
        now = self._backend.world.clock.now()
        written = await self._api.change(
            BUDGETS, namespace, name, lambda budget: self._counted(budget, now), subresource="status"
        )
        evicted = ((written or {}).get("status") or {}).get("disruptedPods") or {}
        ends = [times.moment(each) + EVICTION_TAKES for each in evicted.values()]
        return (min(ends) - now).total_seconds() + 1 if ends else None

    def _counted(self, budget: JsonObject, now: datetime) -> JsonObject | None:
        status: JsonObject = budget.get("status") or {}
        pods = self._pods(budget)
        evicted = _evicted(status, pods, now)
        healthy = sum(_is_healthy(pod) and pod["metadata"]["name"] not in evicted for pod in pods)
        generation = budget["metadata"].get("generation") or 0
        try:
            expected, desired = self._expected(budget["spec"], pods)
        except LookupError as error:
            refusal = _condition("False", "SyncFailed", str(error.args[0]), status.get("observedGeneration") or 0)
            conditions = with_condition(status.get("conditions"), refusal, times.of(now))
            return {**budget, "status": {**status, "disruptionsAllowed": 0, "conditions": conditions}}
        allowed = max(healthy - desired, 0) if expected > 0 else 0
        verdict = ("True", "SufficientPods") if allowed > 0 else ("False", "InsufficientPods")
        condition = _condition(*verdict, "", generation)
        counted: JsonObject = {
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptionsAllowed": allowed,
            "observedGeneration": generation,
            "conditions": with_condition(status.get("conditions"), condition, times.of(now)),
        }
        if evicted:
            counted["disruptedPods"] = evicted
        return {**budget, "status": counted}

    def _pods(self, budget: JsonObject) -> list[JsonObject]:
        try:
            selector = label_selector.compiled(budget["spec"].get("selector"))
        except SelectorError:
            return []
        records = self._backend.store.list("pods", f"{budget['metadata']['namespace']}/").records
        return [record.object() for record in records if selector.matches(record.labels)]

    def _expected(self, spec: JsonObject, pods: list[JsonObject]) -> tuple[int, int]:
        """How many pods there should be, and how many of them have to be healthy."""
        most: Any = spec.get("maxUnavailable")
        least: Any = spec.get("minAvailable")
        if most is not None:
            expected = self._scale(pods)
            return expected, max(expected - _share(most, expected), 0)
        if isinstance(least, str):
            expected = self._scale(pods)
            return expected, _share(least, expected)
        return (len(pods), least) if least is not None else (0, 0)

    def _scale(self, pods: list[JsonObject]) -> int:
        """How many pods their owners want. Pods without an owner are not counted."""
        wanted: dict[str, int] = {}
        for pod in pods:
            owner = _controller(pod)
            if owner is not None and owner["uid"] not in wanted:
                found = self._owner(owner, pod["metadata"]["namespace"])
                if found is None:
                    raise LookupError(f'found no controllers for pod "{pod["metadata"]["name"]}"')
                wanted[found["metadata"]["uid"]] = found["spec"].get("replicas") or 0
        return sum(wanted.values())

    def _owner(self, reference: JsonObject, namespace: str) -> JsonObject | None:
        """The object that says how many pods there should be: the Deployment, for a ReplicaSet that has one."""
        resource = _OWNERS.get(reference["kind"])
        found = self._api.get(resource, namespace, reference["name"]) if resource is not None else None
        if found is None or found["metadata"]["uid"] != reference["uid"]:
            return None
        above = _controller(found)
        return found if above is None else self._owner(above, namespace) or found


def _controller(obj: JsonObject) -> JsonObject | None:
    references: list[JsonObject] = obj["metadata"].get("ownerReferences") or []
    return next((each for each in references if each.get("controller")), None)


def _share(amount: int | str, total: int) -> int:
    """A number, or a percentage rounded up."""
    if isinstance(amount, int):
        return amount
    return -(-(integers.clamped(amount.removesuffix("%")) or 0) * total // 100)


def _is_healthy(pod: JsonObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def _evicted(status: JsonObject, pods: list[JsonObject], now: datetime) -> dict[str, str]:
    """Pods whose eviction was allowed and should be under way."""
    here = {pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}
    noted: dict[str, str] = status.get("disruptedPods") or {}
    return {name: when for name, when in noted.items() if name in here and times.moment(when) + EVICTION_TAKES >= now}


def _condition(status: str, reason: str, message: str, generation: int) -> JsonObject:
    condition: JsonObject = {"type": "DisruptionAllowed", "status": status, "reason": reason, "message": message}
    return condition | ({"observedGeneration": generation} if generation else {})
