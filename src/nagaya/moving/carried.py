"""An object as the other API gets it: without what the source's server gave it, its owners as they are there. Pure.

What it was at the source is written down in an annotation, so that a move that is done again knows its own work, and
never takes somebody else's object of the same name for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nagaya.moving.annotations import MOVED_FROM
from nagaya.moving.item import Item

_SERVERS_OWN: Final = frozenset(
    {"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
     "managedFields", "selfLink"}
)  # fmt: skip


def carried(item: Item, uids: Mapping[str, str]) -> dict[str, Any]:
    """What is sent to the target. `uids` has what owners are called there, by their uids at the source."""
    content = {name: value for name, value in item.object.raw.items() if name != "status"}
    metadata = {name: value for name, value in content.get("metadata", {}).items() if name not in _SERVERS_OWN}
    references = [
        {**each, "uid": uids[each["uid"]]} for each in metadata.pop("ownerReferences", ()) if each.get("uid") in uids
    ]
    if references:
        metadata["ownerReferences"] = references
    metadata["annotations"] = {**(metadata.get("annotations") or {}), MOVED_FROM: item.uid}
    return {**content, "metadata": metadata}
