"""A patch that gives an object other owners, whatever else happens to it at the same moment.

Owners are given to objects that another controller has just begun to work on, too: it adds its finalizer or tells its
first status meanwhile. A patch that insists on the whole object as it was read would be refused every other time; this
one insists on what it replaces alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from nagaya.api.meta import ObjectMeta, OwnerReference
from nagaya.kube.patches import JsonPatch

_OWNERS = "/metadata/ownerReferences"


def owner_change(
    before: ObjectMeta, owners: tuple[OwnerReference, ...], more: Mapping[str, Mapping[str, str | None]]
) -> JsonPatch:
    """The patch. `more` has the labels and annotations that change, under `labels` and `annotations`; None removes.

    The server answers Invalid if the object is another one by now, or its owners are others.
    """
    # A null stands for what is absent: an object has no owners that are null.
    read = msgspec.to_builtins(before.owner_references) or None
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": "/metadata/uid", "value": before.uid},
        {"op": "test", "path": _OWNERS, "value": read},
        {"op": "add", "path": _OWNERS, "value": msgspec.to_builtins(owners)},
    ]
    for name, changed in more.items():
        path = f"/metadata/{name}"
        if not getattr(before, name):
            operations.append({"op": "test", "path": path, "value": None})
            operations.append({"op": "add", "path": path, "value": {}})
        operations += [_member_change(path, member, value) for member, value in changed.items()]
    return JsonPatch(operations)


def _member_change(path: str, member: str, value: str | None) -> dict[str, Any]:
    where = f"{path}/{member.replace('~', '~0').replace('/', '~1')}"
    return {"op": "remove", "path": where} if value is None else {"op": "add", "path": where, "value": value}
