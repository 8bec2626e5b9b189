"""Finding the type of every part of an expression, and what is wrong with it, before it is ever run.

Names are resolved in place: `optional.of(x)` becomes a call of the function `optional.of`, `net.IP` the name of a type.
Messages are the real server's.
"""

from __future__ import annotations

from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.declarations import Function, Overload
from nagaya.apiserver.cel.environment import Environment
from nagaya.apiserver.cel.source import Issues
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
    qualified_name,
)
from nagaya.apiserver.cel.types import BOOL, DYN, ERROR, INT, Bindings, CelType, Kind
from nagaya.apiserver.cel.values import Uint

_LITERALS = {
    type(None): types.NULL,
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
}


_MAX_REPEATED = 100
_SCALARS = frozenset({Kind.BOOL, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.STRING, Kind.BYTES, Kind.LIST, Kind.MAP})


def check(root: Node, environment: Environment, issues: Issues) -> None:
    """Set the type of each node. Only if nothing was reported may the tree be used further."""
    checker = _Checker(environment, issues)
    checker.check(root)
    checker.close(root)


class _Checker:
    def __init__(self, environment: Environment, issues: Issues) -> None:
        self._environment = environment
        self._issues = issues
        self._bindings = Bindings()
        self._scopes: list[dict[str, CelType]] = [dict(environment.variables)]
        self._fresh = 0

    def close(self, node: Node) -> None:
        """Replace type parameters by what they turned out to be."""
        node.type = self._bindings.substitute(node.type, close=True)
        for child in children(node):
            self.close(child)

    def check(self, node: Node) -> None:
        """Find the type of a node and everything below it."""
        if node.type is not types.UNCHECKED:
            return
        match node:
            case Literal():
                node.type = _LITERALS[type(node.value)]
            case Ident():
                self._ident(node)
            case Select():
                self._select(node)
            case Call():
                self._call(node)
            case ListLiteral():
                self._list(node)
            case MapLiteral():
                self._map(node)
            case StructLiteral():
                self._struct(node)
            case Comprehension():
                self._comprehension(node)

    # Names.

    def _lookup(self, name: str) -> CelType | None:
        bare = name.removeprefix(".")
        scopes = self._scopes[:1] if name.startswith(".") else reversed(self._scopes)
        for scope in scopes:
            found = scope.get(bare)
            if found is not None:
                return found
        return self._environment.type_named(bare)

    def _undeclared(self, at: int, name: str) -> None:
        self._issues.report(at, f"undeclared reference to '{name}' (in container '')")

    def _ident(self, node: Ident) -> None:
        found = self._lookup(node.name)
        if found is None:
            self._undeclared(node.at, node.name)
            node.type = ERROR
            return
        node.name = node.name.removeprefix(".")
        node.type = found

    def _select(self, node: Select) -> None:
        name = None if node.test_only else qualified_name(node)
        found = None if name is None else self._lookup(name)
        if found is not None:
            assert name is not None
            node.resolved = name.removeprefix(".")
            node.type = found
            return
        result = self._field(node.at, node.operand, node.field, optional=False)
        node.type = BOOL if node.test_only else self._bindings.substitute(result)

    def _field(self, at: int, operand: Node, field: str, *, optional: bool) -> CelType:
        self.check(operand)
        target, was_optional = types.unwrap_optional(self._bindings.substitute(operand.type))
        result = ERROR
        match target.kind:
            case Kind.MAP:
                result = target.params[1]
            case Kind.STRUCT:
                result = self._struct_field(at, target.name, field)
            case Kind.PARAM:
                # Bind it to dyn, so that it cannot turn out to be something else later.
                self._bindings.assignable(DYN, target)
                result = DYN
            case _:
                if not types.is_dyn_or_error(target):
                    self._issues.report(at, f"type '{target}' does not support field selection")
                result = DYN
        return types.optional_of(result) if was_optional or optional else result

    def _struct_field(self, at: int, struct: str, field: str) -> CelType:
        if not self._environment.has_struct(struct):
            self._issues.report(at, f"unexpected failed resolution of '{struct}'")
            return ERROR
        found = self._environment.field_type(struct, field)
        if found is None:
            self._issues.report(at, f"undefined field '{field}'")
            return ERROR
        return found

    # Calls.

    def _call(self, node: Call) -> None:
        if node.function == "_?._":
            self._optional_select(node)
            return
        if isinstance(node, OptionalMap):
            self._twice(node.optional)
        for arg in node.args:
            self.check(arg)
        if node.target is None:
            declared = self._environment.function(node.function)
            if declared is None:
                self._undeclared(node.at, node.function)
                node.type = ERROR
                return
            node.function = declared.name
            self._resolve(node, declared)
            return
        prefix = qualified_name(node.target)
        if prefix is not None:
            declared = self._environment.function(f"{prefix}.{node.function}")
            if declared is not None:
                node.function, node.target = declared.name, None
                self._resolve(node, declared)
                return
        self.check(node.target)
        declared = self._environment.function(node.function)
        if declared is not None:
            self._resolve(node, declared)
            return
        node.type = ERROR
        self._undeclared(node.at, node.function)

    def _twice(self, node: Node) -> None:
        """Check what the real server's tree holds twice: its findings are told twice."""
        before = len(self._issues.found)
        self.check(node)
        self._issues.found += self._issues.found[before : before + _MAX_REPEATED]

    def _optional_select(self, node: Call) -> None:
        operand, field = node.args
        assert isinstance(field, Literal)
        field.type = types.STRING
        result = self._field(node.at, operand, field.value, optional=True)
        node.type = self._bindings.substitute(result)

    def _resolve(self, node: Call, declared: Function) -> None:
        if declared.name in ("_&&_", "_||_"):
            self._logical(node)
            return
        operands = node.args if node.target is None else [node.target, *node.args]
        given = [operand.type for operand in operands]
        result: CelType | None = None
        matching: list[Overload] = []
        for overload in declared.overloads:
            if overload.is_method is (node.target is None) or _cannot_fit(overload, given):
                continue
            params, returned = self._instantiate(overload)
            if not self._bindings.all_assignable(given, params):
                continue
            matching.append(overload)
            returned = self._bindings.substitute(returned)
            if result is None:
                result = returned
            elif not types.is_dyn(result) and returned != result:
                result = DYN
        if result is None:
            shown = [str(self._bindings.substitute(each, close=True)) for each in given]
            receiver = "" if node.target is None else f"{shown.pop(0)}."
            self._issues.report(
                node.at,
                f"found no matching overload for '{declared.name}' applied to '{receiver}({', '.join(shown)})'",
            )
            node.type = ERROR
            return
        node.type = result
        node.overloads = tuple(matching)

    def _logical(self, node: Call) -> None:
        fine = True
        for arg in node.args:
            if not self._bindings.assignable(arg.type, BOOL):
                self._mismatch(arg.at, BOOL, arg.type)
                fine = False
        node.type = BOOL if fine else ERROR

    def _instantiate(self, overload: Overload) -> tuple[tuple[CelType, ...], CelType]:
        if not overload.type_params:
            return overload.params, overload.result
        fresh = {each: self._fresh_type() for each in overload.type_params}
        return tuple(_replace(fresh, each) for each in overload.params), _replace(fresh, overload.result)

    def _fresh_type(self) -> CelType:
        self._fresh += 1
        return types.param(f"_var{self._fresh - 1}")

    def _mismatch(self, at: int, expected: CelType, actual: CelType) -> None:
        self._issues.report(at, f"expected type '{expected}' but found '{actual}'")

    # Literals.

    def _optional_value(self, node: Node, marked: bool) -> CelType:
        """The type of an element; one marked with a question mark has to be an optional."""
        if not marked:
            return node.type
        inner, was_optional = types.unwrap_optional(node.type)
        if not was_optional and not types.is_dyn(inner):
            self._mismatch(node.at, types.optional_of(inner), inner)
        return inner

    def _join(self, previous: CelType | None, current: CelType) -> CelType:
        if previous is None:
            return current
        # Mixed literals are refused later, by a validator that knows where they are allowed.
        return types.most_general(previous, current) if self._bindings.assignable(previous, current) else DYN

    def _list(self, node: ListLiteral) -> None:
        element: CelType | None = None
        for index, each in enumerate(node.elements):
            self.check(each)
            element = self._join(element, self._optional_value(each, index in node.optional))
        node.type = types.list_of(element or self._fresh_type())

    def _map(self, node: MapLiteral) -> None:
        key_type: CelType | None = None
        value_type: CelType | None = None
        for entry in node.entries:
            assert entry.key is not None
            self.check(entry.key)
            key_type = self._join(key_type, entry.key.type)
            self.check(entry.value)
            value_type = self._join(value_type, self._optional_value(entry.value, entry.optional))
        node.type = types.map_of(key_type or self._fresh_type(), value_type or self._fresh_type())

    def _struct(self, node: StructLiteral) -> None:
        found = self._lookup(node.name)
        if found is None:
            self._undeclared(node.at, node.name)
            node.type = ERROR
            return
        node.name = node.name.removeprefix(".")
        node.type = ERROR
        if found.kind is not Kind.TYPE:
            self._issues.report(node.at, f"'{found.name}' is not a type")
        elif found.params[0].kind is not Kind.STRUCT:
            self._issues.report(node.at, f"'{found.params[0].name}' is not a message type")
        else:
            node.type = found.params[0]
        for entry in node.fields:
            self.check(entry.value)
            expected = self._struct_field(entry.at, node.name, entry.name)
            given = self._optional_value(entry.value, entry.optional)
            if not self._bindings.assignable(expected, given):
                self._issues.report(
                    entry.at, f"expected type of field '{entry.name}' is '{expected}' but provided type is '{given}'"
                )

    def _comprehension(self, node: Comprehension) -> None:
        self.check(node.range)
        self.check(node.init)
        ranged = self._bindings.substitute(node.range.type)
        accumulated = node.init.type
        self._scopes.append({node.accumulator: accumulated})
        first, second = self._iterated(node, ranged)
        self._scopes.append({node.variable: first})
        if node.variable2:
            self._scopes[-1][node.variable2] = second
        for part, expected in ((node.condition, BOOL), (node.step, accumulated)):
            self.check(part)
            if not self._bindings.assignable(expected, part.type):
                self._mismatch(part.at, expected, part.type)
        self._scopes.pop()
        self.check(node.result)
        self._scopes.pop()
        node.type = self._bindings.substitute(node.result.type)

    def _iterated(self, node: Comprehension, ranged: CelType) -> tuple[CelType, CelType]:
        """The types of the loop's one or two variables."""
        match ranged.kind:
            case Kind.LIST:
                element = ranged.params[0]
                return (INT, element) if node.variable2 else (element, DYN)
            case Kind.MAP:
                return ranged.params[0], ranged.params[1]
            case Kind.DYN | Kind.ERROR | Kind.PARAM:
                self._bindings.assignable(DYN, ranged)
                return DYN, DYN
        self._issues.report(
            node.range.at,
            f"expression of type '{ranged}' cannot be range of a comprehension (must be list, map, or dynamic)",
        )
        return ERROR, ERROR


def _cannot_fit(overload: Overload, given: list[CelType]) -> bool:
    """Whether it can be seen without binding anything that the arguments are not the overload's."""
    if len(overload.params) != len(given):
        return True
    for param, each in zip(overload.params, given, strict=True):
        if param.kind is not each.kind and param.kind in _SCALARS and each.kind in _SCALARS:
            return True
    return False


def _replace(fresh: dict[CelType, CelType], given: CelType) -> CelType:
    if given.kind is Kind.PARAM:
        return fresh[given]
    if not given.params:
        return given
    return CelType(given.kind, given.name, tuple(_replace(fresh, each) for each in given.params))
