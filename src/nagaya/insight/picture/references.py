"""Which other objects an object names: the references of the contract, and those of Nagaya's own kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.insight.picture.member import Member

_PROXMOX: Final = ("infrastructure.cluster.x-k8s.io", "ProxmoxConnection")
_DATA_STORE: Final = ("controlplane.cluster.x-k8s.io", "DataStore")
_PATHS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "Cluster": (("spec", "infrastructureRef"), ("spec", "controlPlaneRef")),
    "Machine": (("spec", "infrastructureRef"), ("spec", "bootstrap", "configRef")),
    "MachinePool": (
        ("spec", "template", "spec", "infrastructureRef"),
        ("spec", "template", "spec", "bootstrap", "configRef"),
    ),
    "IPAddressClaim": (("spec", "poolRef"),),
    "IPAddress": (("spec", "poolRef"),),
}
"""Paths of references by the kind that has them."""


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """An object that is named: in the namespace of whoever names it, or in none."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def references(member: Member) -> Iterator[tuple[tuple[str, ...], Reference]]:
    """What an object names, each with the path where it does."""
    for path in _PATHS.get(member.kind, ()):
        found = reference_at(member, *path)
        if found is not None:
            yield path, found
    if member.kind == "ProxmoxCluster" and (name := member.text("spec", "connectionRef", "name")):
        yield ("spec", "connectionRef"), Reference(*_PROXMOX, member.namespace, name)
    if member.kind == "HostedControlPlane" and (name := member.text("spec", "dataStoreRef", "name")):
        yield ("spec", "dataStoreRef"), Reference(*_DATA_STORE, "", name)


def reference_at(member: Member, *path: str) -> Reference | None:
    """The reference at a path: by apiGroup as today, or by apiVersion as in earlier versions."""
    kind, name = member.text(*path, "kind"), member.text(*path, "name")
    if not kind or not name:
        return None
    group = member.text(*path, "apiGroup") or member.text(*path, "apiVersion").rpartition("/")[0]
    return Reference(group, kind, member.namespace, name)
