"""Deployments: one ReplicaSet per template, and the way from one to the next.

Left out: progress deadlines, `minReadySeconds`, proportional scaling during a rollout.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Change
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant import workload_events
from nagaya.simulators.tenant.conditions import set_conditions
from nagaya.simulators.tenant.hands import DEPLOYMENTS, REPLICA_SETS, Hands, table_of
from nagaya.simulators.tenant.pod_templates import owner_reference, share, template_hash
from nagaya.simulators.tenant.rollout import Count, Limits, recreating, rolling
from nagaya.simulators.tenant.view import View, owner_of

HASH: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"


class Deployments:
    """Makes ReplicaSets and scales them."""

    name = "simulated deployments"
    tables = ("pods", table_of(DEPLOYMENTS), table_of(REPLICA_SETS))

    def __init__(self, backend: Backend, view: View) -> None:
        self._api = Hands(backend, "kube-controller-manager")
        self._view = view

    def start(self) -> Iterator[str]:
        """All of them."""
        for record in self._api.records(DEPLOYMENTS):
            yield record.key

    def on_event(self, event: Event) -> Iterator[str]:
        """A deployment or one of its sets changed, or a pod of theirs is gone, for which Recreate waits."""
        if event.table != "pods":
            yield from workload_events.of_children(event, DEPLOYMENTS, "Deployment", REPLICA_SETS)
        elif event.record is None:
            gone = self._view.pod_change(event).before
            if gone is not None and gone.owner is not None and gone.owner.kind == "ReplicaSet":
                replica_set = self._api.get(REPLICA_SETS, gone.namespace, gone.owner.name)
                owner = owner_of(replica_set["metadata"]) if replica_set else None
                if owner is not None and owner.kind == "Deployment":
                    yield f"{gone.namespace}/{owner.name}"

    async def sync(self, key: object) -> float | None:
        """Take a rollout one step further, and tell."""
        assert isinstance(key, str)
        namespace, _, name = key.partition("/")
        owner = self._api.get(DEPLOYMENTS, namespace, name)
        if owner is None or owner["metadata"].get("deletionTimestamp"):
            return None
        if not owner["spec"].get("paused"):
            new = await self._new_set(owner)
            if new is None:
                return None
            await self._scale(owner, new)
            await self._forget_old_sets(owner, new)
        new_name = f"{name}-{template_hash(owner['spec']['template'])}"
        sets = self._sets(owner)
        now = self._api.now()
        await self._api.change(
            DEPLOYMENTS, namespace, name, lambda obj: _told(obj, sets, new_name, now), subresource="status"
        )
        return None

    def _sets(self, owner: JsonObject) -> list[JsonObject]:
        """The deployment's sets, oldest first."""
        metadata = owner["metadata"]
        found = [record.object() for record in self._api.records(REPLICA_SETS, metadata["namespace"])]
        mine = [each for each in found if (known := owner_of(each["metadata"])) and known.uid == metadata["uid"]]
        return sorted(mine, key=lambda each: (_revision(each), each["metadata"]["name"]))

    async def _new_set(self, owner: JsonObject) -> JsonObject | None:
        """The set of the present template, with the highest revision."""
        metadata, spec = owner["metadata"], owner["spec"]
        hashed = template_hash(spec["template"])
        name = f"{metadata['name']}-{hashed}"
        sets = self._sets(owner)
        known = next((each for each in sets if each["metadata"]["name"] == name), None)
        newest = max((_revision(each) for each in sets), default=0)
        revision = str(newest if known and _revision(known) == newest else newest + 1)
        if known is None:
            known = await self._create_set(owner, name, hashed, revision)
        elif str(_revision(known)) != revision:
            known = await self._api.change(REPLICA_SETS, metadata["namespace"], name, _annotate(revision))
        await self._api.change(DEPLOYMENTS, metadata["namespace"], metadata["name"], _annotate(revision))
        return known

    async def _create_set(self, owner: JsonObject, name: str, hashed: str, revision: str) -> JsonObject | None:
        metadata, spec = owner["metadata"], owner["spec"]
        template = copy.deepcopy(spec["template"])
        labels = template.setdefault("metadata", {}).setdefault("labels", {})
        labels[HASH] = hashed
        selector = copy.deepcopy(spec["selector"])
        selector.setdefault("matchLabels", {})[HASH] = hashed
        made: JsonObject = {
            "metadata": {
                "name": name,
                "namespace": metadata["namespace"],
                "labels": dict(labels),
                "annotations": {REVISION: revision},
                "ownerReferences": [owner_reference(owner, "Deployment")],
            },
            "spec": {"replicas": 0, "selector": selector, "template": template},
        }
        await self._api.create_missing(REPLICA_SETS, made)
        return self._api.get(REPLICA_SETS, metadata["namespace"], name)

    async def _scale(self, owner: JsonObject, new: JsonObject) -> None:
        spec, namespace = owner["spec"], owner["metadata"]["namespace"]
        desired = spec.get("replicas", 1)
        counts = [_count(each) for each in self._sets(owner)]
        mine = next(each for each in counts if each.name == new["metadata"]["name"])
        old = [each for each in counts if each is not mine]
        strategy = spec.get("strategy") or {}
        if strategy.get("type") == "Recreate":
            uids = [each["metadata"]["uid"] for each in self._sets(owner) if each["metadata"]["name"] != mine.name]
            steps = recreating(desired, mine, old, sum(len(self._view.pods_of(uid)) for uid in uids))
        else:
            steps = rolling(_limits(desired, strategy.get("rollingUpdate") or {}), mine, old)
        for name, replicas in steps.items():
            await self._api.change(REPLICA_SETS, namespace, name, _resize(replicas))

    async def _forget_old_sets(self, owner: JsonObject, new: JsonObject) -> None:
        limit = owner["spec"].get("revisionHistoryLimit", 10)
        current = new["metadata"]["name"]
        empty = [each for each in self._sets(owner) if each["metadata"]["name"] != current and not _size(each)]
        for each in empty[: max(0, len(empty) - limit)]:
            await self._api.delete(REPLICA_SETS, owner["metadata"]["namespace"], each["metadata"]["name"])


