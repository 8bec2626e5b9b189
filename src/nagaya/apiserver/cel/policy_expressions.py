"""Compiling and evaluating the expressions of admission policies and of webhooks' match conditions.

All of them see `object`, `oldObject`, `request` and `namespaceObject`; some see `params`, `authorizer` and the
policy's own `variables`, which are evaluated when they are first used and at most once per request. Expressions that
do not compile are kept with their problem: what becomes of a request then is up to the policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.authorizer import Authorizer
from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.budget import PER_CALL_LIMIT, PER_REQUEST_LIMIT, Budget
from nagaya.apiserver.cel.declarations import function, overload, parse_type
from nagaya.apiserver.cel.environment import BASE, Environment
from nagaya.apiserver.cel.library.authorization import AuthorizerValue, ResourceCheck
from nagaya.apiserver.cel.policy_types import VARIABLES, PolicyTypes, of_variable
from nagaya.apiserver.cel.program import CompileError, PlanError, Program, compile
from nagaya.apiserver.cel.types import CelType
from nagaya.apiserver.cel.values import NOTHING, CelError, CostExceededError, MapLike
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.status import JsonObject

ANYTHING: Final[tuple[CelType, ...]] = ()
"""As return types: whatever the expression returns is fine."""

OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"

_PATCH_FUNCTIONS: Final = {
    "jsonpatch.escapeKey": function(
        "jsonpatch.escapeKey",
        overload("(string) -> string", lambda text: text.replace("~", "~0").replace("/", "~1")),
    )
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an expression cannot be used. An internal one is not about its text."""

    detail: str
    internal: bool = False


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression, or the problem it has."""

    text: str
    program: Program | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """What an admission request offers to expressions.

    `request` is the AdmissionRequest without the objects; `params` is None if the policy has no parameters or
    found none.
    """

    request: JsonObject
    object: JsonObject | None = None
    old_object: JsonObject | None = None
    namespace: JsonObject | None = None
    params: JsonObject | None = None
    user: User | None = None
    authorizer: Authorizer | None = None


class OutOfBudgetError(Exception):
    """A request has used up what its expressions may cost."""

    def __init__(self) -> None:
        super().__init__(OUT_OF_BUDGET)


class PolicyCompiler:
    """Compiles the expressions of one policy. Variables must be added in order, since each may use those before it."""

    def __init__(self, *, params: bool, composition: bool = True) -> None:
        self._params = params
        self._composition = composition
        self._types: dict[str, CelType] = {}
        self.variables: dict[str, Expression] = {}

    def add_variable(self, name: str, text: str) -> Expression:
        """Compile a variable and make it known to the expressions compiled from now on."""
        expression = self.compile(text, ANYTHING)
        self.variables[name] = expression
        known = types.DYN if expression.program is None else of_variable(expression.program.result_type)
        self._types = {**self._types, name: known}
        return expression

    def compile(
        self, text: str, returns: Sequence[CelType], *, authorizer: bool = True, patches: bool = False
    ) -> Expression:
        """Compile an expression that has to return one of the given types."""
        try:
            program = compile(text, self._environment(authorizer=authorizer, patches=patches))
        except CompileError as error:
            return Expression(text, problem=Problem(f"compilation failed: {error}"))
        except PlanError as error:
            return Expression(text, problem=Problem(f"program instantiation failed: {error}", internal=True))
        if returns and program.result_type not in returns:
            wanted = _spelled(returns[0]) if len(returns) == 1 else f"one of [{' '.join(map(_spelled, returns))}]"
            return Expression(
                text, problem=Problem(f"must evaluate to {wanted} but got {_spelled(program.result_type)}")
            )
        return Expression(text, program)

    def _environment(self, *, authorizer: bool, patches: bool) -> Environment:
        variables = {
            "object": types.DYN,
            "oldObject": types.DYN,
            "namespaceObject": types.struct("kubernetes.Namespace"),
            "request": types.struct("kubernetes.AdmissionRequest"),
        }
        if self._params:
            variables["params"] = types.DYN
        if authorizer:
            variables["authorizer"] = parse_type("kubernetes.authorization.Authorizer")
            variables["authorizer.requestResource"] = parse_type("kubernetes.authorization.ResourceCheck")
        if self._composition:
            variables["variables"] = types.struct(VARIABLES)
        structs = PolicyTypes(self._types, patches=patches)
        functions = {**BASE.functions, **_PATCH_FUNCTIONS} if patches else BASE.functions
        return Environment(functions, variables, structs)


def _spelled(given: CelType) -> str:
    """A type by its full run-time name."""
    inner = f"({', '.join(map(_spelled, given.params))})" if given.params else ""
    return given.name + inner


class Evaluation:
    """One request being held against the expressions of one policy. Not shared between requests."""

    def __init__(self, given: Input, variables: dict[str, Expression], limit: int = PER_REQUEST_LIMIT) -> None:
        self.left = limit
        self._bindings: dict[str, Any] = {
            "object": given.object,
            "oldObject": given.old_object,
            "namespaceObject": given.namespace,
            "request": given.request,
            "params": given.params,
            "variables": _Variables(self, variables),
        }
        if given.authorizer is not None and given.user is not None:
            asked = AuthorizerValue(given.authorizer, given.user)
            self._bindings["authorizer"] = asked
            self._bindings["authorizer.requestResource"] = _requested(asked, given.request)

    def evaluate(self, expression: Expression) -> Any:
        """The expression's value. Raises CelError with the words of the real server, and OutOfBudgetError."""
        if expression.program is None:
            assert expression.problem is not None
            raise CelError(f"compilation error: {expression.problem.detail}")
        try:
            return self.run(expression.program)
        except (CelError, CostExceededError) as error:
            raise CelError(f"expression '{expression.text}' resulted in error: {error}") from None

    def run(self, program: Program) -> Any:
        """Run a program at the request's expense."""
        budget = Budget(PER_CALL_LIMIT)
        try:
            return program.evaluate(self._bindings, budget)
        finally:
            self.left -= budget.spent
            if self.left < 0:
                raise OutOfBudgetError


