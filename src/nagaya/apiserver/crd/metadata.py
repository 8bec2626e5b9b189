"""Metadata as the real server reads it: into a fixed structure, strictly by type, dropping what the structure does not
have.

That holds for an object's own metadata and for that of every object embedded in it, whatever the schema says. `read`
gives the metadata back unchanged when there is nothing to correct, which is nearly always; otherwise a corrected copy.
Values of a wrong type are an error in the words of Go's JSON decoder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from nagaya.apiserver.crd import timestamps
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.status import JsonObject


class MalformedMetadataError(ValueError):
    """Metadata that cannot be read at all."""


class Metadata(NamedTuple):
    """What was read, and the paths below the metadata that are unknown."""

    value: JsonObject
    unknown: list[str]


def read(metadata: Any, *, drop_malformed: bool = False) -> Metadata:
    """Read metadata. Never changes its argument.

    Raises MalformedMetadataError if a value has a wrong type, unless malformed members are to be dropped.
    """
    if metadata is None:
        return Metadata({}, [])
    if type(metadata) is not dict:
        raise MalformedMetadataError(_mismatch(metadata, "", "", "v1.ObjectMeta"))
    if all((plain := _PLAIN.get(name)) is not None and plain(value) for name, value in metadata.items()):
        return Metadata(metadata, [])
    decoder = _Decoder(drop_malformed)
    value = decoder.struct(metadata, _OBJECT_META, "", "")
    if decoder.problem:
        raise MalformedMetadataError(decoder.problem)
    return Metadata(value, sorted(decoder.unknown))


def _is_text(value: Any) -> bool:
    return type(value) is str and value != ""


def _is_number(value: Any) -> bool:
    return type(value) is int and value != 0


def _is_text_map(value: Any) -> bool:
    return type(value) is dict and bool(value) and all(type(each) is str for each in value.values())


def _is_text_list(value: Any) -> bool:
    return type(value) is list and bool(value) and all(type(each) is str for each in value)


_MOMENT_LENGTH: Final = len("2006-01-02T15:04:05Z")
_UTC_SECONDS: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


def _is_moment(value: Any) -> bool:
    return type(value) is str and len(value) == _MOMENT_LENGTH and _is_utc_moment(value)


@lru_cache(maxsize=4096)
def _is_utc_moment(text: str) -> bool:
    """The same moments come with every write to an object, and many objects are written at one moment."""
    return _UTC_SECONDS.fullmatch(text) is not None and timestamps.problem(text) == ""


def _is_owner_list(value: Any) -> bool:
    return type(value) is list and bool(value) and all(_is_owner(each) for each in value)


def _is_owner(value: Any) -> bool:
    return (
        type(value) is dict
        and all(type(value.get(name)) is str for name in ("apiVersion", "kind", "name", "uid"))
        and all(type(value[name]) is bool for name in value.keys() - _OWNER_NAMES)
        and value.keys() <= _OWNER_REFERENCE.keys()
    )


def _is_manager_list(value: Any) -> bool:
    return type(value) is list and bool(value) and all(_is_manager(each) for each in value)


def _is_manager(value: Any) -> bool:
    if type(value) is not dict or not value:
        return False
    for name, each in value.items():
        plain = _PLAIN_MANAGER.get(name)
        if plain is None or not plain(each):
            return False
    return True


# Values that stay as they are when they are read and written again.
_PLAIN: Final[dict[str, Callable[[Any], bool]]] = {
    "name": _is_text,
    "generateName": _is_text,
    "namespace": _is_text,
    "selfLink": _is_text,
    "uid": _is_text,
    "resourceVersion": _is_text,
    "generation": _is_number,
    "creationTimestamp": _is_moment,
    "deletionTimestamp": _is_moment,
    "deletionGracePeriodSeconds": lambda value: type(value) is int,
    "labels": _is_text_map,
    "annotations": _is_text_map,
    "ownerReferences": _is_owner_list,
    "finalizers": _is_text_list,
    "managedFields": _is_manager_list,
}
_PLAIN_MANAGER: Final[dict[str, Callable[[Any], bool]]] = {
    "manager": _is_text,
    "operation": _is_text,
    "apiVersion": _is_text,
    "time": _is_moment,
    "fieldsType": _is_text,
    "fieldsV1": lambda value: type(value) is dict and bool(value),
    "subresource": _is_text,
}


class _Type(NamedTuple):
    """A Go type: its kind here, its name in messages, what it holds, and whether its zero value is written."""

    kind: str
    name: str
    element: _Type | None = None
    fields: dict[str, _Type] | None = None
    pointer: bool = False
    kept: bool = False


_STRING: Final = _Type("string", "string")
_MEMBER: Final = _Type("string", "string", kept=True)
_TIME: Final = _Type("time", "string")
_TIME_POINTER: Final = _Type("time", "string", pointer=True)
_BOOL_POINTER: Final = _Type("bool", "bool", pointer=True)
_STRING_MAP: Final = _Type("map", "map[string]string", element=_STRING)

_OWNER_NAMES: Final = frozenset({"apiVersion", "kind", "name", "uid"})
_OWNER_REFERENCE: Final[dict[str, _Type]] = {
    "apiVersion": _MEMBER,
    "kind": _MEMBER,
    "name": _MEMBER,
    "uid": _Type("string", "types.UID", kept=True),
    "controller": _BOOL_POINTER,
    "blockOwnerDeletion": _BOOL_POINTER,
}
_MANAGED_FIELDS: Final[dict[str, _Type]] = {
    "manager": _STRING,
    "operation": _Type("string", "v1.ManagedFieldsOperationType"),
    "apiVersion": _STRING,
    "time": _TIME_POINTER,
    "fieldsType": _STRING,
    "fieldsV1": _Type("raw", "v1.FieldsV1", pointer=True),
    "subresource": _STRING,
}
_OBJECT_META: Final = _Type(
    "struct",
    "ObjectMeta",
    fields={
        "name": _STRING,
        "generateName": _STRING,
        "namespace": _STRING,
        "selfLink": _STRING,
        "uid": _Type("string", "types.UID"),
        "resourceVersion": _STRING,
        "generation": _Type("int", "int64"),
        "creationTimestamp": _TIME,
        "deletionTimestamp": _TIME_POINTER,
        "deletionGracePeriodSeconds": _Type("int", "int64", pointer=True),
        "labels": _STRING_MAP,
        "annotations": _STRING_MAP,
        "ownerReferences": _Type(
            "list", "[]v1.OwnerReference", element=_Type("struct", "OwnerReference", fields=_OWNER_REFERENCE)
        ),
        "finalizers": _Type("list", "[]string", element=_STRING),
        "managedFields": _Type(
            "list", "[]v1.ManagedFieldsEntry", element=_Type("struct", "ManagedFieldsEntry", fields=_MANAGED_FIELDS)
        ),
    },
)
_JSON_NAMES: Final = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}
_PYTHON_TYPES: Final = {"string": str, "bool": bool, "map": dict, "list": list, "struct": dict}
_ZEROES: Final[dict[str, Any]] = {"string": "", "int": 0, "bool": False}


class _Decoder:
    """Reads into the structure. The first problem counts; reading goes on to find unknown fields."""

    def __init__(self, drop_malformed: bool) -> None:
        self.problem = ""
        self.unknown: list[str] = []
        self._drop_malformed = drop_malformed

    def struct(self, value: JsonObject, type_: _Type, path: str, stack: str) -> JsonObject:
        fields = type_.fields or {}
        result: JsonObject = {name: "" for name, each in fields.items() if each.kept}
        for name in sorted(value):
            field = fields.get(name)
            place = f"{path}.{name}" if path else name
            if field is None:
                self.unknown.append(place)
                continue
            before = self.problem
            read = self.value(value[name], field, place, type_.name, f"{stack}.{name}" if stack else name)
            if self._drop_malformed and not stack and self.problem:
                self.problem = before
                continue
            if field.kept or (read is not None if field.pointer else bool(read)):
                result[name] = read
        return result

    def value(self, value: Any, type_: _Type, path: str, owner: str, stack: str) -> Any:
        if value is None:
            return None if type_.pointer else _ZEROES.get(type_.kind)
        if type_.kind == "raw":
            return value
        if type_.kind == "time":
            return self._time(value, owner, stack)
        if type_.kind == "int" and type(value) in (int, float):
            return self._integer(value, type_, owner, stack)
        if type(value) is not _PYTHON_TYPES.get(type_.kind):
            self._fail(_mismatch(value, owner, stack, type_.name))
            return _ZEROES.get(type_.kind)
        return self._whole(value, type_, path, owner, stack)

    def _whole(self, value: Any, type_: _Type, path: str, owner: str, stack: str) -> Any:
        if type_.kind == "struct":
            return self.struct(value, type_, path, stack)
        element = type_.element
        if element is None:
            return value
        if type_.kind == "map":
            return {name: self.value(value[name], element, path, owner, stack) for name in sorted(value)}
        return [
            self.value({} if each is None and element.fields else each, element, f"{path}[{position}]", owner, stack)
            for position, each in enumerate(value)
        ]

    def _integer(self, value: float, type_: _Type, owner: str, stack: str) -> int:
        if math.isfinite(value) and value == int(value) and -(2**63) <= value < 2**63:
            return int(value)
        literal = (
            f"{value:.0f}"
            if math.isfinite(value) and value == int(value) and abs(value) < 1e21
            else gostring.json(value)
        )
        self._fail(_mismatch(value, owner, stack, type_.name, shown=f"number {literal}"))
        return 0

    def _time(self, value: Any, owner: str, stack: str) -> str:
        if not isinstance(value, str):
            self._fail(_mismatch(value, owner, stack, "string"))
            return ""
        problem = timestamps.problem(value)
        if problem:
            self._fail(problem)
            return ""
        return timestamps.in_utc(value)

    def _fail(self, problem: str) -> None:
        self.problem = self.problem or problem


def _mismatch(value: Any, owner: str, stack: str, type_name: str, shown: str = "") -> str:
    found = shown or _JSON_NAMES.get(type(value), "value")
    if not stack:
        return f"json: cannot unmarshal {found} into Go value of type {type_name}"
    return f"json: cannot unmarshal {found} into Go struct field {owner}.{stack} of type {type_name}"
