"""Whom a simulated object belongs to. The core sets itself as the owner; before that nothing is done."""

from __future__ import annotations

from typing import Any, TypeVar

from nagaya.api.cluster.reference import ContractReference
from nagaya.api.kind import Kind, Object
from nagaya.clusters.owners import is_a
from nagaya.kube.cache.cache import Cache
from nagaya.kube.key import Key

T = TypeVar("T", bound=Object)


def owner_of(cache: Cache, obj: Object, kind: Kind[T]) -> T | None:
    """The owner of a kind, if it is there and is the very object that the reference means."""
    for reference in obj.metadata.owner_references:
        if is_a(reference, kind):
            found = cache.get(kind, Key(obj.metadata.namespace, reference.name))
            if found is not None and found.metadata.uid == reference.uid:
                return found
    return None


def refers_to(reference: ContractReference | None, kind: Kind[Any]) -> bool:
    """Whether a reference of the contract is to an object of a kind."""
    return reference is not None and (reference.api_group, reference.kind) == (kind.group, kind.kind)
