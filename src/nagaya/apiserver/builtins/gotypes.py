"""Schema types of built-in kinds, which remember how Go calls them.

Merging and patching see plain `schema.types`. Decoding needs a little more: the name of the Go type for its messages,
and where a field sits in embedded structs, because both the messages and the protobuf encoding show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.apiserver.schema.types import Field, List, ListKind, Map, Scalar, Struct, Type, Untyped


class GoScalar(Scalar):
    """A value without parts. `go` is the type's name in Go, such as `v1.ServiceType`."""

    __slots__ = ("go",)

    def __init__(self, name: str, format: str = "", *, go: str) -> None:
        super().__init__(name, format)
        self.go = go


class GoUntyped(Untyped):
    """A value of any shape, or one with a shape of its own: `format` says which."""

    __slots__ = ("go",)

    def __init__(self, format: str, *, go: str) -> None:
        super().__init__(format)
        self.go = go


class GoMap(Map):
    """Texts to values."""

    __slots__ = ("go",)

    def __init__(self, element: Type, *, go: str, atomic: bool = False) -> None:
        super().__init__(element, atomic=atomic)
        self.go = go


class GoList(List):
    """Items. With `message` the list is a protobuf message of its own, which holds the items as its field 1."""

    __slots__ = ("go", "message")

    def __init__(
        self,
        element: Type,
        kind: ListKind = ListKind.ATOMIC,
        keys: tuple[str, ...] = (),
        *,
        go: str,
        message: bool = False,
    ) -> None:
        super().__init__(element, kind, keys)
        self.go = go
        self.message = message


class GoStruct(Struct):
    """A struct. `name` is what Go prints (`v1.PodSpec`), `key` tells groups apart (`core/v1.PodSpec`)."""

    __slots__ = ("key",)

    def __init__(self, fields: Callable[[], Mapping[str, Field]], *, key: str, atomic: bool = False) -> None:
        super().__init__(fields, name=key.rpartition("/")[2], atomic=atomic)
        self.key = key

    @property
    def go(self) -> str:
        """The type's name in Go."""
        return self.name

    @property
    def short_name(self) -> str:
        """The type's name without its package."""
        return self.name.rpartition(".")[2]


@dataclass(slots=True)
class GoField(Field):
    """A member of a built-in struct.

    `via` names the embedded structs that the member belongs to, outermost first, and `via_numbers` their protobuf
    numbers; without them `number` is 0 and the member is not part of the protobuf form.
    """

    via: tuple[str, ...] = ()
    via_numbers: tuple[int, ...] = ()


def go_name(kind: Type) -> str:
    """How Go calls a type."""
    assert isinstance(kind, (GoScalar, GoUntyped, GoMap, GoList, GoStruct)), kind
    return kind.go


SCALARS: Final[Mapping[str, GoScalar]] = {
    "string": GoScalar("string", go="string"),
    "bool": GoScalar("boolean", go="bool"),
    "int": GoScalar("integer", "int64", go="int"),
    "int32": GoScalar("integer", "int32", go="int32"),
    "int64": GoScalar("integer", "int64", go="int64"),
    "float64": GoScalar("number", "double", go="float64"),
    "bytes": GoScalar("string", "byte", go="[]uint8"),
}

SPECIAL: Final[Mapping[str, Type]] = {
    "meta/v1.Time": GoScalar("string", "date-time", go="v1.Time"),
    "meta/v1.MicroTime": GoScalar("string", "micro-time", go="v1.MicroTime"),
    "resource.Quantity": GoScalar("string", "quantity", go="resource.Quantity"),
    "intstr.IntOrString": GoScalar("int-or-string", go="intstr.IntOrString"),
    "runtime.RawExtension": GoUntyped("raw", go="runtime.RawExtension"),
    "meta/v1.FieldsV1": GoUntyped("fields", go="v1.FieldsV1"),
    "apiextensions/v1.JSON": GoUntyped("json", go="v1.JSON"),
    "apiextensions/v1.JSONSchemaPropsOrBool": GoUntyped("schema-or-bool", go="v1.JSONSchemaPropsOrBool"),
    "apiextensions/v1.JSONSchemaPropsOrArray": GoUntyped("schema-or-list", go="v1.JSONSchemaPropsOrArray"),
    "apiextensions/v1.JSONSchemaPropsOrStringArray": GoUntyped(
        "schema-or-strings", go="v1.JSONSchemaPropsOrStringArray"
    ),
}
"""Types that write themselves as JSON in a form of their own."""
