"""What expressions of a policy may know of the objects it is about: the fields of their kinds, and of which type.

Made from the shapes that decoding uses, so built-in and custom kinds are treated alike. A field that the published
schema leaves open (a quantity is a text or a number) has no type, and cannot be used by an expression that is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from nagaya.apiserver.builtins.gotypes import GoScalar, GoUntyped
from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.environment import Structs
from nagaya.apiserver.cel.escaping import escape
from nagaya.apiserver.cel.types import CelType
from nagaya.apiserver.schema.types import List, Map, Scalar, Struct, Type, Untyped

_SCALARS: Final = {"boolean": types.BOOL, "number": types.DOUBLE, "integer": types.INT}
_FORMATS: Final[Mapping[str, CelType | None]] = {
    "byte": types.BYTES,
    "date": types.TIMESTAMP,
    "date-time": types.TIMESTAMP,
    "micro-time": types.TIMESTAMP,
    "quantity": None,
}
_NO_FIELDS: Final = Struct({})


class ObjectTypes:
    """The types of some kinds, beside types that are known anyway."""

    def __init__(self, others: Structs) -> None:
        self._others = others
        self._structs: dict[str, Struct] = {}

    def declare(self, shape: Type, name: str) -> CelType | None:
        """The type of data of a shape; None if expressions cannot use it. `name` is for the objects in it."""
        match shape:
            case Struct():
                self._structs[name] = shape
                return types.struct(name)
            case List():
                element = self.declare(shape.element, f"{name}.@idx")
                return None if element is None else types.list_of(element)
            case Map():
                value = self.declare(shape.element, f"{name}.@elem")
                return None if value is None else types.map_of(types.STRING, value)
            case Scalar():
                return _scalar(shape)
            case GoUntyped() if shape.format in ("raw", "fields"):
                return self.declare(_NO_FIELDS, name)
            case Untyped():
                return None
        raise TypeError(f"unknown shape {shape!r}")

    def has(self, name: str) -> bool:
        """Whether there is such a type."""
        return name in self._structs or self._others.has(name)

    def field(self, name: str, field: str) -> CelType | None:
        """The type of an object's field, by its escaped name."""
        struct = self._structs.get(name)
        if struct is None:
            return self._others.field(name, field)
        for each, member in struct.fields.items():
            if escape(each) == field:
                return self.declare(member.type, f"{name}.{field}")
        return None

    def constructor(self, name: str) -> Callable[[dict[str, Any]], Any] | None:
        """Expressions cannot write objects of a kind."""
        return None if name in self._structs else self._others.constructor(name)

    @property
    def aliases(self) -> Mapping[str, CelType]:
        """More names of types."""
        return self._others.aliases


def _scalar(shape: Scalar) -> CelType | None:
    if shape.name == "int-or-string":
        return None if isinstance(shape, GoScalar) else types.DYN
    if shape.name == "string":
        return _FORMATS.get(shape.format, types.STRING)
    return _SCALARS.get(shape.name)
