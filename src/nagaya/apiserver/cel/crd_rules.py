"""The rules in the schemas of custom resources, made executable (`x-kubernetes-validations`).

`compile_rules` is the `RuleCompiler` that the CRD room asks for. A rule sees its value as `self` and, if it mentions
it, the value that this one replaces as `oldSelf`, both typed by the schema. Everything that can go wrong has the real
server's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.budget import PER_CALL_LIMIT, Budget
from nagaya.apiserver.cel.environment import BASE, Environment
from nagaya.apiserver.cel.extents import REQUEST, Extent, extent_of
from nagaya.apiserver.cel.objects import adopter, with_object_metadata
from nagaya.apiserver.cel.program import CompileError, PlanError, Program, compile, worst_cost
from nagaya.apiserver.cel.schema_types import SchemaTypes
from nagaya.apiserver.cel.types import CelType
from nagaya.apiserver.cel.values import NONE, CelError, CostExceededError, NoSuchOverloadError, Optional
from nagaya.apiserver.crd import field_paths
from nagaya.apiserver.crd.rules import Budget as ObjectBudget
from nagaya.apiserver.crd.rules import RuleCost, RuleFailure, RuleProblem
from nagaya.apiserver.crd.schema import read
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.field_errors import Cause
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.types import MISSING

_SELF_TYPE: Final = "selfType"
_MAX_MESSAGE: Final = 5 * 1024
_CAUSES: Final = {
    "FieldValueForbidden": Cause.FORBIDDEN,
    "FieldValueRequired": Cause.REQUIRED,
    "FieldValueDuplicate": Cause.DUPLICATE,
}
_NO_TYPE: Final = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert"
    " structural schema to CEL declarations"
)
_OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


def compile_rules(schema: JsonObject, *, resource_root: bool) -> NodeRules:
    """Compile the rules of a schema node; rules that do not compile are in the result's `problems`."""
    return NodeRules(schema, resource_root)


class NodeRules:
    """The compiled rules of one schema node. Immutable."""

    def __init__(self, schema: JsonObject, resource_root: bool) -> None:
        self._structs = SchemaTypes()
        self._declared = self._structs.declare(schema, _SELF_TYPE, resource_root=resource_root)
        self._extent = extent_of(schema, resource_root=resource_root)
        self._adopt = adopter(with_object_metadata(schema) if resource_root else schema)
        self._rules = [
            _Rule(rule, index, schema, self._declared, self._structs)
            for index, rule in enumerate(schema.get("x-kubernetes-validations") or ())
        ]
        self._uses_old = any(rule.transition for rule in self._rules)

    @property
    def problems(self) -> Sequence[RuleProblem]:
        """Why some of the rules do not compile."""
        return [problem for rule in self._rules for problem in rule.problems]

    @property
    def transitions(self) -> Sequence[bool]:
        """For each rule, whether it mentions `oldSelf`."""
        return [rule.transition for rule in self._rules]

    @property
    def most_values(self) -> int:
        """How many values of this sort fit into one request, with a comma between them."""
        return 0 if self._extent is None else REQUEST // (self._extent.least_bytes + 1)

    def costs(self) -> Sequence[RuleCost]:
        """What each rule can cost; nothing for those that do not compile."""
        if self._declared is None or self._extent is None:
            return [RuleCost() for _ in self._rules]
        return [rule.cost(self._declared, self._structs, self._extent) for rule in self._rules]

    def check(self, value: Any, old: Any, budget: ObjectBudget) -> Sequence[RuleFailure]:
        """The rules that do not hold for a value, in order. `old` is MISSING if the value replaces nothing."""
        bindings: dict[str, Any] = {}
        broken: CelError | None = None
        try:
            bindings["self"] = self._adopt(value)
            if self._uses_old and old is not MISSING:
                bindings["oldSelf"] = self._adopt(old)
        except CelError as error:
            broken = error
        failures: list[RuleFailure] = []
        for rule in self._rules:
            failure = rule.check(bindings, broken, old is MISSING, budget)
            if failure is not None:
                failures.append(failure)
                if failure.fatal:
                    break
        return failures


