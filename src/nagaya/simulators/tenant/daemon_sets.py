"""DaemonSets have one pod on every node that takes it, also on those that are cordoned or not ready.

An update replaces pods one node at a time (or as many as `maxUnavailable` says) unless the strategy is OnDelete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant import workload_events
from nagaya.simulators.tenant.hands import DAEMON_SETS, PODS, Hands, table_of
from nagaya.simulators.tenant.pod_templates import pod_from, share, template_hash
from nagaya.simulators.tenant.tolerance import selects, tolerates
from nagaya.simulators.tenant.view import NodeSeen, PodSeen, View

HASH: Final = "controller-revision-hash"
_TOLERATED: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_HOST_NETWORK: Final = ("node.kubernetes.io/network-unavailable", "NoSchedule")


def tolerations(spec: JsonObject) -> list[JsonObject]:
    """The tolerations of a daemon's pods: their own, and those all daemons have."""
    common = [*_TOLERATED, _HOST_NETWORK] if spec.get("hostNetwork") else list(_TOLERATED)
    own: list[JsonObject] = spec.get("tolerations") or []
    return own + [{"key": key, "operator": "Exists", "effect": effect} for key, effect in common]


def places(spec: JsonObject, node: NodeSeen) -> tuple[bool, bool]:
    """Whether a daemon's pod should come to a node, and whether one that is there may stay."""
    if not selects(spec, node):
        return False, False
    tolerated = tolerations(spec)
    untolerated = {taint["effect"] for taint in node.taints if not tolerates(tolerated, taint)}
    return not untolerated & {"NoSchedule", "NoExecute"}, "NoExecute" not in untolerated


class DaemonSets:
    """Makes and deletes daemons' pods."""

    name = "simulated daemon sets"
    tables = ("nodes", "pods", table_of(DAEMON_SETS))

    def __init__(self, backend: Backend, view: View) -> None:
        self._api = Hands(backend, "kube-controller-manager")
        self._view = view

    def start(self) -> Iterator[str]:
        """All of them."""
        for record in self._api.records(DAEMON_SETS):
            yield record.key

    def on_event(self, event: Event) -> Iterator[str]:
        """A set, one of its pods, or a node changed."""
        if event.table != "nodes":
            yield from workload_events.of_pods(event, self._view, DAEMON_SETS, "DaemonSet")
            return
        node = self._view.node_change(event)
        before, after = ((each.labels, each.taints) if each else None for each in (node.before, node.after))
        if before != after:
            yield from self.start()

    async def sync(self, key: object) -> float | None:
        """Bring pods to the nodes, and tell."""
        assert isinstance(key, str)
        namespace, _, name = key.partition("/")
        owner = self._api.get(DAEMON_SETS, namespace, name)
        if owner is None or owner["metadata"].get("deletionTimestamp"):
            return None
        spec, hashed = owner["spec"]["template"]["spec"], template_hash(owner["spec"]["template"])
        wanted = set()
        by_node: dict[str, list[PodSeen]] = {}
        for pod in self._view.pods_of(owner["metadata"]["uid"]):
            by_node.setdefault(pod.node or pod.pinned, []).append(pod)
        for node in list(self._view.nodes().values()):
            comes, stays = places(spec, node)
            pods = [pod for pod in by_node.get(node.name, ()) if pod.active]
            if comes:
                wanted.add(node.name)
                if not by_node.get(node.name):
                    await self._api.create(PODS, _daemon(owner, node.name, hashed))
            elif not stays:
                for pod in pods:
                    await self._api.delete(PODS, namespace, pod.name, uid=pod.uid)
        await self._update(owner, hashed, len(wanted))
        pods = [pod for pod in self._view.pods_of(owner["metadata"]["uid"]) if pod.active]
        await self._api.change(
            DAEMON_SETS, namespace, name, lambda obj: _told(obj, pods, wanted, hashed), subresource="status"
        )
        return None

    async def _update(self, owner: JsonObject, hashed: str, wanted: int) -> None:
        """Delete pods of older templates, as many as may be missing at a time."""
        strategy = owner["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return
        pods = list(self._view.pods_of(owner["metadata"]["uid"]))
        limit = max(1, share((strategy.get("rollingUpdate") or {}).get("maxUnavailable"), wanted, 1, up=True))
        free = limit - (wanted - sum(pod.ready and pod.active for pod in pods))
        outdated = [pod for pod in pods if pod.active and pod.labels.get(HASH) != hashed]
        unready = [pod for pod in outdated if not pod.ready]
        ready = sorted((pod for pod in outdated if pod.ready), key=lambda pod: pod.name)
        for pod in [*unready, *ready[: max(0, free)]]:
            await self._api.delete(PODS, owner["metadata"]["namespace"], pod.name, uid=pod.uid)


def _daemon(owner: JsonObject, node: str, hashed: str) -> JsonObject:
    pod = pod_from(owner, "DaemonSet", labels={HASH: hashed})
    spec = pod["spec"]
    spec["tolerations"] = tolerations(spec)
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    # The template's own terms have been looked at already; the node is what is left of them.
    affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return pod


def _told(obj: JsonObject, pods: Sequence[PodSeen], wanted: set[str], hashed: str) -> JsonObject | None:
    there = [pod for pod in pods if (pod.node or pod.pinned) in wanted]
    ready = sum(pod.ready for pod in there)
    counts = {
        "currentNumberScheduled": len(there),
        "desiredNumberScheduled": len(wanted),
        "numberMisscheduled": len(pods) - len(there),
        "numberReady": ready,
        "numberAvailable": ready,
        "numberUnavailable": len(wanted) - ready,
        "updatedNumberScheduled": sum(pod.labels.get(HASH) == hashed for pod in there),
        "observedGeneration": obj["metadata"]["generation"],
    }
    before = obj.get("status") or {}
    if all((before.get(name) or 0) == count for name, count in counts.items()):
        return None
    obj["status"] = {**before, **counts}
    return obj
