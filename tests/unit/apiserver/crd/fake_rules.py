"""Rules that are Python functions: enough to test where rules apply and what becomes of their failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nagaya.apiserver.crd.rules import Budget, RuleCost, RuleFailure, RuleProblem
from nagaya.apiserver.meta.field_errors import Cause
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.types import MISSING

_CAUSES = {
    None: Cause.INVALID,
    "FieldValueRequired": Cause.REQUIRED,
    "FieldValueForbidden": Cause.FORBIDDEN,
    "FieldValueDuplicate": Cause.DUPLICATE,
}


class FakeRules:
    """Each rule is a Python expression over `self`, `oldSelf` and `MISSING`; `crash` cannot be evaluated."""

    def __init__(self, rules: list[JsonObject], resource_root: bool) -> None:
        self._rules = rules
        self.resource_root = resource_root
        self.transitions = [_mentions_old(rule) for rule in rules]
        self.problems: Sequence[RuleProblem] = [
            RuleProblem(position, "rule", "compilation failed: no such thing")
            for position, rule in enumerate(rules)
            if "nonsense" in rule["rule"]
        ]

    most_values = 1000

    def costs(self) -> list[RuleCost]:
        return [RuleCost(rule.get("cost", 1)) for rule in self._rules]

    def check(self, value: Any, old: Any, budget: Budget) -> list[RuleFailure]:
        failures = []
        for rule, transition in zip(self._rules, self.transitions, strict=True):
            if transition and old is MISSING and not rule.get("optionalOldSelf"):
                continue
            budget.left -= 1
            if rule["rule"] == "crash":
                failures.append(RuleFailure("no such key: x evaluating rule: crash", broken=True))
            elif not eval(rule["rule"], {"self": value, "oldSelf": old, "MISSING": MISSING}):
                message = rule.get("message") or f"failed rule: {rule['rule']}"
                cause = _CAUSES[rule.get("reason")]
                failures.append(
                    RuleFailure(message, cause, rule.get("fieldPath", "").removeprefix("."), transition=transition)
                )
        return failures


def _mentions_old(rule: JsonObject) -> bool:
    return "oldSelf" in rule["rule"]


def compile_rules(schema: JsonObject, *, resource_root: bool) -> FakeRules:
    return FakeRules(schema["x-kubernetes-validations"], resource_root)
