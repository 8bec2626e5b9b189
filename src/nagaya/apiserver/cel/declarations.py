"""How functions are made known to the language: a name, the argument types it takes, and what computes it.

Signatures are written as text, `string.(string, int) -> int` for a method and `(string) -> bool` for a function;
capital letters are type parameters. A function whose implementation looks at its arguments itself is `lenient`;
otherwise arguments that were not known when the expression was checked are compared with the signature before each
call.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.types import CelType, Kind
from nagaya.apiserver.cel.values import NOTHING, MapLike, type_name

Implementation = Callable[..., Any]

_NAMED: Final = {
    "bool": types.BOOL,
    "int": types.INT,
    "uint": types.UINT,
    "double": types.DOUBLE,
    "string": types.STRING,
    "bytes": types.BYTES,
    "duration": types.DURATION,
    "timestamp": types.TIMESTAMP,
    "dyn": types.DYN,
    "null": types.NULL,
}
_MAKERS: Final[dict[str, Callable[..., CelType]]] = {
    "list": types.list_of,
    "map": types.map_of,
    "optional": types.optional_of,
    "type": types.type_of,
}
_OPAQUE: Final = {"net.IP", "net.CIDR"}
_TOKEN: Final = re.compile(r"\s*([\w.]+|[(),])")


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function."""

    params: tuple[CelType, ...]
    result: CelType
    implementation: Implementation
    is_method: bool
    type_params: tuple[CelType, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A name with its signatures, in the order in which they are tried.

    `charged` functions take the evaluation's budget as their first argument, because their work can exceed their input.
    """

    name: str
    overloads: tuple[Overload, ...]
    lenient: bool = False
    charged: bool = False


def overload(signature: str, implementation: Implementation) -> Overload:
    """A signature, read from text."""
    head, result_text = (part.strip() for part in signature.split("->"))
    cut = head.find(".(")
    is_method = cut > 0
    params = _types(head[head.index("(") + 1 if not is_method else cut + 2 : -1])
    if is_method:
        params = (parse_type(head[:cut]), *params)
    result = parse_type(result_text)
    return Overload(params, result, implementation, is_method, _type_params((*params, result)))


def function(name: str, *overloads: Overload, lenient: bool = False, charged: bool = False) -> Function:
    """A function with its signatures."""
    return Function(name, overloads, lenient, charged)


def _types(text: str) -> tuple[CelType, ...]:
    tokens = _TOKEN.findall(text)
    found: list[CelType] = []
    position = 0
    while position < len(tokens):
        one, position = _read(tokens, position)
        found.append(one)
        position += 1
    return tuple(found)


@cache
def parse_type(text: str) -> CelType:
    """A type, read from text."""
    return _read(_TOKEN.findall(text), 0)[0]


def _read(tokens: list[str], position: int) -> tuple[CelType, int]:
    name = tokens[position]
    position += 1
    if position < len(tokens) and tokens[position] == "(":
        params: list[CelType] = []
        while tokens[position] != ")":
            one, position = _read(tokens, position + 1)
            params.append(one)
        return _MAKERS[name](*params), position + 1
    if name in _NAMED:
        return _NAMED[name], position
    if len(name) == 1:
        return types.param(name), position
    return (types.opaque if name in _OPAQUE else types.struct)(name), position


def _type_params(given: tuple[CelType, ...]) -> tuple[CelType, ...]:
    found: dict[CelType, None] = {}
    for each in given:
        if each.kind is Kind.PARAM:
            found[each] = None
        found.update(dict.fromkeys(_type_params(each.params)))
    return tuple(found)


def accepts(declared: CelType, value: Any) -> bool:
    """Whether a value fits a parameter's type, as far as its first element tells."""
    kind = declared.kind
    if kind is Kind.DYN or kind is Kind.PARAM:
        return True
    if declared.name != type_name(value):
        return False
    if kind is Kind.LIST:
        return not value or accepts(declared.params[0], value[0])
    if kind is Kind.MAP:
        keys = value.keys() if isinstance(value, MapLike) else value
        key = next(iter(keys), NOTHING)
        if key is NOTHING:
            return True
        item = value.find(key) if isinstance(value, MapLike) else value[key]
        return accepts(declared.params[0], key) and accepts(declared.params[1], item)
    return True


def is_certain(declared: CelType, known: CelType) -> bool:
    """Whether the checker has already made sure that every value of the known type fits."""
    if declared.kind is Kind.DYN or declared.kind is Kind.PARAM:
        return True
    if known.kind is not declared.kind or known.name != declared.name:
        return False
    # A nullable type may hold null at run time.
    if known.kind in (Kind.STRUCT, Kind.OPAQUE, Kind.DURATION, Kind.TIMESTAMP) and known.name != "optional_type":
        return False
    return all(is_certain(mine, theirs) for mine, theirs in zip(declared.params, known.params, strict=False))
