"""Laying the apply configuration of a mutating policy over an object.

Unlike server-side apply nobody comes to own anything. What can only be set as a whole (atomic lists, maps and structs)
is refused, because a policy that means to add to it would remove the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nagaya.apiserver.apply import validation
from nagaya.apiserver.apply.atoms import Atom, atom_of
from nagaya.apiserver.apply.merge import merge
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.types import Struct


class ApplyError(Exception):
    """A configuration that cannot be applied."""


def applied(obj: JsonObject, fields: JsonObject, struct: Struct) -> JsonObject:
    """The object with the fields laid over it. Shares what is unchanged. Raises ApplyError."""
    atom = atom_of(struct)
    config = {**fields, "apiVersion": obj.get("apiVersion"), "kind": obj.get("kind")}
    if not validation.fits(atom, config, duplicates=False):
        found = validation.message(validation.problems(atom, config))
        raise ApplyError(f"error applying patch: failed to convert patch object to typed object: {found}")
    if whole := list(_atomics(atom, config, "")):
        detail = f"may not mutate atomic arrays, maps or structs: {', '.join(whole)}"
        raise ApplyError(f"error applying patch: invalid ApplyConfiguration: {detail}")
    made: JsonObject = merge(atom, obj, config)
    return made


def _atomics(atom: Atom, value: Any, path: str) -> Iterator[str]:
    """Where a value would replace a whole."""
    if isinstance(value, dict) and atom.map is not None:
        if atom.map.atomic:
            yield path
        for key in sorted(value):
            inner = atom.map.fields.get(key, atom.map.element)
            if inner is not None:
                yield from _atomics(inner, value[key], f"{path}.{key}")
    elif isinstance(value, list) and atom.list is not None:
        if not atom.list.associative:
            yield path
        for position, item in enumerate(value):
            yield from _atomics(atom.list.element, item, f"{path}[{position}]")