def _requested(origin: AuthorizerValue, request: JsonObject) -> ResourceCheck:
    resource = request.get("requestResource") or request.get("resource") or {}
    return ResourceCheck(
        origin,
        resource.get("group") or "",
        resource.get("resource") or "",
        subresource=request.get("requestSubResource") or request.get("subResource") or "",
        namespace=request.get("namespace") or "",
        name=request.get("name") or "",
    )


class _Variables(MapLike):
    """The policy's variables; each is evaluated when it is first asked for."""

    __slots__ = ("_evaluation", "_expressions", "_known")

    type_name = VARIABLES

    def __init__(self, evaluation: Evaluation, expressions: dict[str, Expression]) -> None:
        self._evaluation = evaluation
        self._expressions = expressions
        self._known: dict[str, Any] = {}

    def member(self, name: str) -> Any:
        """The variable's value."""
        value = self.find(name)
        if value is NOTHING:
            raise CelError(f"no such key: {name}")
        return value

    def find(self, key: Any) -> Any:
        """The variable's value, or `NOTHING`."""
        if key not in self._known:
            expression = self._expressions.get(key)
            if expression is None:
                return NOTHING
            self._known[key] = self._evaluated(key, expression)
        value = self._known[key]
        if isinstance(value, CelError):
            raise CelError(str(value))
        return value

    def _evaluated(self, name: str, expression: Expression) -> Any:
        quoted = gostring.quote(name)
        if expression.program is None:
            assert expression.problem is not None
            return CelError(f"composited variable {quoted} fails to compile: {expression.problem.detail}")
        try:
            return self._evaluation.run(expression.program)
        except (CelError, CostExceededError) as error:
            return CelError(f"composited variable {quoted} fails to evaluate: {error}")

    def keys(self) -> list[Any]:
        """The names of the variables."""
        return list(self._expressions)

    def size(self) -> int:
        """How many variables there are."""
        return len(self._expressions)

    def native(self) -> Any:
        """Variables cannot leave the expression as a whole."""
        raise CelError("disallowed conversion")