def _limits(desired: int, rolling_update: JsonObject) -> Limits:
    surge = share(rolling_update.get("maxSurge"), desired, 0, up=True)
    unavailable = share(rolling_update.get("maxUnavailable"), desired, 0, up=False)
    return Limits(desired, surge, min(desired, unavailable or (0 if surge else 1)))


def _revision(replica_set: JsonObject) -> int:
    text = (replica_set["metadata"].get("annotations") or {}).get(REVISION) or ""
    return int(text) if text.isdecimal() else 0


def _size(replica_set: JsonObject) -> int:
    """Replicas wanted or still there."""
    return max(int(replica_set["spec"].get("replicas", 1)), int((replica_set.get("status") or {}).get("replicas") or 0))


def _count(replica_set: JsonObject) -> Count:
    available = (replica_set.get("status") or {}).get("availableReplicas") or 0
    wanted = replica_set["spec"].get("replicas", 1)
    return Count(replica_set["metadata"]["name"], wanted, min(available, wanted))


def _annotate(revision: str) -> Change:
    def change(obj: JsonObject) -> JsonObject | None:
        annotations = obj["metadata"].get("annotations") or {}
        if annotations.get(REVISION) == revision:
            return None
        obj["metadata"]["annotations"] = {**annotations, REVISION: revision}
        return obj

    return change


def _resize(replicas: int) -> Change:
    def change(obj: JsonObject) -> JsonObject | None:
        if obj["spec"].get("replicas") == replicas:
            return None
        obj["spec"]["replicas"] = replicas
        return obj

    return change


def _told(obj: JsonObject, sets: Sequence[JsonObject], new_name: str, now: str) -> JsonObject | None:
    def total(field: str, of: Sequence[JsonObject]) -> int:
        return sum((each.get("status") or {}).get(field) or 0 for each in of)

    new = [each for each in sets if each["metadata"]["name"] == new_name]
    desired, available = obj["spec"].get("replicas", 1), total("availableReplicas", sets)
    updated, replicas = total("replicas", new), total("replicas", sets)
    status: JsonObject = {
        "observedGeneration": obj["metadata"]["generation"],
        "replicas": replicas,
        "updatedReplicas": updated,
        "readyReplicas": total("readyReplicas", sets),
        "availableReplicas": available,
        "unavailableReplicas": max(0, desired - available),
    }
    before: JsonObject = obj.get("status") or {}
    status["conditions"] = before.get("conditions") or []
    limits = _limits(desired, (obj["spec"].get("strategy") or {}).get("rollingUpdate") or {})
    enough = available >= desired - limits.unavailable
    done = updated == desired == replicas and available >= desired
    conditions = [
        {
            "type": "Available",
            "status": "True" if enough else "False",
            "reason": "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
            "message": f"Deployment {'has' if enough else 'does not have'} minimum availability.",
        },
        {
            "type": "Progressing",
            "status": "True",
            "reason": "NewReplicaSetAvailable" if done else "ReplicaSetUpdated",
            "message": f'ReplicaSet "{new_name}" {"has successfully progressed" if done else "is progressing"}.',
        },
    ]
    turned = set_conditions(status, conditions, now)
    same = all((before.get(name) or 0) == status[name] for name in status if name != "conditions")
    if same and not turned:
        return None
    if turned:
        for each in status["conditions"]:
            each.setdefault("lastUpdateTime", now)
    obj["status"] = {**before, **status}
    return obj
