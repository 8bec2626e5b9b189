"""Forms that look like calls and become loops: `has`, `all`, `exists`, `map`, `filter`, `optMap`, `sortBy` and their
kin.

A macro gets the place of the call, the expression before the dot and the arguments, and returns the tree to put there.
The trees have the shapes the real server makes, since messages about them show it (`_?_:_` in a `filter` whose
condition is no bool).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from nagaya.apiserver.cel.syntax import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    OptionalMap,
    Select,
)

Macro = Callable[[int, Node | None, list[Node]], Node]

RESULT: Final = "@result"
_SORT_INPUT: Final = "@__sortBy_input__"
_UNUSED: Final = "#unused"


class MacroError(Exception):
    """The arguments do not fit the macro; `at` is the offset of the one to blame."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def _has(at: int, _: Node | None, args: list[Node]) -> Node:
    argument = args[0]
    if isinstance(argument, Select) and not argument.test_only:
        return Select(at, argument.operand, argument.field, test_only=True)
    raise MacroError(argument.at, "invalid argument to has() macro")


def _variable(node: Node, message: str) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.at, message)
    if node.name in (RESULT, "__result__"):
        raise MacroError(node.at, "iteration variable overwrites accumulator variable")
    return node.name


def _two_variables(args: list[Node]) -> tuple[str, str]:
    for node in args[:2]:
        if not isinstance(node, Ident):
            raise MacroError(node.at, "argument must be a simple name")
    first, second = args[0], args[1]
    assert isinstance(first, Ident)
    assert isinstance(second, Ident)
    if first.name == second.name:
        raise MacroError(second.at, f"duplicate variable name: {first.name}")
    return _variable(first, ""), _variable(second, "")


def _names(args: list[Node], count: int, message: str) -> tuple[str, str]:
    return (_variable(args[0], message), "") if count == 1 else _two_variables(args)


def _quantifier(kind: str, count: int) -> Macro:
    def expand(at: int, target: Node | None, args: list[Node]) -> Node:
        assert target is not None
        names = _names(args, count, "argument must be a simple name")
        predicate = args[count]
        result: Node = Ident(at, RESULT)
        if kind == "all":
            init: Node = Literal(at, True)
            condition: Node = Call(at, "@not_strictly_false", [Ident(at, RESULT)])
            step: Node = Call(at, "_&&_", [Ident(at, RESULT), predicate])
        elif kind == "exists":
            init = Literal(at, False)
            condition = Call(at, "@not_strictly_false", [Call(at, "!_", [Ident(at, RESULT)])])
            step = Call(at, "_||_", [Ident(at, RESULT), predicate])
        else:
            init = Literal(at, 0)
            condition = Literal(at, True)
            counted = Call(at, "_+_", [Ident(at, RESULT), Literal(at, 1)])
            step = Call(at, "_?_:_", [predicate, counted, Ident(at, RESULT)])
            result = Call(at, "_==_", [Ident(at, RESULT), Literal(at, 1)])
        return Comprehension(at, kind, target, names, RESULT, init, condition, step, result, (None, predicate))

    return expand


def _transform(kind: str, count: int, *, filtered: bool) -> Macro:
    """Macros that build a list or map: `kind` is map, filter, list, entries or entry."""

    def expand(at: int, target: Node | None, args: list[Node]) -> Node:
        assert target is not None
        names = _names(args, count, "argument is not an identifier")
        condition = args[count] if filtered else None
        value = args[0] if kind == "filter" else args[-1]
        accumulated = Ident(at, RESULT)
        init: Node = ListLiteral(at, []) if kind in ("map", "filter") else MapLiteral(at, [])
        if kind in ("map", "filter"):
            step: Node = Call(at, "_+_", [accumulated, ListLiteral(at, [value])])
        elif kind == "entries":
            step = Call(at, "cel.@mapInsert", [accumulated, Ident(at, names[0]), value])
        else:
            step = Call(at, "cel.@mapInsert", [accumulated, value])
        if condition is not None:
            step = Call(at, "_?_:_", [condition, step, Ident(at, RESULT)])
        return Comprehension(
            at,
            kind,
            target,
            names,
            RESULT,
            init,
            Literal(at, True),
            step,
            Ident(at, RESULT),
            (condition, value),
        )

    return expand


def _bind(at: int, kind: str, name: str, value: Node, body: Node) -> Comprehension:
    """Give a value a name within an expression: a loop over nothing whose accumulator is the name."""
    nothing = ListLiteral(at, [])
    return Comprehension(
        at, kind, nothing, (_UNUSED, ""), name, value, Literal(at, False), Ident(at, name), body, (value, body)
    )


def _opt_map(function: str) -> Macro:
    def expand(at: int, target: Node | None, args: list[Node]) -> Node:
        assert target is not None
        name, body = args
        if not isinstance(name, Ident):
            raise MacroError(name.at, f"{function}() variable name must be a simple identifier")
        # The target stands in the tree twice; the checker looks at it once.
        bound: Node = _bind(at, "bind", name.name, Call(at, "value", [], target), body)
        if function == "optMap":
            bound = Call(at, "optional.of", [bound])
        args = [Call(at, "hasValue", [], target), bound, Call(at, "optional.none", [])]
        return OptionalMap(at, args, target, name.name, body, function == "optMap")

    return expand


def _sort_by(at: int, target: Node | None, args: list[Node]) -> Node:
    assert target is not None
    if isinstance(target, (Literal, MapLiteral)):
        raise MacroError(
            target.at, "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        )
    keys = _transform("map", 1, filtered=False)(at, Ident(at, _SORT_INPUT), args)
    body = Call(at, "@sortByAssociatedKeys", [keys], Ident(at, _SORT_INPUT))
    return _bind(at, "bind", _SORT_INPUT, target, body)


MACROS: Final[Mapping[tuple[str, int, bool], Macro]] = {
    ("has", 1, False): _has,
    ("all", 2, True): _quantifier("all", 1),
    ("exists", 2, True): _quantifier("exists", 1),
    ("exists_one", 2, True): _quantifier("exists_one", 1),
    ("map", 2, True): _transform("map", 1, filtered=False),
    ("map", 3, True): _transform("map", 1, filtered=True),
    ("filter", 2, True): _transform("filter", 1, filtered=True),
    ("all", 3, True): _quantifier("all", 2),
    ("exists", 3, True): _quantifier("exists", 2),
    ("exists_one", 3, True): _quantifier("exists_one", 2),
    ("existsOne", 3, True): _quantifier("exists_one", 2),
    ("transformList", 3, True): _transform("map", 2, filtered=False),
    ("transformList", 4, True): _transform("map", 2, filtered=True),
    ("transformMap", 3, True): _transform("entries", 2, filtered=False),
    ("transformMap", 4, True): _transform("entries", 2, filtered=True),
    ("transformMapEntry", 3, True): _transform("entry", 2, filtered=False),
    ("transformMapEntry", 4, True): _transform("entry", 2, filtered=True),
    ("optMap", 2, True): _opt_map("optMap"),
    ("optFlatMap", 2, True): _opt_map("optFlatMap"),
    ("sortBy", 2, True): _sort_by,
}
