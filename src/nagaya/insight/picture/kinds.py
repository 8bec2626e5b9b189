"""Which kinds may have objects of a Cluster, whoever brought them: what the API's definitions say.

Providers are not known by name. A kind counts if its group is one of Cluster API's or if its definition carries the
labels of the contract; the version is the one that fulfils the contract, else the one that is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.api.contract.versions import PREFIX, NoContract, rank, served
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model
from nagaya.api.untyped import Untyped

GROUP: Final = "cluster.x-k8s.io"
SHARED: Final = frozenset(
    {"ClusterClass", "ClusterResourceSet", "DataStore", "ExtensionConfig", "GlobalInClusterIPPool", "InClusterIPPool",
     "IPAddressReservation", "MachineDrainRule", "Provider", "ProxmoxConnection"}
)  # fmt: skip
"""Kinds whose objects no single Cluster owns: looked at only if an object of the Cluster names one."""
_TEMPLATE: Final = "Template"


class Names(Model):
    """What a definition calls its kind."""

    kind: str
    plural: str
    singular: str = ""
    short_names: tuple[str, ...] = ()


class Version(Model):
    """A version that a definition has."""

    name: str
    served: bool = False
    storage: bool = False


class DefinitionSpec(Model):
    """The part of a definition that says where objects are."""

    group: str
    names: Names
    scope: str = "Namespaced"
    versions: tuple[Version, ...] = ()


class Definition(Resource):
    """A CustomResourceDefinition without its schemas."""

    spec: DefinitionSpec


DEFINITIONS: Final = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Definition, namespaced=False
)


@dataclass(frozen=True, slots=True)
class Found:
    """A kind that may have objects of a Cluster."""

    kind: Kind[Untyped]
    contract: str = ""
    shared: bool = False
    names: frozenset[str] = frozenset()
    """What people call it on a command line, in small letters: kind, singular, plural, short names."""

    def is_called(self, word: str) -> bool:
        """Whether a word means this kind: one of its names, with the group, or the version and the group, after it."""
        name, _, rest = word.lower().partition(".")
        group = self.kind.group
        return name in self.names and (not rest or rest in (group, f"{self.kind.version}.{group}"))


class Kinds:
    """Those of one management API, by group and name."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        found = filter(None, map(_found, definitions))
        self._kinds: Mapping[tuple[str, str], Found] = {
            (each.kind.group, each.kind.kind): each
            for each in sorted(found, key=lambda each: (each.kind.group, each.kind.kind))
        }

    def __iter__(self) -> Iterator[Found]:
        return iter(self._kinds.values())

    def get(self, group: str, kind: str) -> Found | None:
        """The kind of this name; None if nobody serves it."""
        return self._kinds.get((group, kind))

    @property
    def clusters(self) -> Kind[Untyped] | None:
        """The kind Cluster; None if Cluster API's definitions are not installed."""
        found = self.get(GROUP, "Cluster")
        return None if found is None else found.kind

    def called(self, word: str) -> tuple[Found, ...]:
        """Those that a word on a command line means, as kubectl takes it; Cluster API's own first."""
        found = [each for each in self if each.is_called(word)]
        return tuple(sorted(found, key=lambda each: each.kind.group != GROUP))

    def owned(self) -> tuple[Found, ...]:
        """Those whose objects belong to one Cluster each."""
        return tuple(each for each in self if not each.shared)


def _found(definition: Definition) -> Found | None:
    spec = definition.spec
    ours = spec.group == GROUP or spec.group.endswith(f".{GROUP}")
    if not ours and not any(label.startswith(PREFIX) for label in definition.metadata.labels):
        return None
    contract = ""
    try:
        contract, version = served(definition.metadata.name, definition.metadata.labels)
    except NoContract:
        usable = [each for each in spec.versions if each.served]
        if not usable:
            return None
        version = max(usable, key=lambda each: (each.storage, rank(each.name))).name
    names = spec.names
    kind = Kind(spec.group, version, names.kind, names.plural, Untyped, spec.scope == "Namespaced")
    called = frozenset(each.lower() for each in (names.kind, names.singular, names.plural, *names.short_names) if each)
    return Found(kind, contract, names.kind in SHARED or names.kind.endswith(_TEMPLATE), called)
