"""Whether an object has to be applied, and whether it may be. Pure.

An object carries a hash of what was applied, so that a field which is no longer wanted is noticed, too: what is there
then looks complete, and still has to be applied. And where somebody has changed a field of ours, it is applied again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from nagaya.api.meta import OwnerReference
from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.kubernetes.kinds import Content, Planned
from nagaya.controlplane.hosted.kubernetes.names import DOMAIN

APPLIED: Final = f"{DOMAIN}/applied"
"""On every object: a hash of what was applied. It tells nothing of a Secret, whose content has keys of random bits."""


def content_of(planned: Planned) -> Content:
    """What is applied: the object, with the hash of itself."""
    content = planned.content
    digest = hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()
    metadata = content["metadata"]
    annotations = {**metadata.get("annotations", {}), APPLIED: digest}
    return {**content, "metadata": {**metadata, "annotations": annotations}}


def is_current(content: Content, present: Untyped) -> bool:
    """Whether an object is as it shall be."""
    return _covers(present.raw, content)


def whole(present: Untyped) -> str:
    """A name for all that a user could have changed in an object: everything but what is told of it."""
    parts = {name: value for name, value in present.raw.items() if name not in ("metadata", "status")}
    parts |= {"labels": present.metadata.labels, "applied": present.metadata.annotations.get(APPLIED)}
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()


def stranger(present: Untyped, owner: OwnerReference) -> str:
    """Why an object must not be touched; empty if it is the tenant's."""
    called = f"{present.kind} {present.metadata.namespace}/{present.metadata.name}"
    manager = next((each for each in present.metadata.owner_references if each.controller), None)
    if manager is not None and manager.uid == owner.uid:
        return ""
    whose = "nobody's" if manager is None else f"{manager.kind} {manager.name}'s"
    if manager is not None and manager.name == owner.name and manager.kind == owner.kind:
        whose = "that of an earlier control plane of the same name, and is about to go"
    return (
        f"{called} exists already and is {whose}: it is left alone. Delete or rename it, or give the control plane "
        "another name."
    )


def _covers(present: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there. Lists must be equal in length: what is in addition was not asked for."""
    if isinstance(wanted, Mapping):
        return isinstance(present, Mapping) and all(_covers(present.get(name), each) for name, each in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(present, list | tuple) and len(present) == len(wanted) and all(map(_covers, present, wanted))
    if isinstance(wanted, bool) or isinstance(present, bool):
        return wanted is present
    return bool(present == wanted)
