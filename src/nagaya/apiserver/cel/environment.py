"""What an expression may refer to: functions, macros, types and variables.

`BASE` is what Kubernetes 1.36 offers everywhere. `Environment.extend` adds the variables and object types of a place,
such as `self` with the type of a schema node. Environments are never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.declarations import Function
from nagaya.apiserver.cel.escaping import KEYWORDS
from nagaya.apiserver.cel.library.catalogue import FUNCTIONS
from nagaya.apiserver.cel.macros import MACROS, Macro
from nagaya.apiserver.cel.types import CelType

_TYPES: Final = {
    each.name: each
    for each in (
        types.BOOL,
        types.BYTES,
        types.DOUBLE,
        types.DURATION,
        types.INT,
        types.list_of(types.DYN),
        types.map_of(types.DYN, types.DYN),
        types.NULL,
        types.STRING,
        types.TIMESTAMP,
        types.TYPE,
        types.UINT,
        types.optional_of(types.DYN),
        types.opaque("net.IP"),
        types.opaque("net.CIDR"),
    )
}
# They have methods but no fields, and no name that an expression could use.
_FIELDLESS: Final = frozenset(
    {"kubernetes.URL", "kubernetes.Quantity", "kubernetes.Semver", "kubernetes.NamedFormat"}
    | {"kubernetes.authorization.Authorizer", "kubernetes.authorization.PathCheck"}
    | {"kubernetes.authorization.GroupCheck", "kubernetes.authorization.ResourceCheck"}
    | {"kubernetes.authorization.Decision"}
)


class Structs(Protocol):
    """Types with named fields."""

    def has(self, name: str) -> bool:
        """Whether there is such a type."""
        ...

    def field(self, name: str, field: str) -> CelType | None:
        """The type of a field, if the type has it."""
        ...

    def constructor(self, name: str) -> Callable[[dict[str, Any]], Any] | None:
        """What makes a value of the type from its fields, if expressions may write such values."""
        ...

    @property
    def aliases(self) -> Mapping[str, CelType]:
        """More names of types. They can be checked, but have no value when the expression runs."""
        ...


class NoStructs:
    """No types with fields at all."""

    def has(self, name: str) -> bool:
        """Whether there is such a type."""
        return False

    def field(self, name: str, field: str) -> CelType | None:
        """The type of a field, if the type has it."""
        return None

    def constructor(self, name: str) -> Callable[[dict[str, Any]], Any] | None:
        """What makes a value of the type from its fields."""
        return None

    @property
    def aliases(self) -> Mapping[str, CelType]:
        """No further names."""
        return {}


class Environment:
    """The names known to an expression."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        variables: Mapping[str, CelType],
        structs: Structs,
        macros: Mapping[tuple[str, int, bool], Macro] = MACROS,
    ) -> None:
        self.functions = functions
        self.variables = variables
        self.structs = structs
        self.macros = macros

    def extend(self, variables: Mapping[str, CelType], structs: Structs | None = None) -> Environment:
        """This environment with more variables, and with object types of its own."""
        return Environment(self.functions, {**self.variables, **variables}, structs or self.structs, self.macros)

    def function(self, name: str) -> Function | None:
        """The function of that name."""
        return self.functions.get(name.removeprefix("."))

    def type_named(self, name: str) -> CelType | None:
        """The type of the name when it stands for a type."""
        found = _TYPES.get(name) or self.structs.aliases.get(name)
        if found is not None:
            return types.type_of(found)
        return types.type_of(types.struct(name)) if self.structs.has(name) else None

    def has_struct(self, name: str) -> bool:
        """Whether fields of the type can be asked for."""
        return name not in _FIELDLESS and self.structs.has(name)

    def field_type(self, struct: str, field: str) -> CelType | None:
        """The type of an object's field. A keyword stands for the field it is the escaped name of."""
        found = self.structs.field(struct, field)
        if found is None and field in KEYWORDS:
            return self.structs.field(struct, f"__{field}__")
        return found


BASE: Final = Environment(FUNCTIONS, {}, NoStructs())
"""What Kubernetes offers to every expression, without variables."""
