"""Claims, volumes and attribute classes go when nothing uses them any more, and not before.

Admission puts a finalizer on each; the controllers here take it off a deleted one as soon as it is free. A claim is
used by pods that are on a node, a volume by the claim it is bound to, an attributes class by claims and volumes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

CLAIMS: Final = GroupResource("", "persistentvolumeclaims")
VOLUMES: Final = GroupResource("", "persistentvolumes")
CLASSES: Final = GroupResource("storage.k8s.io", "volumeattributesclasses")


class Protection(ABC):
    """What the three have in common."""

    resource: GroupResource
    table: str
    finalizer: str

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")

    def start(self) -> Iterator[str]:
        """All of them."""
        for record in self._backend.store.list(self.table).records:
            yield record.key

    def on_event(self, event: Event) -> Iterator[str]:
        """One of them came or changed, or one that may have used them changed or went."""
        if event.table == self.table and event.record is not None:
            yield event.key
        yield from self.freed(event)

    async def sync(self, key: object) -> float | None:
        """Put the finalizer on one, or take it off."""
        assert isinstance(key, str)
        namespace, _, name = key.rpartition("/")
        await self._api.change(self.resource, namespace, name, self._settled)
        return None

    def _settled(self, obj: JsonObject) -> JsonObject | None:
        metadata = obj["metadata"]
        finalizers = metadata.get("finalizers") or []
        if "deletionTimestamp" not in metadata:
            if self.finalizer in finalizers:
                return None
            return {**obj, "metadata": {**metadata, "finalizers": [*finalizers, self.finalizer]}}
        if self.finalizer not in finalizers or self.is_used(obj):
            return None
        left = [each for each in finalizers if each != self.finalizer]
        return {**obj, "metadata": {**metadata, "finalizers": left}}

    @abstractmethod
    def is_used(self, obj: JsonObject) -> bool:
        """Whether anything uses it."""

    @abstractmethod
    def freed(self, event: Event) -> Iterator[str]:
        """The keys of those that another object used before it changed or went."""


class ClaimProtection(Protection):
    """Claims, used by pods."""

    name = "claim protection"
    resource = CLAIMS
    table = "persistentvolumeclaims"
    tables = (table, "pods")
    finalizer = "kubernetes.io/pvc-protection"

    def is_used(self, obj: JsonObject) -> bool:
        """Whether a pod that is on a node refers to it. One that is on none will not be started with it any more."""
        namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
        for record in self._backend.store.list("pods", f"{namespace}/").records:
            pod = record.object()
            if pod["spec"].get("nodeName") and name in _claims_of(pod):
                return True
        return False

    def freed(self, event: Event) -> Iterator[str]:
        """The claims of a pod that went; as long as it is there it has the same ones."""
        if event.table == "pods" and event.record is None and event.previous is not None:
            namespace = event.key.partition("/")[0]
            for name in _claims_of(event.previous.object()):
                yield f"{namespace}/{name}"


def _claims_of(pod: JsonObject) -> set[str]:
    """The names of the claims that a pod refers to, or that are made for it."""
    found = set()
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            found.add(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            found.add(f"{pod['metadata']['name']}-{volume['name']}")
    return found


class VolumeProtection(Protection):
    """Volumes, used by the claims they are bound to."""

    name = "volume protection"
    resource = VOLUMES
    table = "persistentvolumes"
    tables = (table,)
    finalizer = "kubernetes.io/pv-protection"

    def is_used(self, obj: JsonObject) -> bool:
        """Whether it is bound."""
        return (obj.get("status") or {}).get("phase") == "Bound"

    def freed(self, event: Event) -> Iterator[str]:
        """None: a volume says itself what it is bound to."""
        return iter(())


class AttributesClassProtection(Protection):
    """Attribute classes, used by claims and volumes."""

    name = "attributes class protection"
    resource = CLASSES
    table = "storage.k8s.io/volumeattributesclasses"
    tables = (table, "persistentvolumeclaims", "persistentvolumes")
    finalizer = "kubernetes.io/vac-protection"

    def is_used(self, obj: JsonObject) -> bool:
        """Whether a claim or a volume has it, had it last or is to get it."""
        name = obj["metadata"]["name"]
        return any(
            name in _classes_of(record.object())
            for table in ("persistentvolumeclaims", "persistentvolumes")
            for record in self._backend.store.list(table).records
        )

    def freed(self, event: Event) -> Iterator[str]:
        """The classes of a claim or a volume."""
        if event.table in ("persistentvolumeclaims", "persistentvolumes") and event.previous is not None:
            yield from _classes_of(event.previous.object())


def _classes_of(obj: JsonObject) -> set[str]:
    status = obj.get("status") or {}
    found = {
        obj["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    }
    return {each for each in found if each}
