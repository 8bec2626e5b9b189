"""Mutating admission policies: what their expressions want changed.

The result is either the operations of a JSON patch or an object to be merged as server-side apply would; doing it is
up to admission, which knows how objects are patched and merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.json_values import to_json
from nagaya.apiserver.cel.policy import Match, MatchConditions
from nagaya.apiserver.cel.policy_expressions import Evaluation, Expression, Input, OutOfBudgetError, PolicyCompiler
from nagaya.apiserver.cel.policy_types import JSON_PATCH, OBJECT, JsonPatch, WrittenObject, misnamed
from nagaya.apiserver.cel.values import CelError
from nagaya.apiserver.meta.status import JsonObject


class MutationError(Exception):
    """A mutation that cannot be computed; the text is the real server's."""


@dataclass(frozen=True, slots=True)
class Patch:
    """JSON patch operations to apply. If a `test` among them fails, the object stays as it is."""

    operations: list[JsonObject]


@dataclass(frozen=True, slots=True)
class ApplyConfiguration:
    """Fields to merge into the object, without its apiVersion and kind."""

    fields: JsonObject


class Mutation:
    """One mutation of a policy. It is evaluated on the object as the mutations before it left it."""

    def __init__(self, mutation: JsonObject, compiler: PolicyCompiler) -> None:
        self._variables = compiler.variables
        self._is_patch = mutation.get("patchType") == "JSONPatch"
        body = mutation.get("jsonPatch" if self._is_patch else "applyConfiguration") or {}
        returns = types.list_of(JSON_PATCH) if self._is_patch else OBJECT
        self._expression: Expression = compiler.compile(body.get("expression") or "", (returns,), patches=True)

    def compute(self, given: Input) -> Patch | ApplyConfiguration:
        """What is to be changed about a request's object. Raises MutationError."""
        if self._expression.problem is not None:
            raise MutationError(self._expression.problem.detail)
        try:
            value = Evaluation(given, self._variables).evaluate(self._expression)
        except (CelError, OutOfBudgetError) as error:
            raise MutationError(str(error)) from None
        return Patch([_operation(each) for each in value]) if self._is_patch else _configuration(value)


class MutatingPolicy:
    """A MutatingAdmissionPolicy, compiled. Immutable."""

    def __init__(self, spec: JsonObject) -> None:
        compiler = PolicyCompiler(params=spec.get("paramKind") is not None)
        for variable in spec.get("variables") or ():
            compiler.add_variable(variable.get("name") or "", variable.get("expression") or "")
        conditions = spec.get("matchConditions") or ()
        self._conditions = MatchConditions(conditions, spec.get("failurePolicy"), compiler) if conditions else None
        self.mutations = [Mutation(each, compiler) for each in spec.get("mutations") or ()]

    def match(self, given: Input) -> Match:
        """Whether the policy is meant for a request."""
        return Match(True) if self._conditions is None else self._conditions.match(given)


def _check_names(value: Any) -> None:
    wrong = misnamed(value) if isinstance(value, WrittenObject) else []
    if wrong:
        raise MutationError("type mismatch: " + "\n".join(wrong))


def _operation(value: Any) -> JsonObject:
    if not isinstance(value, JsonPatch):
        raise MutationError("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch")
    operation: JsonObject = {"op": value.member("op"), "path": value.member("path")}
    if value.member("from"):
        operation["from"] = value.member("from")
    if "value" in value.fields:
        written = value.fields["value"]
        _check_names(written)
        try:
            operation["value"] = to_json(written)
        except CelError as error:
            raise MutationError(
                f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {error}"
            ) from None
    return operation


def _configuration(value: Any) -> ApplyConfiguration:
    _check_names(value)
    try:
        return ApplyConfiguration(to_json(value))
    except CelError as error:
        raise MutationError(f"invalid return type: {error}") from None
