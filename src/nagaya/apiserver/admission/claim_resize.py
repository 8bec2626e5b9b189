"""A claim grows only if what provided its volume can make it bigger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.meta import quantity
from nagaya.apiserver.meta.quantity import Quantity
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.storage import Store

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


class ClaimResize(Plugin):
    """Refuses to enlarge claims that cannot be."""

    resources = frozenset({"persistentvolumeclaims"})

    def __init__(self, store: Store) -> None:
        self._store = store

    async def validate(self, write: Attributes) -> None:
        """Check a claim that asks for more than before."""
        new, old = write.object, write.old
        if write.operation != "UPDATE" or write.subresource or new is None or old is None:
            return
        if not _size(old) < _size(new):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise write.forbidden("Only bound persistent volume claims can be expanded")
        if not self._can_grow(_class(new), _class(old)):
            raise write.forbidden(
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
                "support resize"
            )

    def _can_grow(self, name: str, before: str) -> bool:
        record = self._store.get("storage.k8s.io/storageclasses", name) if name and name == before else None
        return record is not None and bool(record.object().get("allowVolumeExpansion"))


def _size(claim: JsonObject) -> Quantity:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return quantity.parse(requests.get("storage") or "0")


def _class(claim: JsonObject) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    return annotations.get(_CLASS) or (claim.get("spec") or {}).get("storageClassName") or ""
