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
    node = Schema(raw=source)
    # Nodes are many and most have two or three members, so the members that are there decide what is done.
    for name, value in source.items():
        if (reader := _MEMBERS.get(name)) is not None:
            reader(node, value, depth + 1)
    return node


_Reader = Callable[[Schema, Any, int], None]


def _typed(attribute: str, kind: type) -> _Reader:
    def set_member(node: Schema, value: Any, depth: int) -> None:
        if isinstance(value, kind):
            setattr(node, attribute, value)

    return set_member


def _flag(attribute: str) -> _Reader:
    def set_member(node: Schema, value: Any, depth: int) -> None:
        setattr(node, attribute, value is True)

    return set_member


def _numeric(attribute: str, convert: Callable[[float], float]) -> _Reader:
    def set_member(node: Schema, value: Any, depth: int) -> None:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            setattr(node, attribute, convert(value))

    return set_member


def _entries(attribute: str, convert: Callable[[list[Any], int], list[Any]]) -> _Reader:
    def set_member(node: Schema, value: Any, depth: int) -> None:
        if isinstance(value, list):
            setattr(node, attribute, convert(value, depth))

    return set_member


def _texts(value: list[Any], depth: int) -> list[str]:
    return [text for text in value if isinstance(text, str)]


def _schemas(value: list[Any], depth: int) -> list[Schema]:
    return [read(schema, depth) for schema in value]


def _rules(value: list[Any], depth: int) -> list[JsonObject]:
    return [rule if isinstance(rule, dict) else {} for rule in value]


def _default(node: Schema, value: Any, depth: int) -> None:
    if value is not None:
        node.default = value


def _properties(node: Schema, value: Any, depth: int) -> None:
    if isinstance(value, dict):
        node.properties = {name: read(schema, depth) for name, schema in value.items()}


def _additional(node: Schema, value: Any, depth: int) -> None:
    if isinstance(value, dict):
        node.additional = read(value, depth)
    elif isinstance(value, bool):
        node.additional = value


def _items(node: Schema, value: Any, depth: int) -> None:
    if isinstance(value, dict):
        node.items = read(value, depth)
    elif isinstance(value, list):
        node.item_list = _schemas(value, depth)


def _negated(node: Schema, value: Any, depth: int) -> None:
    if isinstance(value, dict):
        node.negated = read(value, depth)


_MEMBERS: Final[Mapping[str, _Reader]] = {
    "type": _typed("type", str),
    "format": _typed("format", str),
    "nullable": _flag("nullable"),
    "default": _default,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "allOf": _entries("all_of", _schemas),
    "anyOf": _entries("any_of", _schemas),
    "oneOf": _entries("one_of", _schemas),
    "not": _negated,
    "required": _entries("required", _texts),
    "enum": _typed("enum", list),
    "pattern": _typed("pattern", str),
    "maximum": _numeric("maximum", float),
    "minimum": _numeric("minimum", float),
    "exclusiveMaximum": _flag("exclusive_maximum"),
    "exclusiveMinimum": _flag("exclusive_minimum"),
    "multipleOf": _numeric("multiple_of", float),
    "maxLength": _numeric("max_length", int),
    "minLength": _numeric("min_length", int),
    "maxItems": _numeric("max_items", int),
    "minItems": _numeric("min_items", int),
    "uniqueItems": _flag("unique_items"),
    "maxProperties": _numeric("max_properties", int),
    "minProperties": _numeric("min_properties", int),
    "x-kubernetes-preserve-unknown-fields": _typed("preserve_unknown", bool),
    "x-kubernetes-embedded-resource": _flag("embedded"),
    "x-kubernetes-int-or-string": _flag("int_or_string"),
    "x-kubernetes-list-type": _typed("list_type", str),
    "x-kubernetes-list-map-keys": _entries("map_keys", _texts),
    "x-kubernetes-map-type": _typed("map_type", str),
    "x-kubernetes-validations": _entries("rules", _rules),
}


def says_nothing(raw: Mapping[str, Any], apart_from: frozenset[str] = frozenset()) -> bool:
    """Whether a schema has no meaningful member, apart from those named. A number means something even if it is 0."""
    return all(name in apart_from or _is_empty(value) for name, value in raw.items())


def _is_empty(value: Any) -> bool:
    return value is None or value is False or value == "" or value == [] or value == {}
