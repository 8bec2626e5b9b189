"""Expressions that choose devices. They see the device as `device`, and have to be true for those that are chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from nagaya.apiserver.builtins.kinds.device_checks import MOST_SELECTORS, each
from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.declarations import parse_type
from nagaya.apiserver.cel.environment import BASE, Environment
from nagaya.apiserver.cel.macros import MACROS, MacroError
from nagaya.apiserver.cel.program import CompileError, PlanError, compile
from nagaya.apiserver.cel.syntax import Call, Comprehension, Ident, ListLiteral, Literal, Node
from nagaya.apiserver.cel.types import CelType
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, internal, invalid, required, too_long
from nagaya.apiserver.meta.status import JsonObject

_LONGEST: Final = 10 * 1024
_DEVICE: Final = "kubernetes.DRADevice"


def _by_domain(value: CelType) -> CelType:
    return types.map_of(types.STRING, types.map_of(types.STRING, value))


class _Device:
    """The one type with fields that these expressions know."""

    _FIELDS: Final[Mapping[str, CelType]] = {
        "driver": types.STRING,
        "allowMultipleAllocations": types.BOOL,
        "attributes": _by_domain(types.ANY),
        "capacity": _by_domain(parse_type("kubernetes.Quantity")),
    }

    def has(self, name: str) -> bool:
        """Whether there is such a type."""
        return name == _DEVICE

    def field(self, name: str, field: str) -> CelType | None:
        """The type of a field, if the type has it."""
        return self._FIELDS.get(field) if name == _DEVICE else None

    def constructor(self, name: str) -> Callable[[dict[str, Any]], Any] | None:
        """Devices are not made by expressions."""
        return None

    @property
    def aliases(self) -> Mapping[str, CelType]:
        """No further names."""
        return {}


def _bind(at: int, target: Node | None, args: list[Node]) -> Node:
    """`cel.bind(name, value, body)`: a loop over nothing whose accumulator is the name."""
    if not isinstance(target, Ident) or target.name != "cel":
        return Call(at, "bind", args, target)
    name, value, body = args
    if not isinstance(name, Ident):
        raise MacroError(name.at, "cel.bind() variable names must be simple identifiers")
    nothing, never = ListLiteral(at, []), Literal(at, False)
    again = Ident(at, name.name)
    return Comprehension(at, "bind", nothing, ("#unused", ""), name.name, value, never, again, body, (value, body))


_ENVIRONMENT: Final = Environment(
    BASE.functions, {"device": types.struct(_DEVICE)}, _Device(), {**MACROS, ("bind", 3, True): _bind}
)


def selectors(given: list[JsonObject], where: Path) -> list[FieldError]:
    """What is wrong with a list of selectors."""
    return each(given, MOST_SELECTORS, _selector, where)


def _selector(selector: JsonObject, where: Path) -> list[FieldError]:
    cel = selector.get("cel")
    if cel is None:
        return [required(where.child("cel"))]
    place, text = where.child("cel", "expression"), cel["expression"]
    if names.size(text) > _LONGEST:
        return [too_long(place, _LONGEST)]
    broken, problem = _problem(text)
    if broken:
        return [internal(place, problem)]
    return [invalid(place, text, problem)] if problem else []


@lru_cache(maxsize=256)
def _problem(text: str) -> tuple[bool, str]:
    try:
        program = compile(text, _ENVIRONMENT)
    except CompileError as error:
        return False, f"compilation failed: {error}"
    except PlanError as error:
        return True, f"program instantiation failed: {error}"
    if program.result_type in (types.BOOL, types.ANY):
        return False, ""
    return False, f"must evaluate to bool or the unknown type, not {program.result_type}"
