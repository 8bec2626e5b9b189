"""A schema as its author wrote it, read once into typed nodes.

Everything in this room works on these nodes instead of raw JSON: reading settles in one place what an absent, null or
empty member means (the same, as in Go), and how deep a schema may be. Nodes are never changed after reading; the value
under `default` is shared and must not be changed either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.types import MISSING

# Deeper schemas would make validation recurse too far; the deepest in use are at about 30.
MAX_DEPTH: Final = 100


class SchemaTooDeepError(ValueError):
    """A schema nests further than this server follows."""

    def __init__(self) -> None:
        super().__init__(f"schema nests deeper than {MAX_DEPTH} levels")


@dataclass(slots=True, eq=False)
class Schema:
    """One node of an OpenAPI v3 schema. `raw` is what the author wrote."""

    raw: JsonObject
    type: str = ""
    format: str = ""
    nullable: bool = False
    default: Any = MISSING
    properties: dict[str, Schema] = field(default_factory=dict)
    # A schema or a truth value; None if nothing is said.
    additional: Schema | bool | None = None
    items: Schema | None = None
    item_list: list[Schema] = field(default_factory=list)
    all_of: list[Schema] = field(default_factory=list)
    any_of: list[Schema] = field(default_factory=list)
    one_of: list[Schema] = field(default_factory=list)
    negated: Schema | None = None
    required: list[str] = field(default_factory=list)
    enum: list[Any] = field(default_factory=list)
    pattern: str = ""
    maximum: float | None = None
    minimum: float | None = None
    exclusive_maximum: bool = False
    exclusive_minimum: bool = False
    multiple_of: float | None = None
    max_length: int | None = None
    min_length: int | None = None
    max_items: int | None = None
    min_items: int | None = None
    unique_items: bool = False
    max_properties: int | None = None
    min_properties: int | None = None
    preserve_unknown: bool | None = None
    embedded: bool = False
    int_or_string: bool = False
    list_type: str | None = None
    map_keys: list[str] = field(default_factory=list)
    map_type: str | None = None
    rules: list[JsonObject] = field(default_factory=list)

    @property
    def values(self) -> Schema | None:
        """The schema of all entries that are not properties, if there is one."""
        return self.additional if isinstance(self.additional, Schema) else None

    def has(self, member: str) -> bool:
        """Whether the author wrote something for a member that only has to be refused."""
        return bool(self.raw.get(member))

    def property_names(self) -> list[str]:
        """Sorted, so that findings come in the same order every time."""
        return sorted(self.properties)

    def nested(self) -> Iterator[Schema]:
        """Every schema directly inside this one, refused members included."""
        if self.items is not None:
            yield self.items
        yield from self.item_list
        for junction in (self.all_of, self.any_of, self.one_of):
            yield from junction
        if self.negated is not None:
            yield self.negated
        for name in self.property_names():
            yield self.properties[name]
        if isinstance(self.additional, Schema):
            yield self.additional

    def any(self, test: Callable[[Schema], bool]) -> bool:
        """Whether the test holds for this schema or any inside it."""
        return test(self) or any(each.any(test) for each in self.nested())

    def walk(self) -> Iterator[Schema]:
        """This schema and all inside it."""
        yield self
        for each in self.nested():
            yield from each.walk()


def read(raw: Any, depth: int = 0) -> Schema:
    """Read a schema. Members of a wrong type count as absent: decoding the definition has refused them before."""
    if depth > MAX_DEPTH:
        raise SchemaTooDeepError
    source: JsonObject = raw if isinstance(raw, dict) else {}
    node = Schema(
        raw=source,
        type=_text(source, "type"),
        format=_text(source, "format"),
        nullable=source.get("nullable") is True,
        required=_texts(source, "required"),
        enum=_list(source, "enum"),
        pattern=_text(source, "pattern"),
        maximum=_number(source, "maximum"),
        minimum=_number(source, "minimum"),
        exclusive_maximum=source.get("exclusiveMaximum") is True,
        exclusive_minimum=source.get("exclusiveMinimum") is True,
        multiple_of=_number(source, "multipleOf"),
        max_length=_count(source, "maxLength"),
        min_length=_count(source, "minLength"),
        max_items=_count(source, "maxItems"),
        min_items=_count(source, "minItems"),
        unique_items=source.get("uniqueItems") is True,
        max_properties=_count(source, "maxProperties"),
        min_properties=_count(source, "minProperties"),
        embedded=source.get("x-kubernetes-embedded-resource") is True,
        int_or_string=source.get("x-kubernetes-int-or-string") is True,
        map_keys=_texts(source, "x-kubernetes-list-map-keys"),
        rules=[rule if isinstance(rule, dict) else {} for rule in _list(source, "x-kubernetes-validations")],
    )
    if (default := source.get("default")) is not None:
        node.default = default
    if isinstance(preserve := source.get("x-kubernetes-preserve-unknown-fields"), bool):
        node.preserve_unknown = preserve
    if isinstance(list_type := source.get("x-kubernetes-list-type"), str):
        node.list_type = list_type
    if isinstance(map_type := source.get("x-kubernetes-map-type"), str):
        node.map_type = map_type
    _read_nested(node, source, depth + 1)
    return node


def _read_nested(node: Schema, source: JsonObject, depth: int) -> None:
    if isinstance(properties := source.get("properties"), dict):
        node.properties = {name: read(each, depth) for name, each in properties.items()}
    additional = source.get("additionalProperties")
    if isinstance(additional, dict):
        node.additional = read(additional, depth)
    elif isinstance(additional, bool):
        node.additional = additional
    items = source.get("items")
    if isinstance(items, dict):
        node.items = read(items, depth)
    elif isinstance(items, list):
        node.item_list = [read(each, depth) for each in items]
    node.all_of = [read(each, depth) for each in _list(source, "allOf")]
    node.any_of = [read(each, depth) for each in _list(source, "anyOf")]
    node.one_of = [read(each, depth) for each in _list(source, "oneOf")]
    if isinstance(negated := source.get("not"), dict):
        node.negated = read(negated, depth)


def _text(source: Mapping[str, Any], name: str) -> str:
    value = source.get(name)
    return value if isinstance(value, str) else ""


def _list(source: Mapping[str, Any], name: str) -> list[Any]:
    value = source.get(name)
    return value if isinstance(value, list) else []


def _texts(source: Mapping[str, Any], name: str) -> list[str]:
    return [each for each in _list(source, name) if isinstance(each, str)]


def _number(source: Mapping[str, Any], name: str) -> float | None:
    value = source.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _count(source: Mapping[str, Any], name: str) -> int | None:
    value = source.get(name)
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def says_nothing(raw: Mapping[str, Any], apart_from: frozenset[str] = frozenset()) -> bool:
    """Whether a schema has no meaningful member, apart from those named. A number means something even if it is 0."""
    return all(name in apart_from or _is_empty(value) for name, value in raw.items())


def _is_empty(value: Any) -> bool:
    return value is None or value is False or value == "" or value == [] or value == {}
