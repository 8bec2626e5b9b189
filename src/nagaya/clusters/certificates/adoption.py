"""Whom a Secret of a cluster belongs to, once there is a control plane that looks after it.

A Secret that a controller made, which its type tells, gets the control plane as the one owner that manages it, in place
of whoever was that before. A user's stays as it is, except that a reference to the same control plane is brought up to
date: after a move, its uid is another one.
"""

from __future__ import annotations

from nagaya.api.cluster.secrets import TYPE
from nagaya.api.meta import OwnerReference
from nagaya.clusters.owners import Owners, group, with_owner


def adopted(kind: str, owners: Owners, control_plane: OwnerReference) -> Owners:
    """The owners that a Secret of a type shall have; the very same if they are right."""
    manager = next((each for each in owners if each.controller), None)
    if manager is not None and _same(manager, control_plane):
        return with_owner(owners, control_plane)
    if kind != TYPE:
        return owners
    return with_owner(tuple(each for each in owners if each is not manager), control_plane)


def manages(control_plane: OwnerReference, owners: Owners) -> bool:
    """Whether a control plane is the owner that manages a Secret."""
    return any(each.controller and _same(each, control_plane) for each in owners)


def _same(one: OwnerReference, other: OwnerReference) -> bool:
    return (one.kind, one.name, group(one)) == (other.kind, other.name, group(other))
