"""Kinds that Nagaya learns of at run time: those of providers, found by the labels of their CRDs.

A reference names a group and a kind, never a version. Which version is spoken is decided here, once, from what is
installed at the moment; a provider that is upgraded is spoken to in its new version from then on.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from nagaya.api.contract.versions import served
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model
from nagaya.api.untyped import Untyped
from nagaya.kube.cache.cache import Cache

NAMESPACED: Final = "Namespaced"
_BY_KIND: Final = "group and kind"


class Names(Model):
    """What a CRD calls its kind."""

    kind: str
    plural: str


class DefinitionSpec(Model):
    """The part of a CRD that says where its objects are served."""

    group: str
    names: Names
    scope: str = NAMESPACED


class Definition(Resource):
    """A CustomResourceDefinition without its schemas, which would fill the cache."""

    spec: DefinitionSpec


DEFINITIONS: Final = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Definition, namespaced=False
)


class Resolved(NamedTuple):
    """A provider's kind, and the contract that it fulfils."""

    kind: Kind[Untyped]
    contract: str


class NotInstalled(LookupError):
    """A kind that no provider serves in namespaces."""


class ContractKinds:
    """Answers which kind a reference means."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._resolved: dict[str, tuple[Definition, Resolved]] = {}
        """What was made of each definition. It holds for that very object, and no longer."""
        cache.start(DEFINITIONS)
        cache.add_index(DEFINITIONS, _BY_KIND, lambda each: (f"{each.spec.names.kind}.{each.spec.group}",))

    def resolve(self, group: str, kind: str) -> Resolved:
        """The namespaced kind as it is served now. Raises NotInstalled or NoContract, which say what to do."""
        full_name = f"{kind}.{group}"
        found = self._cache.by(DEFINITIONS, _BY_KIND, full_name)
        if not found:
            self._resolved.pop(full_name, None)
            raise NotInstalled(
                f"Nobody serves the kind {kind} of {group}: no CustomResourceDefinition has it. "
                f"Install the provider that brings it, or correct the reference."
            )
        definition = found[0]
        if definition.spec.scope != NAMESPACED:
            # A reference must not lead out of its namespace: controllers adopt, change and delete the object.
            raise NotInstalled(
                f"{kind} of {group} is a cluster-scoped kind, and a reference means an object of its own namespace. "
                "Name a kind of the provider's that is namespaced."
            )
        known = self._resolved.get(full_name)
        if known is not None and known[0] is definition:
            return known[1]
        contract, version = served(definition.metadata.name, definition.metadata.labels)
        names = definition.spec.names
        resolved = Resolved(Kind(group, version, names.kind, names.plural, Untyped), contract)
        self._resolved[full_name] = (definition, resolved)
        return resolved
