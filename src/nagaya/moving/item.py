"""An object that may move, with what its kind says of moving."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.api.definition import CLUSTERCTL_LABEL
from nagaya.api.kind import Kind
from nagaya.api.meta import ObjectMeta
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES
from nagaya.api.untyped import Untyped

MOVE: Final = f"{CLUSTERCTL_LABEL}/move"
"""A label of a kind or an object: it moves, whoever owns it."""
MOVE_HIERARCHY: Final = f"{CLUSTERCTL_LABEL}/move-hierarchy"
"""The same, with everything that it owns."""
SECRETS: Final = Kind("", "v1", "Secret", "secrets", Untyped)
CONFIG_MAPS: Final = Kind("", "v1", "ConfigMap", "configmaps", Untyped)

_ROOTS: Final = (
    ("cluster.x-k8s.io", "Cluster"),
    ("cluster.x-k8s.io", "ClusterClass"),
    ("addons.cluster.x-k8s.io", "ClusterResourceSet"),
    ("cluster.x-k8s.io", "MachineDrainRule"),
)


_RESERVATION: Final = (PROXMOX_VIRTUAL_MACHINES.group, PROXMOX_VIRTUAL_MACHINES.kind)
"""It moves with the cluster of its machine. clusterctl leaves it, so its definition has no label for that."""


@dataclass(frozen=True, slots=True)
class MovableKind:
    """A kind of the source."""

    kind: Kind[Untyped]
    labels: frozenset[str] = frozenset()
    """The labels of its definition."""


@dataclass(frozen=True, slots=True)
class Item:
    """One object."""

    of: MovableKind
    object: Untyped

    @property
    def kind(self) -> Kind[Untyped]:
        """Its kind, in the version that it was read in."""
        return self.of.kind

    @property
    def metadata(self) -> ObjectMeta:
        """Its metadata."""
        return self.object.metadata

    @property
    def uid(self) -> str:
        """Its uid at the source."""
        return self.object.metadata.uid

    @property
    def is_cluster(self) -> bool:
        """Whether it is a Cluster."""
        return (self.kind.group, self.kind.kind) == _ROOTS[0]

    @property
    def takes_along(self) -> bool:
        """Whether it moves by itself, with all that it owns."""
        return (self.kind.group, self.kind.kind) in _ROOTS or self._labelled(MOVE_HIERARCHY)

    @property
    def moves_alone(self) -> bool:
        """Whether it moves by itself, without what it owns."""
        return self._labelled(MOVE) or (self.kind.group, self.kind.kind) == _RESERVATION

    def _labelled(self, label: str) -> bool:
        return label in self.of.labels or label in self.metadata.labels

    def __str__(self) -> str:
        where = f"{self.metadata.namespace}/" if self.metadata.namespace else ""
        return f"{self.kind.kind} {where}{self.metadata.name}"


def movable_kinds(definitions: Mapping[str, Untyped]) -> Iterator[MovableKind]:
    """The kinds that a management API has for clusterctl to move, each in the version that is stored."""
    for definition in definitions.values():
        labels = definition.metadata.labels
        spec = definition.at("spec") or {}
        if CLUSTERCTL_LABEL not in labels:
            continue
        stored = next((each["name"] for each in spec.get("versions", ()) if each.get("storage")), None)
        if stored is None:
            continue
        names = spec["names"]
        kind = Kind(spec["group"], stored, names["kind"], names["plural"], Untyped, spec["scope"] == "Namespaced")
        yield MovableKind(kind, frozenset(labels))
