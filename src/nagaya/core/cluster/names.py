"""Names of many objects in one line, as Cluster API writes them."""

from __future__ import annotations

from collections.abc import Iterable

from nagaya.api.kind import Object


def listed(objects: Iterable[Object], shown: int) -> str:
    """The first names in their order, and how many more there are."""
    names = sorted(each.metadata.name for each in objects)
    rest = len(names) - shown
    return ", ".join([*names[:shown], f"... ({rest} more)"] if rest > 0 else names)
