"""Claims and ingresses that name no class get the default one, the newest if several are marked so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.storage import Store

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

_STORAGE: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_INGRESS: Final = ("ingressclass.kubernetes.io/is-default-class",)


class DefaultStorageClass(Plugin):
    """Gives claims a storage class."""

    resources = frozenset({"persistentvolumeclaims"})

    def __init__(self, store: Store) -> None:
        self._store = store

    async def mutate(self, write: Attributes) -> None:
        """Name the default class in a new claim without one."""
        if write.operation != "CREATE" or write.subresource or write.object is None:
            return
        annotations = write.object["metadata"].get("annotations") or {}
        spec = write.object["spec"]
        if "volume.beta.kubernetes.io/storage-class" in annotations or spec.get("storageClassName") is not None:
            return
        if name := _default(self._store, "storage.k8s.io/storageclasses", _STORAGE):
            spec["storageClassName"] = name


class DefaultIngressClass(Plugin):
    """Gives ingresses a class."""

    resources = frozenset({"ingresses.networking.k8s.io"})

    def __init__(self, store: Store) -> None:
        self._store = store

    async def mutate(self, write: Attributes) -> None:
        """Name the default class in a new ingress without one."""
        if write.operation != "CREATE" or write.subresource or write.object is None:
            return
        annotations = write.object["metadata"].get("annotations") or {}
        spec = write.object["spec"]
        if "kubernetes.io/ingress.class" in annotations or spec.get("ingressClassName") is not None:
            return
        if name := _default(self._store, "networking.k8s.io/ingressclasses", _INGRESS):
            spec["ingressClassName"] = name


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
