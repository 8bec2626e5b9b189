"""Who owns the number of replicas when it is written through the scale subresource.

A Scale is an object of its own with managed fields of its own. On the way in, the records of the parent that hold its
replicas field become records of the Scale's; on the way out, whoever lost the field there loses it in the parent, and
whoever gained it gets a record in the parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.apply import fieldset, managed
from nagaya.apiserver.apply.fieldset import FieldSet
from nagaya.apiserver.apply.managed import InvalidManagedFields, Managed, Owned, replaced
from nagaya.apiserver.meta.status import ApiError, JsonObject

_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final = fieldset.of(["spec", "replicas"])
_REPLICAS_PATH: Final = ("f:spec", "f:replicas")

ReplicasPaths = Mapping[str, tuple[str, ...] | None]
"""Where the parent has its replicas, by apiVersion; None for a version without a scale subresource."""


def to_subresource(entries: list[JsonObject], paths: ReplicasPaths) -> list[JsonObject]:
    """The managed fields of the Scale of an object with these. Raises ApiError if they cannot be read."""
    result: Managed = {}
    for manager, owned in _decoded(entries).items():
        path = paths.get(owned.api_version)
        if path is not None and fieldset.has(owned.fields, _elements(path)):
            result[manager] = Owned(_REPLICAS, _VERSION, owned.time)
    return managed.encode(result)


def to_parent(
    entries: list[JsonObject], scale_entries: list[JsonObject], api_version: str, paths: ReplicasPaths
) -> list[JsonObject]:
    """The managed fields of an object that had `entries` after its Scale was written and now has `scale_entries`.

    `api_version` is the version that the request was made in. Raises ApiError if they cannot be read.
    """
    parent, scale = _decoded(entries), _decoded(scale_entries)
    result: Managed = {}
    for manager, owned in parent.items():
        if owned.api_version not in paths:
            continue
        path = paths[owned.api_version]
        if path is None or not fieldset.has(owned.fields, _elements(path)):
            result[manager] = owned
        elif manager in scale:
            result[manager] = owned
            del scale[manager]
        elif rest := fieldset.difference(owned.fields, _set(path)):
            result[manager] = replaced(owned, rest)
    path = paths.get(api_version)
    for manager, owned in scale.items():
        if path is not None and fieldset.has(owned.fields, _REPLICAS_PATH):
            earlier = parent.get(manager)
            result[manager] = Owned(_set(path), api_version, earlier.time if earlier is not None else None)
    return managed.encode(result)


def _elements(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"f:{name}" for name in path)


def _set(path: tuple[str, ...]) -> FieldSet:
    return fieldset.of(path)


def _decoded(entries: list[JsonObject]) -> Managed:
    try:
        return managed.decode(entries)
    except InvalidManagedFields as error:
        raise ApiError(500, "", str(error)) from error
