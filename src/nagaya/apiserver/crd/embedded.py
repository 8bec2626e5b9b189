"""Whole objects inside custom resources (`x-kubernetes-embedded-resource`): what every object has, they have too.

Reading makes their metadata canonical, as it does for the object itself; validation checks names, labels and the like.
Schemas without embedded resources compile to None and cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nagaya.apiserver.crd import metadata
from nagaya.apiserver.crd.schema import Schema
from nagaya.apiserver.meta import names, object_meta
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, required
from nagaya.apiserver.meta.gvk import GroupVersion
from nagaya.apiserver.meta.status import JsonObject

Coerce = Callable[[Any, Path, "Reading"], Any]
Validate = Callable[[Any, Path], list[FieldError]]


class MalformedResourceError(ValueError):
    """An embedded object whose kind, apiVersion or metadata cannot be read."""

    def __init__(self, finding: FieldError) -> None:
        super().__init__(str(finding))
        self.finding = finding


class Reading:
    """How embedded objects are to be read, and the unknown fields found in their metadata."""

    __slots__ = ("drop_malformed", "unknown")

    def __init__(self, *, drop_malformed: bool = False) -> None:
        self.drop_malformed = drop_malformed
        self.unknown: list[str] = []


def compile_coercion(schema: Schema) -> Coerce | None:
    """A function that makes the metadata of every embedded object canonical. It never changes its argument."""
    members = {name: each for name, part in schema.properties.items() if (each := compile_coercion(part)) is not None}
    entries = compile_coercion(schema.values) if schema.values is not None else None
    items = compile_coercion(schema.items) if schema.items is not None else None
    embedded = schema.embedded
    if not members and entries is None and items is None and not embedded:
        return None
    known = frozenset(schema.properties)

    def coerce(value: Any, path: Path, reading: Reading) -> Any:
        result = value
        if type(value) is dict:
            if embedded:
                result = _coerce_resource(value, path, reading)
            for name, each in list(result.items()):
                below = members.get(name)
                if below is not None:
                    coerced = below(each, path.child(name), reading)
                elif entries is not None and name not in known:
                    coerced = entries(each, path.key(name), reading)
                else:
                    continue
                if coerced is not each:
                    result = {**result, name: coerced}
        elif type(value) is list and items is not None:
            coerced = [items(each, path.index(position), reading) for position, each in enumerate(value)]
            if any(new is not old for new, old in zip(coerced, value, strict=True)):
                result = coerced
        return result

    return coerce


def _coerce_resource(value: JsonObject, path: Path, reading: Reading) -> JsonObject:
    result = value
    for name in ("apiVersion", "kind"):
        if name in value and not isinstance(value[name], str):
            if not reading.drop_malformed:
                raise MalformedResourceError(invalid(path.child(name), value[name], "must be a string"))
            result = {key: each for key, each in result.items() if key != name}
    if "metadata" in value:
        where = path.child("metadata")
        try:
            read, unknown = metadata.read(value["metadata"], drop_malformed=reading.drop_malformed)
        except metadata.MalformedMetadataError as error:
            if reading.drop_malformed:
                return result
            raise MalformedResourceError(invalid(where, value["metadata"], str(error))) from error
        reading.unknown += [f"{where}.{place}" for place in unknown]
        if read is not value["metadata"]:
            result = {**result, "metadata": read}
    return result


def compile_validation(schema: Schema, *, resource_root: bool = False) -> Validate | None:
    """A function that checks every embedded object in a value, and the value itself if it is a whole object."""
    members = {name: each for name, part in schema.properties.items() if (each := compile_validation(part)) is not None}
    entries = compile_validation(schema.values) if schema.values is not None else None
    items = compile_validation(schema.items) if schema.items is not None else None
    embedded = schema.embedded or resource_root
    if not members and entries is None and items is None and not embedded:
        return None
    known = frozenset(schema.properties)

    def validate(value: Any, path: Path) -> list[FieldError]:
        errors: list[FieldError] = []
        if type(value) is dict:
            if embedded:
                errors += _validate_resource(value, path)
            for name, each in value.items():
                below = members.get(name)
                if below is not None:
                    errors += below(each, path.child(name))
                elif entries is not None and name not in known:
                    errors += entries(each, path.key(name))
        elif type(value) is list and items is not None:
            for position, each in enumerate(value):
                errors += items(each, path.index(position))
        return errors

    return validate


def _validate_resource(value: JsonObject, path: Path) -> list[FieldError]:
    errors = [required(path.child(name)) for name in ("apiVersion", "kind") if name not in value]
    if "apiVersion" in value:
        errors += _validate_text(value["apiVersion"], path.child("apiVersion"), _api_version_problem)
    if "kind" in value:
        errors += _validate_text(value["kind"], path.child("kind"), _kind_problem)
    if "metadata" in value:
        where = path.child("metadata")
        try:
            read = metadata.read(value["metadata"]).value
        except metadata.MalformedMetadataError as error:
            return [*errors, invalid(where, value["metadata"], str(error))]
        # An embedded object may leave its name to others.
        named = read if read.get("name") else {**read, "name": "fakename"}
        errors += object_meta.validate(
            named, namespaced=bool(read.get("namespace")), name_check=names.path_segment, path=where
        )
    return errors


def _validate_text(value: Any, where: Path, problem_of: Callable[[str], str]) -> list[FieldError]:
    if not isinstance(value, str):
        return [invalid(where, value, "must be a string")]
    if not value:
        return [invalid(where, value, "must not be empty")]
    problem = problem_of(value)
    return [invalid(where, value, problem)] if problem else []


def _api_version_problem(text: str) -> str:
    try:
        GroupVersion.parse(text)
    except ValueError as error:
        return str(error)
    return ""


def _kind_problem(text: str) -> str:
    problems = names.dns1035_label(text.lower())
    return f"may have mixed case, but should otherwise match: {','.join(problems)}" if problems else ""
