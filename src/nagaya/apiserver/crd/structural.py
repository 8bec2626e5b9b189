"""Which schemas are structural: every value has one type at one place, whatever else is said about it.

Pruning, defaulting and merging need that. A schema's spine (properties, items, additionalProperties) says what there
is; inside `allOf`, `anyOf`, `oneOf` and `not` only values may be restricted, and only those that the spine knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final

from nagaya.apiserver.crd import patterns
from nagaya.apiserver.crd.schema import Schema, says_nothing
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, required
from nagaya.apiserver.schema.types import MISSING


class Level(Enum):
    """Where in the schema a node stands, in the words of the message about a missing type."""

    ROOT = "must not be empty at the root"
    ITEM = "must not be empty for specified array items"
    FIELD = "must not be empty for specified object fields"


def check(schema: Schema, path: Path) -> list[FieldError]:
    """Why a schema is not structural, sorted by message."""
    errors = [*_spine(schema, Level.ROOT, path), *_complete_junctions(schema, schema, path, path)]
    return sorted(errors, key=str)


def unsupported(schema: Schema) -> str:
    """The first thing in a schema that cannot be part of a structural schema at all, or nothing."""
    for node in schema.walk():
        for member in _NEVER_SUPPORTED:
            if node.has(member) or (member == "additionalItems" and node.raw.get(member) is not None):
                return (
                    f"OpenAPIV3Schema '{member.removeprefix('$') if member == '$schema' else member}' is not supported"
                )
        if node.preserve_unknown is False:
            return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
        if node.item_list:
            return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return ""


_NEVER_SUPPORTED: Final = (
    "id",
    "$schema",
    "$ref",
    "patternProperties",
    "dependencies",
    "additionalItems",
    "definitions",
)


def is_int_or_string(junction: list[Schema]) -> bool:
    """Whether an `anyOf` is the one that spells out `x-kubernetes-int-or-string`."""
    return (
        len(junction) == 2
        and [each.type for each in junction] == ["integer", "string"]
        and all(says_nothing(each.raw, frozenset({"type"})) for each in junction)
    )


def _spells_int_or_string_in_all_of(schema: Schema) -> bool:
    return bool(schema.all_of) and is_int_or_string(schema.all_of[0].any_of)


def _spine(schema: Schema, level: Level, path: Path) -> Iterator[FieldError]:
    if schema.type == "array" and schema.items is None:
        yield required(path.child("items"), "must be specified")
    if schema.items is not None:
        yield from _spine(schema.items, Level.ITEM, path.child("items"))
    for name, each in schema.properties.items():
        yield from _spine(each, Level.FIELD, path.child("properties").key(name))
    if schema.additional is not None:
        if level is Level.ROOT:
            yield forbidden(path.child("additionalProperties"), "must not be used at the root")
        if schema.values is not None:
            yield from _spine(schema.values, Level.FIELD, path.child("additionalProperties"))
    yield from _extensions(schema, path)
    yield from _values(
        schema,
        path,
        skip_any_of=is_int_or_string(schema.any_of),
        skip_first_all_of=_spells_int_or_string_in_all_of(schema),
    )
    yield from _type(schema, level, path)
    yield from _type_meta(schema, level, path)


def _extensions(schema: Schema, path: Path) -> Iterator[FieldError]:
    if not schema.int_or_string:
        return
    if schema.preserve_unknown:
        where = path.child("x-kubernetes-preserve-unknown-fields")
        yield invalid(where, True, "must be false if x-kubernetes-int-or-string is true")
    if schema.embedded:
        where = path.child("x-kubernetes-embedded-resource")
        yield invalid(where, True, "must be false if x-kubernetes-int-or-string is true")


def _type(schema: Schema, level: Level, path: Path) -> Iterator[FieldError]:
    where = path.child("type")
    if schema.embedded and schema.type != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(where, schema.type, detail) if schema.type else required(where, detail)
    elif not schema.type and not schema.int_or_string and not schema.preserve_unknown:
        yield required(where, level.value)
    if schema.embedded and schema.additional is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden(path.child("additionalProperties"), detail)
    if level is Level.ROOT and schema.type and schema.type != "object":
        yield invalid(where, schema.type, "must be object at the root")


def _type_meta(schema: Schema, level: Level, path: Path) -> Iterator[FieldError]:
    """A whole object has the metadata that every object has; little may be said about it."""
    whole = level is Level.ROOT or schema.embedded
    for name in ("kind", "apiVersion"):
        member = schema.properties.get(name)
        if whole and member is not None and member.type != "string":
            yield invalid(path.child("properties").key(name).child("type"), member.type, "must be string")
    metadata = schema.properties.get("metadata")
    if metadata is not None:
        where = path.child("properties").key("metadata")
        if whole and metadata.type != "object":
            yield invalid(where.child("type"), metadata.type, "must be object")
        if level is Level.ROOT and not _restricts_names_only(metadata):
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(where, detail)
    if schema.embedded and not schema.preserve_unknown and not schema.properties:
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        yield required(path.child("properties"), detail)


def _restricts_names_only(metadata: Schema) -> bool:
    ignored = {"type", "default"}
    if metadata.properties.keys() <= {"name", "generateName"}:
        ignored.add("properties")
    return says_nothing(metadata.raw, frozenset(ignored))


def _values(
    schema: Schema, path: Path, *, skip_any_of: bool = False, skip_first_all_of: bool = False
) -> Iterator[FieldError]:
    if not skip_any_of:
        for position, each in enumerate(schema.any_of):
            yield from _inside_junction(each, path.child("anyOf").index(position))
    for position, each in enumerate(schema.all_of):
        skip = skip_first_all_of and position == 0
        yield from _inside_junction(each, path.child("allOf").index(position), skip_any_of=skip)
    for position, each in enumerate(schema.one_of):
        yield from _inside_junction(each, path.child("oneOf").index(position))
    if schema.negated is not None:
        yield from _inside_junction(schema.negated, path.child("not"))
    if schema.pattern:
        try:
            patterns.compiled(schema.pattern)
        except ValueError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield invalid(path.child("pattern"), schema.pattern, detail)


def _inside_junction(schema: Schema, path: Path, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    yield from _values(schema, path, skip_any_of=skip_any_of)
    if schema.items is not None:
        yield from _inside_junction(schema.items, path.child("items"))
    for name, each in schema.properties.items():
        yield from _inside_junction(each, path.child("properties").key(name))
    for member, written, detail in (
        ("type", schema.type, "must be empty to be structural"),
        ("additionalProperties", schema.additional not in (None, False), "must be undefined to be structural"),
        ("default", schema.default is not MISSING, "must be undefined to be structural"),
        ("title", schema.has("title"), "must be empty to be structural"),
        ("description", schema.has("description"), "must be empty to be structural"),
        ("nullable", schema.nullable, "must be false to be structural"),
        ("x-kubernetes-preserve-unknown-fields", schema.preserve_unknown, "must be false to be structural"),
        ("x-kubernetes-embedded-resource", schema.embedded, "must be false to be structural"),
        ("x-kubernetes-int-or-string", schema.int_or_string, "must be false to be structural"),
        ("x-kubernetes-list-map-keys", schema.map_keys, "must be empty to be structural"),
        ("x-kubernetes-list-type", schema.list_type is not None, "must be undefined to be structural"),
        ("x-kubernetes-map-type", schema.map_type is not None, "must be undefined to be structural"),
        ("x-kubernetes-validations", schema.rules, "must be empty to be structural"),
    ):
        if written:
            yield forbidden(path.child(member), detail)
    if "metadata" in schema.properties:
        yield forbidden(path.child("properties").key("metadata"), "must not be specified in a nested context")


def _complete_junctions(junction: Schema, spine: Schema, spine_path: Path, path: Path) -> Iterator[FieldError]:
    """What is restricted inside junctions without being on the spine. The spine's own fields are not followed."""
    if junction.negated is not None:
        yield from _complete(junction.negated, spine, spine_path, path.child("not"))
    for name, schemas in (("allOf", junction.all_of), ("anyOf", junction.any_of), ("oneOf", junction.one_of)):
        for position, each in enumerate(schemas):
            yield from _complete(each, spine, spine_path, path.child(name).index(position))


def _complete(junction: Schema, spine: Schema, spine_path: Path, path: Path) -> Iterator[FieldError]:
    yield from _complete_junctions(junction, spine, spine_path, path)
    if junction.items is not None:
        where, here = spine_path.child("items"), path.child("items")
        if spine.items is None:
            yield required(where, f"because it is defined in {here}")
        else:
            yield from _complete(junction.items, spine.items, where, here)
    for name, each in junction.properties.items():
        where, here = spine_path.child("properties").key(name), path.child("properties").key(name)
        if (counterpart := spine.properties.get(name)) is None:
            yield required(where, f"because it is defined in {here}")
        else:
            yield from _complete(each, counterpart, where, here)
