"""The tree an expression is read into.

Every node knows the offset that messages about it point to (`at`): the operator of an operation, the opening bracket
of a call or literal, the first character of a name. The checker sets `type` on each node and resolves names in place;
after that the tree is not changed any more.
"""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.cel.declarations import Overload
from nagaya.apiserver.cel.types import UNCHECKED, CelType


class Node:
    """Any expression."""

    __slots__ = ("at", "type")

    def __init__(self, at: int) -> None:
        self.at = at
        self.type: CelType = UNCHECKED


class Literal(Node):
    """A constant, held as the value it evaluates to."""

    __slots__ = ("value",)

    def __init__(self, at: int, value: Any) -> None:
        super().__init__(at)
        self.value = value


class Ident(Node):
    """A name."""

    __slots__ = ("name",)

    def __init__(self, at: int, name: str) -> None:
        super().__init__(at)
        self.name = name


class Select(Node):
    """`operand.field`, or with `test_only` the question `has(operand.field)`.

    `resolved` is set when the whole chain of names turned out to be one declared name, such as a qualified type.
    """

    __slots__ = ("field", "operand", "resolved", "test_only")

    def __init__(self, at: int, operand: Node, field: str, *, test_only: bool = False) -> None:
        super().__init__(at)
        self.operand = operand
        self.field = field
        self.test_only = test_only
        self.resolved: str | None = None


class Call(Node):
    """A function, operator or method. Overloads that fit its argument types are in `overloads` after checking."""

    __slots__ = ("args", "function", "overloads", "target")

    def __init__(self, at: int, function: str, args: list[Node], target: Node | None = None) -> None:
        super().__init__(at)
        self.function = function
        self.target = target
        self.args = args
        self.overloads: tuple[Overload, ...] = ()


class OptionalMap(Call):
    """`target.optMap(variable, body)`, checked as the conditional it is short for.

    The planner evaluates `optional` once, where the conditional names it twice. With `wrap` the body's value becomes an
    optional; without (`optFlatMap`) it is one already.
    """

    __slots__ = ("body", "optional", "variable", "wrap")

    def __init__(self, at: int, args: list[Node], optional: Node, variable: str, body: Node, wrap: bool) -> None:
        super().__init__(at, "_?_:_", args)
        self.optional = optional
        self.variable = variable
        self.body = body
        self.wrap = wrap


class ListLiteral(Node):
    """`[a, ?b]`; `optional` holds the indices written with a question mark."""

    __slots__ = ("elements", "optional")

    def __init__(self, at: int, elements: list[Node], optional: frozenset[int] = frozenset()) -> None:
        super().__init__(at)
        self.elements = elements
        self.optional = optional


class Entry:
    """One `key: value` of a map, or `field: value` of a struct, where `key` is then the field's name."""

    __slots__ = ("at", "key", "name", "optional", "value")

    def __init__(self, at: int, key: Node | None, name: str, value: Node, optional: bool) -> None:
        self.at = at
        self.key = key
        self.name = name
        self.value = value
        self.optional = optional


class MapLiteral(Node):
    """`{key: value}`."""

    __slots__ = ("entries",)

    def __init__(self, at: int, entries: list[Entry]) -> None:
        super().__init__(at)
        self.entries = entries


class StructLiteral(Node):
    """`Name{field: value}`."""

    __slots__ = ("fields", "name")

    def __init__(self, at: int, name: str, fields: list[Entry]) -> None:
        super().__init__(at)
        self.name = name
        self.fields = fields


class Comprehension(Node):
    """A loop over a list or map, made by a macro.

    The general form (init, condition, step, result over the accumulator) is what the checker sees, so that messages
    are the usual ones. `kind` and `parts` name the macro and its own arguments, so that the planner can run it as a
    plain loop.
    """

    __slots__ = (
        "accumulator",
        "condition",
        "init",
        "kind",
        "parts",
        "range",
        "result",
        "step",
        "variable",
        "variable2",
    )

    def __init__(
        self,
        at: int,
        kind: str,
        range: Node,
        variables: tuple[str, str],
        accumulator: str,
        init: Node,
        condition: Node,
        step: Node,
        result: Node,
        parts: tuple[Node | None, Node],
    ) -> None:
        super().__init__(at)
        self.kind = kind
        self.range = range
        self.variable, self.variable2 = variables
        self.accumulator = accumulator
        self.init = init
        self.condition = condition
        self.step = step
        self.result = result
        self.parts = parts


def children(node: Node) -> list[Node]:
    """The direct sub-expressions, in the order they are written."""
    match node:
        case Select():
            return [node.operand]
        case OptionalMap():
            return [node.optional, node.body]
        case Call():
            return node.args if node.target is None else [node.target, *node.args]
        case ListLiteral():
            return node.elements
        case MapLiteral():
            return [each for entry in node.entries for each in (entry.key, entry.value) if each is not None]
        case StructLiteral():
            return [entry.value for entry in node.fields]
        case Comprehension():
            return [node.range, node.init, node.condition, node.step, node.result]
    return []


def qualified_name(node: Node) -> str | None:
    """`a.b.c` as text when the node is nothing but names and dots."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test_only:
        prefix = qualified_name(node.operand)
        return None if prefix is None else f"{prefix}.{node.field}"
    return None
