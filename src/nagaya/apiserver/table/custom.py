"""Tables of custom resources: the columns that a CustomResourceDefinition declares."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from nagaya.apiserver.meta import durations, gostring, govalue
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, required
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.types import MISSING
from nagaya.apiserver.table.columns import AGE, NAME, Cells, Column, TableShape
from nagaya.apiserver.table.convert import table
from nagaya.apiserver.table.jsonpath import JsonPathError, Lookup, compile_path

_log = logging.getLogger(__name__)

Cell = Callable[[JsonObject, datetime], Any]

_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_AGE: Final[JsonObject] = {
    "name": AGE.name,
    "type": "date",
    "description": AGE.description,
    "jsonPath": ".metadata.creationTimestamp",
}


class CustomTable:
    """The table of one version of a custom resource, compiled once from its `additionalPrinterColumns`."""

    __slots__ = ("shape",)

    def __init__(self, declared: Sequence[JsonObject] | None) -> None:
        self.shape = custom_shape(declared)

    def table(
        self,
        objects: Sequence[JsonObject],
        list_meta: JsonObject,
        include_object: str,
        now: datetime,
        *,
        version: str = "v1",
        headers: bool = True,
    ) -> JsonObject:
        """A Table of custom resources; see `convert.table`."""
        return table(self.shape, objects, list_meta, include_object, now, version=version, headers=headers)


def custom_shape(declared: Sequence[JsonObject] | None) -> TableShape:
    """The columns that are declared. They end before the first one whose path cannot be read; none means an age."""
    columns = [NAME]
    cells: list[Cell] = []
    for each in declared or (_AGE,):
        path = each.get("jsonPath") or ""
        try:
            lookup = compile_path(path)
        except JsonPathError as error:
            _log.warning("the printer column %s and those after it are left out: %s", gostring.quote(path), error)
            break
        description = each.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
        kind = each.get("type") or ""
        columns.append(
            Column(each.get("name") or "", description, kind, each.get("format") or "", each.get("priority") or 0)
        )
        cells.append(_cell(kind, lookup))

    def row(obj: JsonObject, now: datetime) -> Cells:
        return [(obj.get("metadata") or {}).get("name") or "", *[cell(obj, now) for cell in cells]]

    return TableShape(tuple(columns), row)


def scale_table(scale: JsonObject) -> CustomTable:
    """The table of a custom resource's scale subresource, as far as its paths are declared."""
    declared: list[JsonObject] = []
    if scale.get("specReplicasPath"):
        description = "Number of desired replicas"
        declared.append(
            {"name": "Desired", "type": "integer", "description": description, "jsonPath": ".spec.replicas"}
        )
    if scale.get("statusReplicasPath"):
        description = "Number of actual replicas"
        declared.append(
            {"name": "Available", "type": "integer", "description": description, "jsonPath": ".status.replicas"}
        )
    return CustomTable([*declared, _AGE])


def _cell(kind: str, lookup: Lookup) -> Cell:
    match kind:
        case "string":
            return lambda obj, now: _text(lookup(obj))
        case "integer":
            return lambda obj, now: _integer(lookup(obj))
        case "number":
            return lambda obj, now: _number(lookup(obj))
        case "boolean":
            return lambda obj, now: value if isinstance(value := lookup(obj), bool) else None
        case "date":
            return lambda obj, now: _age(lookup(obj), now)
    return lambda obj, now: None


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if value is MISSING:
        return None
    if value is None:
        return "<no value>"
    return govalue.compact_json(value) if isinstance(value, (dict, list)) else govalue.plain(value)


def _integer(value: Any) -> int | None:
    if type(value) is not int and type(value) is not float:
        return None
    # What 64 bits cannot hold turns into the smallest number that they can.
    return int(value) if -(2**63) <= value < 2**63 else -(2**63)


def _number(value: Any) -> float | None:
    if type(value) is not int and type(value) is not float:
        return None
    # JSON has one sort of number; Go writes whole ones without a fraction.
    return int(value) if abs(value) < 2**63 and value == int(value) else value


def _age(value: Any, now: datetime) -> str | None:
    if not isinstance(value, str):
        return None
    return durations.since("" if value == "null" else value, now)


def validate_column(column: JsonObject, path: Path) -> list[FieldError]:
    """What is wrong with a declared column."""
    errors: list[FieldError] = []
    if not column.get("name"):
        errors.append(required(path.child("name")))
    kind, form, jsonpath = column.get("type") or "", column.get("format") or "", column.get("jsonPath") or ""
    if not kind:
        errors.append(required(path.child("type"), f"must be one of {','.join(_TYPES)}"))
    elif kind not in _TYPES:
        errors.append(invalid(path.child("type"), kind, f"must be one of {','.join(_TYPES)}"))
    if form and form not in _FORMATS:
        errors.append(invalid(path.child("format"), form, f"must be one of {','.join(_FORMATS)}"))
    if not jsonpath:
        errors.append(required(path.child("JSONPath")))
    elif not jsonpath.startswith("."):
        errors.append(invalid(path.child("JSONPath"), jsonpath, "must be a simple json path starting with ."))
    return errors
