"""Owner references: who goes with whom, and who manages what.

An owner is recognised by its group, kind and name. The version says only which client wrote the reference, and the uid
is another one after a move or a restore: such a reference is brought up to date, never doubled.
"""

from __future__ import annotations

from typing import Any

from nagaya.api.kind import Kind, Object
from nagaya.api.meta import OwnerReference

Owners = tuple[OwnerReference, ...]


def owner(kind: Kind[Any], obj: Object) -> OwnerReference:
    """An object as an owner: what it owns goes with it."""
    return OwnerReference(api_version=kind.api_version, kind=kind.kind, name=obj.metadata.name, uid=obj.metadata.uid)


def controller(kind: Kind[Any], obj: Object) -> OwnerReference:
    """An object as the one owner that manages what it owns."""
    return OwnerReference(
        api_version=kind.api_version,
        kind=kind.kind,
        name=obj.metadata.name,
        uid=obj.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


def with_owner(owners: Owners, wanted: OwnerReference) -> Owners:
    """The owners with one that may be there already; the very same if it is."""
    for index, each in enumerate(owners):
        if (each.kind, each.name, group(each)) != (wanted.kind, wanted.name, group(wanted)):
            continue
        same = (each.api_version, each.uid, bool(each.controller)) == (
            wanted.api_version,
            wanted.uid,
            bool(wanted.controller),
        )
        return owners if same else (*owners[:index], wanted, *owners[index + 1 :])
    return (*owners, wanted)


def is_a(reference: OwnerReference, kind: Kind[Any]) -> bool:
    """Whether an owner is of a kind."""
    return reference.kind == kind.kind and group(reference) == kind.group


def names(reference: OwnerReference, kind: Kind[Any], obj: Object) -> bool:
    """Whether an owner is this object, in this life or another."""
    return is_a(reference, kind) and reference.name == obj.metadata.name


def group(reference: OwnerReference) -> str:
    """The API group of an owner."""
    return reference.api_version.rpartition("/")[0]
