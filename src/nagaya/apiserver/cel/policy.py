"""Validating admission policies and match conditions: what their expressions decide about a request.

Which policies and bindings apply, and what is then done with a decision (deny, warn, audit), is admission's business.
A decision carries the message and reason that the client is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.policy_expressions import (
    Evaluation,
    Expression,
    Input,
    OutOfBudgetError,
    PolicyCompiler,
)
from nagaya.apiserver.cel.values import CelError, type_name
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.status import JsonObject

MATCH_CONDITIONS_LIMIT: Final = 2_500_000
"""What the match conditions of one object may cost together."""

_MAX_MESSAGE: Final = 5 * 1024


class Verdict(Enum):
    """How a validation ended."""

    ADMIT = "admit"
    DENY = "deny"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Decision:
    """What one validation of a policy says. An error denies unless the policy ignores failures."""

    verdict: Verdict
    denies: bool = False
    message: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AuditAnnotation:
    """A key with the value to publish, or the error that kept it from being computed."""

    key: str
    value: str = ""
    error: str = ""


@dataclass(slots=True)
class Outcome:
    """Everything a policy says about a request. Empty if its match conditions do not hold."""

    decisions: list[Decision] = field(default_factory=list)
    audit_annotations: list[AuditAnnotation] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Match:
    """Whether match conditions hold. `error` says why that cannot be known; the request then fails."""

    matches: bool
    failed_condition: str = ""
    error: str = ""


class MatchConditions:
    """The match conditions of a webhook or policy. One that is false decides; errors count only if none is."""

    def __init__(
        self, conditions: Sequence[JsonObject], failure_policy: str | None, compiler: PolicyCompiler | None = None
    ) -> None:
        compiler = compiler or PolicyCompiler(params=False, composition=False)
        self._ignores = failure_policy == "Ignore"
        self._variables = compiler.variables
        self._conditions = [
            (condition.get("name") or "", compiler.compile(condition.get("expression") or "", (types.BOOL,)))
            for condition in conditions
        ]

    def match(self, given: Input) -> Match:
        """Whether a request is meant."""
        evaluation = Evaluation(given, self._variables, MATCH_CONDITIONS_LIMIT)
        results: list[tuple[str, Any]] = []
        try:
            for name, expression in self._conditions:
                try:
                    results.append((name, evaluation.evaluate(expression)))
                except CelError as error:
                    results.append((name, error))
        except OutOfBudgetError as error:
            return Match(False, error="" if self._ignores else str(error))
        for name, result in results:
            if result is False:
                return Match(False, name)
        errors = [str(result) for _, result in results if isinstance(result, CelError)]
        if errors:
            return Match(False, error="" if self._ignores else status.aggregate(errors))
        return Match(True)


class ValidatingPolicy:
    """A ValidatingAdmissionPolicy, compiled. Immutable; expressions that do not compile deny when they are reached."""

    def __init__(self, spec: JsonObject) -> None:
        self._ignores = spec.get("failurePolicy") == "Ignore"
        compiler = PolicyCompiler(params=spec.get("paramKind") is not None)
        for variable in spec.get("variables") or ():
            compiler.add_variable(variable.get("name") or "", variable.get("expression") or "")
        self._variables = compiler.variables
        conditions = spec.get("matchConditions") or ()
        self._conditions = MatchConditions(conditions, spec.get("failurePolicy"), compiler) if conditions else None
        self._validations = [_Validation(each, compiler) for each in spec.get("validations") or ()]
        returns = (types.STRING, types.NULL)
        self._annotations = [
            (each.get("key") or "", compiler.compile(each.get("valueExpression") or "", returns))
            for each in spec.get("auditAnnotations") or ()
        ]

    def validate(self, given: Input) -> Outcome:
        """Hold a request against the policy."""
        if self._conditions is not None:
            match = self._conditions.match(given)
            if match.error:
                return Outcome([self._failed(match.error)])
            if not match.matches:
                return Outcome()
        evaluation = Evaluation(given, self._variables)
        try:
            results = [_attempt(evaluation, each.expression) for each in self._validations]
        except OutOfBudgetError as error:
            return Outcome([self._failed(str(error))])
        decisions = self._decide(given, evaluation.left, results)
        try:
            return Outcome(decisions, self._annotate(Evaluation(given, self._variables)))
        except OutOfBudgetError as error:
            return Outcome([self._failed(str(error))])

    def _failed(self, message: str) -> Decision:
        return Decision(Verdict.ERROR, not self._ignores, message)

    def _decide(self, given: Input, left: int, results: list[Any]) -> list[Decision]:
        # Message expressions see no authorizer, and pay from what the validations left.
        without = Input(given.request, given.object, given.old_object, given.namespace, given.params)
        messages = Evaluation(without, self._variables, left)
        decisions: list[Decision] = []
        exhausted = ""
        for validation, result in zip(self._validations, results, strict=True):
            try:
                message = "" if exhausted else validation.expressed(messages)
            except OutOfBudgetError as error:
                exhausted, message = str(error), ""
            if isinstance(result, CelError):
                decisions.append(self._failed(str(result)))
            elif exhausted:
                decisions.append(self._failed(f"failed messageExpression: {exhausted}"))
            elif result is True:
                decisions.append(Decision(Verdict.ADMIT))
            else:
                decisions.append(Decision(Verdict.DENY, True, message or validation.default, validation.reason))
        return decisions

    def _annotate(self, evaluation: Evaluation) -> list[AuditAnnotation]:
        found = []
        for key, expression in self._annotations:
            value = _attempt(evaluation, expression)
            if isinstance(value, CelError):
                if not self._ignores:
                    found.append(AuditAnnotation(key, error=str(value)))
            elif isinstance(value, str):
                if value.strip():
                    found.append(AuditAnnotation(key, value.strip()))
            elif value is not None:
                error = (
                    f"valueExpression '{expression.text}' resulted in unsupported return type: {type_name(value)}."
                    " Return type must be either string or null."
                )
                found.append(AuditAnnotation(key, error=error))
        return found


class _Validation:
    """One validation of a policy, with what to say when it fails."""

    def __init__(self, validation: JsonObject, compiler: PolicyCompiler) -> None:
        text = validation.get("expression") or ""
        self.expression = compiler.compile(text, (types.BOOL,))
        self.reason: str = validation.get("reason") or "Invalid"
        self.default = (validation.get("message") or "").strip() or f"failed expression: {text.strip()}"
        message = validation.get("messageExpression")
        self._message = compiler.compile(message, (types.STRING,), authorizer=False) if message else None

    def expressed(self, evaluation: Evaluation) -> str:
        """What the message expression says, or nothing if that is nothing usable."""
        if self._message is None:
            return ""
        value = _attempt(evaluation, self._message)
        text = value.strip() if isinstance(value, str) else ""
        return "" if "\n" in text or len(text.encode()) > _MAX_MESSAGE else text


def _attempt(evaluation: Evaluation, expression: Expression) -> Any:
    """The value, or the error as a value."""
    try:
        return evaluation.evaluate(expression)
    except CelError as error:
        return error
