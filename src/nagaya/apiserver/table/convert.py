"""Makes Tables (meta.k8s.io) of objects."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.columns import TableShape

_GROUP: Final = "meta.k8s.io"
_INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


def table(
    shape: TableShape,
    objects: Sequence[JsonObject],
    list_meta: JsonObject,
    include_object: str,
    now: datetime,
    *,
    version: str = "v1",
    headers: bool = True,
) -> JsonObject:
    """A Table of objects of one kind. The objects are not copied: the rows share their parts.

    `include_object` is None, Metadata or Object (empty means Metadata). For a single object `list_meta` is empty, and
    its resourceVersion is taken. Without `headers` the columns are left out, as in all but the first event of a watch.
    """
    row, conditions = shape.row, shape.conditions
    if shape.arrange is not None:
        objects = shape.arrange(objects)
    rows: list[JsonObject] = []
    for obj in objects:
        made: JsonObject = {"cells": row(obj, now)}
        if conditions is not None and (found := conditions(obj)):
            made["conditions"] = found
        made["object"] = _included(obj, include_object, version)
        rows.append(made)
    return {
        "kind": "Table",
        "apiVersion": f"{_GROUP}/{version}",
        "metadata": {key: value for key, value in list_meta.items() if value != ""} or _single_meta(objects),
        "columnDefinitions": shape.definitions() if headers else None,
        "rows": rows if rows or shape.rows_when_empty else None,
    }


def _included(obj: JsonObject, include_object: str, version: str) -> Any:
    if include_object == "Object":
        return obj
    metadata: JsonObject = obj.get("metadata") or {}
    if include_object == "None" and (metadata.get("annotations") or {}).get(_INITIAL_EVENTS_END) != "true":
        return None
    return {"kind": "PartialObjectMetadata", "apiVersion": f"{_GROUP}/{version}", "metadata": metadata}


def _single_meta(objects: Sequence[JsonObject]) -> JsonObject:
    if len(objects) != 1:
        return {}
    resource_version = (objects[0].get("metadata") or {}).get("resourceVersion")
    return {"resourceVersion": resource_version} if resource_version else {}
