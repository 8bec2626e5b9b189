"""Compiling an expression and running it: the two steps that everything else here is made for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from nagaya.apiserver.cel.budget import Budget
from nagaya.apiserver.cel.checker import check
from nagaya.apiserver.cel.cost import estimate_cost
from nagaya.apiserver.cel.environment import Environment
from nagaya.apiserver.cel.extents import Extent
from nagaya.apiserver.cel.parser import parse
from nagaya.apiserver.cel.planner import PlanError, Planner, weigh
from nagaya.apiserver.cel.source import NOWHERE, CompileError, Issues
from nagaya.apiserver.cel.steps import Frame, Step
from nagaya.apiserver.cel.syntax import Ident, Node, Select, children
from nagaya.apiserver.cel.types import CelType
from nagaya.apiserver.cel.validators import validate
from nagaya.apiserver.cel.values import CelError

__all__ = ["CompileError", "PlanError", "Program", "compile", "worst_cost"]

_Made = TypeVar("_Made")


class Program:
    """A compiled expression. Immutable; any number of evaluations may use it."""

    __slots__ = ("_names", "_size", "_step", "_weight", "expression", "references", "result_type")

    def __init__(
        self,
        expression: str,
        result_type: CelType,
        names: tuple[str, ...],
        planned: tuple[Step, int, int],
        references: frozenset[str],
    ) -> None:
        self.expression = expression
        self.result_type = result_type
        self.references = references
        self._names = names
        self._step, self._size, self._weight = planned

    def evaluate(self, bindings: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """The expression's value. Raises CelError when it has none, CostExceededError when it takes too long.

        Variables without a binding must not be used by the expression; `references` says which ones are.
        """
        budget = budget or Budget()
        frame: Frame = [None] * self._size
        frame[0] = budget
        for place, name in enumerate(self._names, 1):
            frame[place] = bindings.get(name)
        budget.spend(self._weight)
        try:
            return self._step(frame)
        except RecursionError:
            raise CelError("expression is nested too deeply") from None


def compile(expression: str, environment: Environment) -> Program:
    """Read, check and plan an expression. Raises CompileError with what is wrong with it, or PlanError when a constant
    part of it cannot be computed."""
    return _with_tree(expression, environment, lambda root: _plan(expression, root, environment))


def worst_cost(expression: str, environment: Environment, data: Extent) -> int:
    """The most that an expression can cost if its variables are data of that extent. Raises CompileError."""
    return _with_tree(expression, environment, lambda root: estimate_cost(root, data))


def _with_tree(expression: str, environment: Environment, make: Callable[[Node], _Made]) -> _Made:
    """Read and check an expression, and make something of its tree."""
    issues = Issues(expression)
    root = parse(expression, environment.macros, issues)
    if issues or root is None:
        raise CompileError(str(issues))
    try:
        check(root, environment, issues)
        if not issues:
            validate(root, issues)
        if issues:
            raise CompileError(str(issues))
        return make(root)
    except RecursionError:
        issues.report(NOWHERE, "max recursion depth exceeded")
        raise CompileError(str(issues)) from None


def _plan(expression: str, root: Node, environment: Environment) -> Program:
    names = tuple(environment.variables)
    planner = Planner(environment, {name: place for place, name in enumerate(names, 1)})
    step = planner.plan(root)
    return Program(expression, root.type, names, (step, planner.size, weigh(root)), frozenset(_references(root)))


def _references(node: Node) -> set[str]:
    if isinstance(node, Ident):
        return {node.name}
    if isinstance(node, Select) and node.resolved is not None:
        return {node.resolved}
    return {name for child in children(node) for name in _references(child)}
