"""Turning a checked expression into Python closures.

A closure takes the evaluation's frame, a list: its budget first, then one place per variable. Where the checker knows
the types, operators become the plain Python operation; what the checker could not know is tested at run time, with the
usual errors. Parts that are constant are computed once, here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from nagaya.apiserver.cel import access, loops, operators, steps
from nagaya.apiserver.cel.budget import Budget, charge
from nagaya.apiserver.cel.declarations import Function, Implementation, is_certain
from nagaya.apiserver.cel.environment import Environment
from nagaya.apiserver.cel.operators import MAX_INT, MIN_INT
from nagaya.apiserver.cel.steps import Frame, Step
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
    StructLiteral,
    children,
)
from nagaya.apiserver.cel.types import Kind, unwrap_optional
from nagaya.apiserver.cel.values import (
    NONE,
    CelError,
    NoSuchOverloadError,
    Optional,
    TypeValue,
    type_name,
)
from nagaya.apiserver.crd import patterns

_CONVERSIONS: Final = frozenset(
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"]
)
_WITH_PATTERN: Final = frozenset({"matches", "find", "findAll"})
_FAST: Final = frozenset({Kind.STRING, Kind.INT, Kind.BOOL})


class PlanError(Exception):
    """A constant part of the expression cannot be computed."""


class Constant:
    """A step whose value is known. Called like any other step."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, _: Frame) -> Any:
        return self.value


def weigh(node: Node) -> int:
    """How many steps evaluating the node takes, loops counted once."""
    return 1 + sum(map(weigh, children(node)))


