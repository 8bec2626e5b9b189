"""An object as the other API gets it: without what the source's server gave it, its owners as they are there. Pure.

A hosted control plane is told which tenant it goes on with. What an object was at the source is written down in an
annotation, so that a move that is done again knows its own work, and never takes somebody else's object of the same
name for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nagaya.controlplane.hosted.control_plane.names import HOME
from nagaya.moving.annotations import MOVED_FROM
from nagaya.moving.hosted import identity, is_control_plane
from nagaya.moving.item import Item

_SERVERS_OWN: Final = frozenset(
    {"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
     "managedFields", "selfLink"}
)  # fmt: skip


def carried(item: Item, uids: Mapping[str, str], home: str = "") -> dict[str, Any]:
    """What is sent to the target. `uids` has what owners are called there, by their uids at the source; `home` is where
    programs of hosted control planes are, if that is known."""
    content = {name: value for name, value in item.object.raw.items() if name != "status"}
    metadata = {name: value for name, value in content.get("metadata", {}).items() if name not in _SERVERS_OWN}
    references = [
        {**each, "uid": uids[each["uid"]]} for each in metadata.pop("ownerReferences", ()) if each.get("uid") in uids
    ]
    if references:
        metadata["ownerReferences"] = references
    metadata["annotations"] = {**(metadata.get("annotations") or {}), MOVED_FROM: item.uid}
    if home and is_control_plane(item):
        metadata["annotations"][HOME] = home
    if goes_on_with := identity(item):
        content["spec"] = {**content.get("spec", {}), **goes_on_with}
    return {**content, "metadata": metadata}
