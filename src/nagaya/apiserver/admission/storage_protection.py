"""Volumes and claims do not go while they are used: a finalizer holds them until a controller takes it off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission.chain import Plugin

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

_FINALIZERS: Final = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
}


class StorageProtection(Plugin):
    """Adds the finalizers."""

    resources = frozenset(_FINALIZERS)

    async def mutate(self, write: Attributes) -> None:
        """Add the finalizer to a new object."""
        if write.operation != "CREATE" or write.subresource or write.object is None:
            return
        finalizer = _FINALIZERS[str(write.resource.group_resource)]
        metadata = write.object["metadata"]
        present = metadata.get("finalizers") or []
        if finalizer not in present:
            metadata["finalizers"] = [*present, finalizer]
