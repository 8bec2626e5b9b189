"""Managed fields after webhooks and policies: those that no longer make sense are put back as they were."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.apply import managed
from nagaya.apiserver.apply.managed import InvalidManagedFields
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_WARNING: Final = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests: "
)


def restored(obj: JsonObject, before: JsonObject, call: Call) -> JsonObject:
    """The object, with the managed fields it had before if those it has now cannot be read."""
    entries = (obj.get("metadata") or {}).get("managedFields") or []
    given = (before.get("metadata") or {}).get("managedFields") or []
    if entries == given:
        return obj
    try:
        managed.decode(entries)
    except InvalidManagedFields as problem:
        call.warn(f"{_WARNING}{problem}")
    else:
        return obj
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": {**metadata, "managedFields": given} if given else metadata}
