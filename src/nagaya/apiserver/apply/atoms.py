"""Types as the merge algorithm sees them.

The algorithm knows only three shapes, and a type may allow several: a scalar, a list, a map (a struct is a map with
named fields). An `Atom` says for one place in an object which shapes are allowed and what is below them. Where more
than one shape is allowed the value decides; null decides nothing and is taken for a map, a scalar or a list,
whichever comes first. Atoms are made from `schema.types` once, on first use, and never change; they are shared by
everyone in the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from nagaya.apiserver.apply import path_element
from nagaya.apiserver.schema.types import MISSING, List, ListKind, Map, Scalar, Struct, Type, Untyped

NUMERIC: Final = "numeric"
STRING: Final = "string"
BOOLEAN: Final = "boolean"
UNTYPED: Final = "untyped"
_SHORT_KEY: Final = 128  # longer ones are not remembered: clients choose them

_SCALARS: Final[Mapping[str, frozenset[type]]] = {
    NUMERIC: frozenset({int, float}),
    STRING: frozenset({str}),
    BOOLEAN: frozenset({bool}),
    UNTYPED: frozenset({int, float, str, bool}),
    "": frozenset(),
}


class Place(Enum):
    """What surrounds a type, where that matters to it."""

    CUSTOM = "custom"
    PRESERVING = "preserving"  # within a part of a custom resource that preserves unknown fields: it passes that down
    BUILT_IN = "built-in"  # within a named type, which is described on its own and does not see what encloses it


class MapAtom:
    """A map: named fields, and the type of every other key unless there may be none.

    `fields` and `element` are worked out when first asked for, because types may contain themselves.
    """

    __slots__ = ("_place", "_type", "anything", "atomic", "element", "fields", "undescribed")

    fields: dict[str, Atom]
    element: Atom | None
    anything: bool  # whatever it holds fits
    undescribed: bool  # its values may be any scalar: no schema that a recorded set of fields could disagree with

    def __init__(self, type_: Struct | Map, place: Place) -> None:
        self._type = type_
        self._place = place
        self.atomic = type_.atomic

    def __getattr__(self, name: str) -> Any:
        if name not in ("anything", "element", "fields", "undescribed"):
            raise AttributeError(name)
        if isinstance(self._type, Map):
            element: Atom | None = atom_of(self._type.element, self._place)
            fields: dict[str, Atom] = {}
        else:
            named = self._type.fields
            place = self._place
            if self._type.name:
                place = Place.BUILT_IN
            elif self._type.preserve_unknown and place is Place.CUSTOM:
                place = Place.PRESERVING
            fields = {key: atom_of(field.type, place) for key, field in named.items()}
            free = place is Place.PRESERVING or self._type.preserve_unknown or not named
            element = DEDUCED if free else None
        self.fields, self.element = fields, element
        self.anything = not fields and element is DEDUCED
        loose = element is not None and element.scalar == UNTYPED and self._place is not Place.BUILT_IN
        self.undescribed = not fields and (element is DEDUCED or loose)
        return getattr(self, name)


class ListAtom:
    """A list: one thing if it is atomic, else items told apart by their value or by key fields."""

    __slots__ = ("_heads", "_place", "_type", "associative", "defaults", "element", "keys", "listed_keys")

    element: Atom
    defaults: Mapping[str, Any]

    def __init__(self, type_: List, place: Place) -> None:
        self._type = type_
        self._place = place
        self.associative = type_.kind is not ListKind.ATOMIC
        self.listed_keys = type_.keys if type_.kind is ListKind.MAP else ()
        self.keys = tuple(sorted(self.listed_keys))
        self._heads = tuple((key, path_element.head(key)) for key in self.keys)

    def __getattr__(self, name: str) -> Any:
        if name not in ("element", "defaults"):
            raise AttributeError(name)
        self.element = atom_of(self._type.element, self._place)
        named = self._type.element.fields if isinstance(self._type.element, Struct) else {}
        self.defaults = {
            key: named[key].default
            for key in self.keys
            if key in named and named[key].default is not MISSING and named[key].default is not None
        }
        return getattr(self, name)

    def element_of(self, item: Any) -> str:
        """The path element of an item of an associative list. Raises ValueError for one that cannot be told apart."""
        if not self.keys:
            return _set_item(item)
        if item.__class__ is not dict:
            kind = "a null element" if item is None else "non-map elements"
            raise ValueError(f"associative list with keys may not have {kind}")
        if len(self._heads) == 1:
            ((key, head),) = self._heads
            value = item.get(key)
            if value.__class__ is str and len(value) <= _SHORT_KEY:
                return _short_element(head, value)
        defaults = self.defaults
        found = [
            head + path_element.json(item[key] if key in item else defaults[key])
            for key, head in self._heads
            if key in item or key in defaults
        ]
        if not found:
            named = " ".join(f'"{key}"' for key in self.listed_keys)
            raise ValueError(
                f"associative list with keys has an element that omits all key fields [{named}] "
                "(and doesn't have default values for any key fields)"
            )
        return "k:{" + ",".join(found) + "}"


@lru_cache(maxsize=8192)
def _short_element(head: str, value: str) -> str:
    """Most lists have one key, and few values of it: the types of conditions, the names of containers."""
    return "k:{" + head + path_element.json(value) + "}"


def _set_item(item: Any) -> str:
    if item.__class__ is dict:
        raise ValueError("associative list without keys has an element that's a map type")
    if item.__class__ is list:
        raise ValueError("not supported: associative list with lists as elements")
    if item is None:
        raise ValueError("associative list without keys has an element that's an explicit null")
    return path_element.by_value(item)


class Atom:
    """What may stand at one place of an object."""

    __slots__ = ("list", "map", "scalar", "scalars", "single")

    def __init__(self, scalar: str = "", list_: ListAtom | None = None, map_: MapAtom | None = None) -> None:
        self.scalar = scalar
        self.scalars = _SCALARS[scalar]
        self.list = list_
        self.map = map_
        self.single = (scalar != "") + (list_ is not None) + (map_ is not None) == 1

    def shape(self, value: Any) -> str:
        """As what a value is treated: `map`, `list` or `scalar`, or "" when the value does not decide."""
        kind = value.__class__
        if kind is dict:
            return "map" if self.map is not None else ""
        if kind is list:
            return "list" if self.list is not None else ""
        return "scalar" if value is not None and self.scalar else ""

    @property
    def first(self) -> str:
        """As what a value is treated that does not decide itself."""
        return "map" if self.map is not None else "scalar" if self.scalar else "list"


_ATOMIC = Atom(
    UNTYPED, ListAtom(List(Untyped("raw")), Place.BUILT_IN), MapAtom(Map(Untyped("raw"), atomic=True), Place.BUILT_IN)
)
"""Anything, as one thing."""

DEDUCED: Final = Atom(UNTYPED, ListAtom(List(Untyped("raw")), Place.CUSTOM), MapAtom(Map(Untyped()), Place.CUSTOM))
"""Anything: maps by key, lists as one thing."""

_NOTHING: Final = Atom()
"""What is below a place that the schema does not know."""


@lru_cache(maxsize=32768)
def atom_of(type_: Type, place: Place = Place.CUSTOM) -> Atom:
    """The atom of a type."""
    if isinstance(type_, Scalar):
        return _scalar(type_, place)
    if isinstance(type_, List):
        return Atom(list_=ListAtom(type_, place))
    if isinstance(type_, Struct | Map):
        return Atom(map_=MapAtom(type_, place))
    assert isinstance(type_, Untyped)
    if type_.format == "raw":
        return _ATOMIC
    return Atom(map_=DEDUCED.map) if type_.format == "fields" else DEDUCED


def _scalar(type_: Scalar, place: Place) -> Atom:
    if type_.name == "int-or-string":
        return DEDUCED
    if type_.name == "boolean":
        return Atom(BOOLEAN)
    if type_.name != "string":
        return Atom(NUMERIC)
    is_text = type_.format in ("", "byte") or (type_.format == "duration" and place is Place.BUILT_IN)
    return Atom(STRING if is_text else UNTYPED)


def below(atom: Atom, element: str) -> tuple[Atom, bool]:
    """What a path element leads to, and whether it is a named field."""
    kind = element[0]
    if kind == "f" and atom.map is not None:
        field = atom.map.fields.get(element[2:])
        if field is not None:
            return field, True
        return atom.map.element or _NOTHING, False
    if kind == "k" and atom.list is not None:
        return atom.list.element, False
    return _NOTHING, False
