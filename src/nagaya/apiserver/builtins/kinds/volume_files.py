"""Files that a volume shows: keys of objects, and facts about the pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds.container_env import (
    FILE_FIELDS,
    validate_field_reference,
    validate_resource_reference,
)
from nagaya.apiserver.builtins.kinds.volume_paths import validate_unreserved
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, required
from nagaya.apiserver.meta.status import JsonObject

_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"


def validate_mode(mode: int | None, path: Path) -> Iterator[FieldError]:
    """The permissions of a file."""
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid(path, mode, _MODE)


def validate_keys(items: Sequence[JsonObject], path: Path) -> Iterator[FieldError]:
    """Keys of a ConfigMap or Secret and the files they become."""
    for position, item in enumerate(items):
        yield from validate_key(item, path.index(position))


def validate_key(item: JsonObject, path: Path) -> Iterator[FieldError]:
    """One of them."""
    if not item.get("key"):
        yield required(path.child("key"))
    file = item.get("path") or ""
    if not file:
        yield required(path.child("path"))
    yield from validate_unreserved(file, path.child("path"))
    yield from validate_mode(item.get("mode"), path.child("mode"))


def validate_files(items: Sequence[JsonObject], path: Path) -> Iterator[FieldError]:
    """Facts about the pod and the files they become."""
    for item in items:
        yield from validate_file(item, path)


def validate_file(item: JsonObject, path: Path) -> Iterator[FieldError]:
    """One of them."""
    file = item.get("path") or ""
    if not file:
        yield required(path.child("path"))
    yield from validate_unreserved(file, path.child("path"))
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        yield from validate_field_reference(field, FILE_FIELDS, path.child("fieldRef"))
        if resource is not None:
            yield invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif resource is not None:
        yield from validate_resource_reference(resource, path.child("resourceFieldRef"), in_file=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from validate_mode(item.get("mode"), path.child("mode"))
