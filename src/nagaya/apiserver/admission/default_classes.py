"""Claims and ingresses that name no class get the default one, the newest if several are marked so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.storage import Store

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes


class _DefaultClass(Plugin):
    """Names the default class in a new object without one."""

    table: str
    marks: tuple[str, ...]
    field: str
    older: str  # the annotation that named the class before there was a field

    def __init__(self, store: Store) -> None:
        self._store = store

    async def mutate(self, write: Attributes) -> None:
        """Name it."""
        if write.operation != "CREATE" or write.subresource or write.object is None:
            return
        annotations = write.object["metadata"].get("annotations") or {}
        spec = write.object["spec"]
        if self.older in annotations or spec.get(self.field) is not None:
            return
        if name := _default(self._store, self.table, self.marks):
            spec[self.field] = name


class DefaultStorageClass(_DefaultClass):
    """Gives claims a storage class."""

    resources = frozenset({"persistentvolumeclaims"})
    table = "storage.k8s.io/storageclasses"
    marks = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
    field = "storageClassName"
    older = "volume.beta.kubernetes.io/storage-class"


class DefaultIngressClass(_DefaultClass):
    """Gives ingresses a class."""

    resources = frozenset({"ingresses.networking.k8s.io"})
    table = "networking.k8s.io/ingressclasses"
    marks = ("ingressclass.kubernetes.io/is-default-class",)
    field = "ingressClassName"
    older = "kubernetes.io/ingress.class"


def _default(store: Store, table: str, marks: Sequence[str]) -> str:
    """The name of the default class; nothing if there is none."""
    found: list[tuple[str, str]] = []
    for record in store.list(table).records:
        if b"is-default-class" not in record.value:
            continue
        metadata = record.object()["metadata"]
        annotations = metadata.get("annotations") or {}
        if any(annotations.get(mark) == "true" for mark in marks):
            found.append((metadata["creationTimestamp"], metadata["name"]))
    newest = max((created for created, _ in found), default="")
    return min((name for created, name in found if created == newest), default="")