class _Rule:
    """One rule with its message."""

    def __init__(
        self, rule: JsonObject, index: int, schema: JsonObject, declared: CelType | None, structs: SchemaTypes
    ) -> None:
        self.problems: list[RuleProblem] = []
        self._text = rule.get("rule") or ""
        self._shown = (rule.get("message") or self._text).strip()
        self._default = self._shown if rule.get("message") else f"failed rule: {self._shown}"
        self._cause = _CAUSES.get(rule.get("reason") or "", Cause.INVALID)
        self._optional = rule.get("optionalOldSelf") is True
        self._field_path = _field_path(rule.get("fieldPath") or "", schema)
        self._program: Program | None = None
        self._message: Program | None = None
        if not self._text.strip():
            return
        if declared is None:
            # Nothing is known about such values; their rules are refused when written and never run.
            self.problems.append(RuleProblem(index, "rule", _NO_TYPE, Cause.INTERNAL))
            return
        self._compile(rule, index, _environment(declared, structs, optional=self._optional))

    def _compile(self, rule: JsonObject, index: int, environment: Environment) -> None:
        try:
            self._program = _compile_as(self._text, environment, types.BOOL, "cel expression must evaluate to a bool")
        except _RejectedError as error:
            self.problems.append(RuleProblem(index, "rule", str(error)))
            return
        message = rule.get("messageExpression")
        if message:
            try:
                self._message = _compile_as(
                    message,
                    environment,
                    types.STRING,
                    "messageExpression must evaluate to a string",
                    "messageExpression ",
                )
            except _RejectedError as error:
                self.problems.append(RuleProblem(index, "messageExpression", str(error)))

    def cost(self, declared: CelType, structs: SchemaTypes, extent: Extent) -> RuleCost:
        """What the rule can cost. It is compiled once more, because hardly any rule is ever asked for it."""
        if self._program is None:
            return RuleCost()
        environment = _environment(declared, structs, optional=self._optional)
        message = 0 if self._message is None else worst_cost(self._message.expression, environment, extent)
        return RuleCost(worst_cost(self._text, environment, extent), message)

    @property
    def transition(self) -> bool:
        """Whether the rule mentions `oldSelf`."""
        return self._program is not None and "oldSelf" in self._program.references

    def check(
        self, values: dict[str, Any], broken: CelError | None, old_is_missing: bool, budget: ObjectBudget
    ) -> RuleFailure | None:
        """Evaluate the rule on `self` and, if there is one, `oldSelf`. With `broken` there is no such value."""
        if self._program is None:
            if self.problems and self.problems[0].cause is not Cause.INTERNAL:
                return RuleFailure(f"rule compile error: {self.problems[0].detail}", broken=True)
            return None
        bindings = values
        if self.transition:
            if self._optional:
                old = Optional(values["oldSelf"]) if "oldSelf" in values else NONE
                bindings = {**values, "oldSelf": old}
            elif old_is_missing:
                return None
        spent = Budget(PER_CALL_LIMIT)
        try:
            if broken is not None:
                raise broken
            holds = self._program.evaluate(bindings, spent)
        except (CelError, CostExceededError) as error:
            return self._charge(spent, budget) or self._evaluation_failure(error)
        over = self._charge(spent, budget)
        if over is not None or holds is True:
            return over
        return self._failure(bindings, budget)

    def _charge(self, spent: Budget, budget: ObjectBudget) -> RuleFailure | None:
        if spent.spent > budget.left:
            return RuleFailure(_OUT_OF_BUDGET, broken=True, fatal=True)
        budget.left -= spent.spent
        return None

    def _evaluation_failure(self, error: CelError | CostExceededError) -> RuleFailure:
        if isinstance(error, NoSuchOverloadError):
            message = (
                f"'{error}': call arguments did not match a supported operator, function or macro signature for rule:"
                f" {self._shown}"
            )
        elif isinstance(error, CostExceededError):
            message = (
                f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule:"
                f" {self._shown}"
            )
            return RuleFailure(message, transition=self.transition, broken=True, fatal=True)
        else:
            message = f"{error} evaluating rule: {self._shown}"
        return RuleFailure(message, transition=self.transition, broken=True)

    def _failure(self, bindings: dict[str, Any], budget: ObjectBudget) -> RuleFailure:
        message = self._default
        if self._message is not None and self._can_speak(self._message, bindings):
            try:
                message = self._expressed(self._message, bindings, budget) or message
            except _RejectedError as error:
                return RuleFailure(
                    str(error), field_path=self._field_path, transition=self.transition, broken=True, fatal=True
                )
        return RuleFailure(message, self._cause, self._field_path, self.transition)

    def _can_speak(self, message: Program, bindings: dict[str, Any]) -> bool:
        """The real server never has an optional `oldSelf` for messages, so those that mention it say nothing."""
        return "oldSelf" not in message.references or ("oldSelf" in bindings and not self._optional)

    def _expressed(self, program: Program, bindings: dict[str, Any], budget: ObjectBudget) -> str:
        """What the message expression says, or nothing if it does not say anything usable."""
        spent = Budget(PER_CALL_LIMIT)
        result: Any = None
        try:
            result = program.evaluate(bindings, spent)
        except CelError:
            result = None
        except CostExceededError:
            quoted = gostring.quote(program.expression)
            raise _RejectedError(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression:"
                f" {quoted}"
            ) from None
        if spent.spent > budget.left:
            raise _RejectedError(
                "messageExpression evaluation failed due to running out of cost budget, no further validation rules"
                " will be run"
            )
        budget.left -= spent.spent
        if not isinstance(result, str):
            return ""
        text = result.strip()
        return "" if "\n" in text or len(text.encode()) > _MAX_MESSAGE else text


class _RejectedError(Exception):
    """An expression cannot be used; the text says why."""


def _compile_as(text: str, environment: Environment, wanted: CelType, mismatch: str, what: str = "") -> Program:
    try:
        program = compile(text, environment)
    except CompileError as error:
        raise _RejectedError(f"{what}compilation failed: {error}") from None
    except PlanError as error:
        raise _RejectedError(f"{what or 'program '}instantiation failed: {error}") from None
    if program.result_type != wanted:
        raise _RejectedError(mismatch)
    return program


def _environment(declared: CelType, structs: SchemaTypes, *, optional: bool) -> Environment:
    old = types.optional_of(declared) if optional else declared
    return BASE.extend({"self": declared, "oldSelf": old}, structs)


def _field_path(text: str, schema: JsonObject) -> str:
    if not text:
        return ""
    try:
        path, names, _ = field_paths.resolve(text, read(schema))
    except ValueError:
        return ""
    return str(path) if names else ""
