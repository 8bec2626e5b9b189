"""StatefulSets: pods with numbers, each with its own volumes, one after the other.

Pods come in order, each when the one before it is ready (all at once with Parallel), and go in reverse. An update
replaces them from the highest number down to the partition. Claims stay when pods go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant import workload_events
from nagaya.simulators.tenant.hands import CLAIMS, PODS, STATEFUL_SETS, Hands, table_of
from nagaya.simulators.tenant.pod_templates import pod_from, template_hash
from nagaya.simulators.tenant.view import PodSeen, View

HASH: Final = "controller-revision-hash"


class StatefulSets:
    """Makes and deletes numbered pods."""

    name = "simulated stateful sets"
    tables = ("pods", table_of(STATEFUL_SETS))

    def __init__(self, backend: Backend, view: View) -> None:
        self._api = Hands(backend, "kube-controller-manager")
        self._view = view

    def start(self) -> Iterator[str]:
        """All of them."""
        for record in self._api.records(STATEFUL_SETS):
            yield record.key

    def on_event(self, event: Event) -> Iterator[str]:
        """A set or one of its pods changed."""
        return workload_events.of_pods(event, self._view, STATEFUL_SETS, "StatefulSet")

    async def sync(self, key: object) -> float | None:
        """Take one step towards the pods that are wanted, and tell."""
        assert isinstance(key, str)
        namespace, _, name = key.partition("/")
        owner = self._api.get(STATEFUL_SETS, namespace, name)
        if owner is None or owner["metadata"].get("deletionTimestamp"):
            return None
        revision = f"{name}-{template_hash(owner['spec']['template'])}"
        await self._step(owner, revision)
        pods = self._pods(owner)
        wanted = owner["spec"].get("replicas", 1)
        await self._api.change(
            STATEFUL_SETS, namespace, name, lambda obj: _told(obj, pods, revision, wanted), subresource="status"
        )
        return None

    def _pods(self, owner: JsonObject) -> dict[int, PodSeen]:
        found = {}
        for pod in self._view.pods_of(owner["metadata"]["uid"]):
            number = pod.name.rpartition("-")[2]
            if number.isdecimal():
                found[int(number)] = pod
        return found

    async def _step(self, owner: JsonObject, revision: str) -> None:
        spec, pods = owner["spec"], self._pods(owner)
        first = (spec.get("ordinals") or {}).get("start") or 0
        numbers = range(first, first + spec.get("replicas", 1))
        in_order = spec.get("podManagementPolicy") != "Parallel"
        for number in numbers:
            pod = pods.get(number)
            if pod is None:
                await self._create(owner, number, revision)
            elif pod.ended and not pod.deleting:
                await self._delete(pod)
            if in_order and (pod is None or not pod.ready or pod.deleting):
                return
        for number in sorted(set(pods) - set(numbers), reverse=True):
            if not pods[number].deleting:
                await self._delete(pods[number])
            if in_order:
                return
        strategy = spec.get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete" or any(not pod.ready or pod.deleting for pod in pods.values()):
            return
        partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
        for number in sorted((each for each in pods if each >= partition), reverse=True):
            if pods[number].labels.get(HASH) != revision:
                await self._delete(pods[number])
                return

    async def _delete(self, pod: PodSeen) -> None:
        await self._api.delete(PODS, pod.namespace, pod.name, uid=pod.uid)

    async def _create(self, owner: JsonObject, number: int, revision: str) -> None:
        metadata, spec = owner["metadata"], owner["spec"]
        name = f"{metadata['name']}-{number}"
        labels = {
            "statefulset.kubernetes.io/pod-name": name,
            "apps.kubernetes.io/pod-index": str(number),
            HASH: revision,
        }
        pod = pod_from(owner, "StatefulSet", name=name, labels=labels)
        pod["spec"] |= {"hostname": name, "subdomain": spec.get("serviceName") or ""}
        volumes: list[JsonObject] = pod["spec"].get("volumes") or []
        for template in spec.get("volumeClaimTemplates") or ():
            claim = f"{template['metadata']['name']}-{name}"
            made: JsonObject = {
                "metadata": {
                    "name": claim,
                    "namespace": metadata["namespace"],
                    "labels": (spec["selector"].get("matchLabels") or {}),
                },
                "spec": dict(template["spec"]),
            }
            await self._api.create_missing(CLAIMS, made)
            source = {"name": template["metadata"]["name"], "persistentVolumeClaim": {"claimName": claim}}
            volumes = [each for each in volumes if each["name"] != source["name"]] + [source]
        if volumes:
            pod["spec"]["volumes"] = volumes
        await self._api.create_missing(PODS, pod)


def _told(obj: JsonObject, pods: Mapping[int, PodSeen], revision: str, wanted: int) -> JsonObject | None:
    updated = sum(pod.labels.get(HASH) == revision for pod in pods.values())
    ready = sum(pod.ready for pod in pods.values())
    before: JsonObject = obj.get("status") or {}
    known = before.get("currentRevision")
    status: JsonObject = {
        "observedGeneration": obj["metadata"]["generation"],
        "replicas": len(pods),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "updatedReplicas": updated,
        "currentReplicas": sum(pod.labels.get(HASH) == known for pod in pods.values()),
        "updateRevision": revision,
        "currentRevision": revision if known is None or updated == len(pods) == ready == wanted else known,
        "collisionCount": 0,
    }
    if status["currentRevision"] == revision:
        status["currentReplicas"] = updated
    if all((before.get(name) or 0) == (value or 0) for name, value in status.items()):
        return None
    obj["status"] = {**before, **status}
    return obj