class Planner:
    """Makes the steps of one expression. `places` says where in the frame each variable is."""

    def __init__(self, environment: Environment, places: dict[str, int]) -> None:
        self._environment = environment
        self._places = places
        self.size = 1 + len(places)

    def plan(self, node: Node) -> Step:
        """The step that computes the node's value."""
        match node:
            case Literal():
                return Constant(node.value)
            case Ident():
                return self._variable(node.name, node)
            case Select():
                return self._select(node)
            case OptionalMap():
                return self._optional_map(node)
            case Call():
                return self._call(node)
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case StructLiteral():
                return self._struct(node)
            case Comprehension():
                return self._comprehension(node)
        raise AssertionError(f"unknown node {node!r}")

    def _variable(self, name: str, node: Node) -> Step:
        place = self._places.get(name)
        if place is None:
            assert node.type.kind is Kind.TYPE
            if name in self._environment.structs.aliases:
                raise PlanError(f"reference to undefined type: {name}")
            return Constant(TypeValue(name))
        return lambda frame: frame[place]

    def _bound(self, names: tuple[str, ...], body: Callable[[], Step]) -> tuple[tuple[int, ...], Step]:
        """Plan something within which names stand for places of their own."""
        outer = self._places
        places = tuple(range(self.size, self.size + len(names)))
        self.size += len(names)
        self._places = {**outer, **dict(zip(names, places, strict=True))}
        try:
            return places, body()
        finally:
            self._places = outer

    # Fields and elements.

    def _select(self, node: Select) -> Step:
        if node.resolved is not None:
            return self._variable(node.resolved, node)
        operand, field = self.plan(node.operand), node.field
        _, optional = unwrap_optional(node.operand.type)
        if node.test_only:
            return lambda frame: access.has(operand(frame), field)
        if optional:
            return lambda frame: access.select_optional(operand(frame), field)
        if node.operand.type.kind is Kind.STRUCT:

            def of_object(frame: Frame) -> Any:
                value = operand(frame)
                try:
                    return value.member(field)
                except AttributeError:
                    return access.select(value, field)

            return of_object
        return lambda frame: access.select(operand(frame), field)

    def _index(self, node: Call) -> Step:
        operand, index = self.plan(node.args[0]), self.plan(node.args[1])
        if isinstance(index, Constant):
            try:
                access.check_key(index.value)
            except CelError as error:
                raise PlanError(str(error)) from error
        if node.function != "_[_]" or unwrap_optional(node.args[0].type)[1]:
            return lambda frame: access.select_optional(operand(frame), index(frame))
        return lambda frame: access.select(operand(frame), index(frame))

    # Calls.

    def _call(self, node: Call) -> Step:
        special = _SPECIAL.get(node.function)
        if special is not None and node.target is None:
            return special(self, node)
        if node.function in ("or", "orValue") and len(node.args) == 1 and node.target is not None:
            return self._otherwise(node)
        declared = self._environment.function(node.function)
        assert declared is not None
        nodes = node.args if node.target is None else [node.target, *node.args]
        planned = [self.plan(each) for each in nodes]
        if node.function in _WITH_PATTERN and isinstance(planned[1], Constant) and isinstance(planned[1].value, str):
            try:
                patterns.compiled(planned[1].value)
            except ValueError as error:
                raise PlanError(str(error)) from error
        chosen = self._choose(declared, node, nodes)
        step = steps.invocation(chosen, planned, declared.charged)
        if node.function in _CONVERSIONS and isinstance(planned[0], Constant):
            try:
                return Constant(step([Budget()]))
            except CelError as error:
                raise PlanError(str(error)) from error
        return step

    def _choose(self, declared: Function, node: Call, nodes: list[Node]) -> Implementation:
        """What computes the call: one implementation, or a choice among them by the values' types."""
        if declared.lenient:
            return node.overloads[0].implementation
        if len(node.overloads) == 1:
            overload = node.overloads[0]
            if all(is_certain(param, each.type) for param, each in zip(overload.params, nodes, strict=True)):
                return overload.implementation
            return steps.guarded(declared, (overload,))
        return steps.guarded(declared, declared.overloads)

    def _otherwise(self, node: Call) -> Step:
        assert node.target is not None
        first, second = self.plan(node.target), self.plan(node.args[0])
        unwrap = node.function == "orValue"

        def otherwise(frame: Frame) -> Any:
            value = first(frame)
            if not isinstance(value, Optional):
                return value
            if value.present:
                return value.value if unwrap else value
            return second(frame)

        return otherwise

    def _optional_map(self, node: OptionalMap) -> Step:
        optional = self.plan(node.optional)
        (place,), body = self._bound((node.variable,), lambda: self.plan(node.body))
        wrap = node.wrap

        def optional_map(frame: Frame) -> Any:
            value = optional(frame)
            if not isinstance(value, Optional):
                raise NoSuchOverloadError(f"no such overload: hasValue({type_name(value)})")
            if not value.present:
                return NONE
            frame[place] = value.value
            return Optional(body(frame)) if wrap else body(frame)

        return optional_map

    def _and(self, node: Call) -> Step:
        return steps.logical([self.plan(arg) for arg in node.args], decisive=False)

    def _or(self, node: Call) -> Step:
        return steps.logical([self.plan(arg) for arg in node.args], decisive=True)

    def _conditional(self, node: Call) -> Step:
        condition, truthy, falsy = (self.plan(arg) for arg in node.args)

        def conditional(frame: Frame) -> Any:
            decision = condition(frame)
            if decision is True:
                return truthy(frame)
            if decision is False:
                return falsy(frame)
            raise NoSuchOverloadError

        return conditional

    def _not(self, node: Call) -> Step:
        operand = self.plan(node.args[0])

        def negation(frame: Frame) -> bool:
            value = operand(frame)
            if value is True:
                return False
            if value is False:
                return True
            raise NoSuchOverloadError

        return negation

    def _equality(self, node: Call) -> Step:
        one, other = (self.plan(arg) for arg in node.args)
        # Values of these types are compared by Python as by CEL, and null is equal to none of them.
        same = node.args[0].type == node.args[1].type and node.args[0].type.kind in _FAST
        return steps.equality(one, other, same=same, negated=node.function == "_!=_")

    def _relation(self, node: Call) -> Step:
        one, other = (self.plan(arg) for arg in node.args)
        integers = all(arg.type.kind is Kind.INT for arg in node.args)
        return steps.relation(node.function, one, other, integers=integers)

    def _sum(self, node: Call) -> Step:
        one, other = (self.plan(arg) for arg in node.args)
        subtract = node.function == "_-_"
        general = operators.subtract if subtract else operators.add
        if node.args[0].type.kind is Kind.INT and node.args[1].type.kind is Kind.INT:

            def integers(frame: Frame) -> Any:
                left, right = one(frame), other(frame)
                try:
                    result = left - right if subtract else left + right
                except TypeError:
                    return general(left, right)
                return result if MIN_INT <= result <= MAX_INT else general(left, right)

            return integers

        def charged(frame: Frame) -> Any:
            result = general(one(frame), other(frame))
            charge(frame[0], result)
            return result

        return charged

    def _arithmetic(self, node: Call) -> Step:
        one, other = (self.plan(arg) for arg in node.args)
        operation = {"_*_": operators.multiply, "_/_": operators.divide, "_%_": operators.modulo}[node.function]
        return lambda frame: operation(one(frame), other(frame))

    def _negate(self, node: Call) -> Step:
        operand = self.plan(node.args[0])
        return lambda frame: operators.negate(operand(frame))

    def _in(self, node: Call) -> Step:
        item, container = (self.plan(arg) for arg in node.args)
        contains = operators.contains
        if isinstance(container, Constant) and isinstance(container.value, list):
            values = container.value
            if all(type(each) is str for each in values) and node.args[0].type.kind is Kind.STRING:
                known = frozenset(values)
                return lambda frame: item(frame) in known
        scanned = node.args[1].type.kind is not Kind.MAP

        def within(frame: Frame) -> bool:
            wanted, candidates = item(frame), container(frame)
            if scanned and isinstance(candidates, list) and len(candidates) > 10:
                frame[0].spend(len(candidates))
            return contains(candidates, wanted)

        return within

    # Literals and loops.

    def _list(self, node: ListLiteral) -> Step:
        parts = [self.plan(each) for each in node.elements]
        if not node.optional:
            if all(isinstance(step, Constant) for step in parts):
                return Constant([step([]) for step in parts])
            return lambda frame: [step(frame) for step in parts]
        marked = node.optional

        def with_optionals(frame: Frame) -> list[Any]:
            found = []
            for index, step in enumerate(parts):
                value = step(frame)
                if index in marked:
                    if not isinstance(value, Optional):
                        shown = access.shown(value)
                        raise CelError(f"cannot initialize optional list element from non-optional value {shown}")
                    if not value.present:
                        continue
                    value = value.value
                found.append(value)
            return found

        return with_optionals

    def _map(self, node: MapLiteral) -> Step:
        parts = []
        for entry in node.entries:
            assert entry.key is not None
            parts.append((self.plan(entry.key), self.plan(entry.value), entry.optional))

        def build(frame: Frame) -> dict[Any, Any]:
            made: dict[Any, Any] = {}
            for key_step, value_step, optional in parts:
                key, value = key_step(frame), value_step(frame)
                if optional:
                    if not isinstance(value, Optional):
                        name, shown = access.shown(key), access.shown(value)
                        raise CelError(f"cannot initialize optional entry '{name}' from non-optional value {shown}")
                    if not value.present:
                        made.pop(key, None)
                        continue
                    value = value.value
                loops.insert(made, key, value, replace=True)
            return made

        if all(isinstance(step, Constant) for pair in parts for step in pair[:2]):
            return Constant(build([]))
        return build

    def _struct(self, node: StructLiteral) -> Step:
        construct = self._environment.structs.constructor(node.name)
        if construct is None:
            raise PlanError(f"unknown type: {node.name}")
        parts = [(entry.name, self.plan(entry.value), entry.optional) for entry in node.fields]

        def build(frame: Frame) -> Any:
            fields: dict[str, Any] = {}
            for name, step, optional in parts:
                value = step(frame)
                if optional:
                    if not isinstance(value, Optional):
                        shown = access.shown(value)
                        raise CelError(f"cannot initialize optional entry '{name}' from non-optional value {shown}")
                    if not value.present:
                        continue
                    value = value.value
                fields[name] = value
            return construct(fields)

        return build

    def _comprehension(self, node: Comprehension) -> Step:
        first, second = node.parts
        if node.kind == "bind":
            assert first is not None
            value = self.plan(first)
            (place,), body = self._bound((node.accumulator,), lambda: self.plan(second))

            def bind(frame: Frame) -> Any:
                frame[place] = value(frame)
                return body(frame)

            return bind
        source = self.plan(node.range)
        names = (node.variable, node.variable2) if node.variable2 else (node.variable,)
        conditions: list[Step] = []

        def body_steps() -> Step:
            if first is not None:
                conditions.append(self.plan(first))
            return self.plan(second)

        places, step = self._bound(names, body_steps)
        weight = 2 + weigh(second) + (weigh(first) if first is not None else 0)
        return loops.LOOPS[node.kind](source, places, conditions[0] if conditions else None, step, weight)


_SPECIAL: Final[dict[str, Callable[[Planner, Call], Step]]] = {
    "_&&_": Planner._and,
    "_||_": Planner._or,
    "_?_:_": Planner._conditional,
    "!_": Planner._not,
    "-_": Planner._negate,
    "_==_": Planner._equality,
    "_!=_": Planner._equality,
    "_<_": Planner._relation,
    "_<=_": Planner._relation,
    "_>_": Planner._relation,
    "_>=_": Planner._relation,
    "_+_": Planner._sum,
    "_-_": Planner._sum,
    "_*_": Planner._arithmetic,
    "_/_": Planner._arithmetic,
    "_%_": Planner._arithmetic,
    "@in": Planner._in,
    "_[_]": Planner._index,
    "_[?_]": Planner._index,
    "_?._": Planner._index,
}
