"""ReplicaSets keep their number of pods: what is evicted comes back elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant import workload_events
from nagaya.simulators.tenant.hands import PODS, REPLICA_SETS, Hands, table_of
from nagaya.simulators.tenant.pod_templates import pod_from
from nagaya.simulators.tenant.view import PodSeen, View


def dispensable(pods: Sequence[PodSeen]) -> list[PodSeen]:
    """Pods in the order in which they are given up: those without a node, not running, not ready, and the newest."""
    newest_first = sorted(pods, key=lambda pod: (pod.created, pod.name), reverse=True)
    return sorted(newest_first, key=lambda pod: (bool(pod.node), pod.phase == "Running", pod.ready))


class ReplicaSets:
    """Makes and deletes pods."""

    name = "simulated replica sets"
    tables = ("pods", table_of(REPLICA_SETS))

    def __init__(self, backend: Backend, view: View) -> None:
        self._api = Hands(backend, "kube-controller-manager")
        self._view = view

    def start(self) -> Iterator[str]:
        """All of them."""
        for record in self._api.records(REPLICA_SETS):
            yield record.key

    def on_event(self, event: Event) -> Iterator[str]:
        """A set or one of its pods changed."""
        return workload_events.of_pods(event, self._view, REPLICA_SETS, "ReplicaSet")

    async def sync(self, key: object) -> float | None:
        """Bring the number of pods to what is wanted, and tell."""
        assert isinstance(key, str)
        namespace, _, name = key.partition("/")
        owner = self._api.get(REPLICA_SETS, namespace, name)
        if owner is None:
            return None
        uid, wanted = owner["metadata"]["uid"], owner["spec"].get("replicas", 1)
        if not owner["metadata"].get("deletionTimestamp"):
            active = [pod for pod in self._view.pods_of(uid) if pod.active]
            for _ in range(wanted - len(active)):
                await self._api.create(PODS, pod_from(owner, "ReplicaSet"))
            for pod in dispensable(active)[: max(0, len(active) - wanted)]:
                await self._api.delete(PODS, namespace, pod.name, uid=pod.uid)
        active = [pod for pod in self._view.pods_of(uid) if pod.active]
        labels = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
        await self._api.change(
            REPLICA_SETS, namespace, name, lambda obj: _told(obj, active, labels), subresource="status"
        )
        return None


def _told(obj: JsonObject, active: Sequence[PodSeen], labels: JsonObject) -> JsonObject | None:
    ready = sum(pod.ready for pod in active)
    counts = {
        "replicas": len(active),
        "fullyLabeledReplicas": sum(labels.items() <= pod.labels.items() for pod in active),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "observedGeneration": obj["metadata"]["generation"],
    }
    before = obj.get("status") or {}
    if all((before.get(name) or 0) == count for name, count in counts.items()):
        return None
    obj["status"] = {**before, **counts}
    return obj
