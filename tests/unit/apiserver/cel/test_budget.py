from __future__ import annotations

import pytest

from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.budget import Budget, charge, charge_deeply
from nagaya.apiserver.cel.environment import BASE
from nagaya.apiserver.cel.program import compile
from nagaya.apiserver.cel.values import CostExceededError
from support.subtest_cases import subtest_cases

HOSTILE = [
    "lists.range(100000).all(x, lists.range(1000).all(y, x + y >= 0))",
    "lists.range(9223372036854775807).size() > 0",
    "numbers.all(x, text == other)",
    "numbers.all(x, text < other || true)",
    "numbers.all(x, numbers.max() > 0)",
    "numbers.all(x, !text.contains('b'))",
    "numbers.all(x, text.matches('(a|aa)+$'))",
    "numbers.all(x, [text] == [other])",
    "numbers.all(x, x in numbers)",
    "numbers.all(x, '%s'.format([numbers]) != '')",
    "numbers.map(x, text).join() == ''",
    "numbers.map(x, text + other).size() > 0",
    "text.replace('', other) == ''",
    "numbers.distinct().size() > 0",
    "sets.contains(numbers, numbers)",
]
ENVIRONMENT = BASE.extend({"numbers": types.list_of(types.INT), "text": types.STRING, "other": types.STRING})
VALUES = {"numbers": list(range(100_000)), "text": "a" * 500_000, "other": "a" * 500_000}


@subtest_cases("expression", HOSTILE)
def test_no_expression_runs_forever(expression: str) -> None:
    with pytest.raises(CostExceededError, match="operation cancelled: actual cost limit exceeded"):
        compile(expression, ENVIRONMENT).evaluate(VALUES)


def test_running_out_of_budget_cannot_be_absorbed() -> None:
    program = compile("numbers.all(x, numbers.all(y, true)) || true", ENVIRONMENT)
    with pytest.raises(CostExceededError):
        program.evaluate(VALUES, Budget(1000))


def test_what_an_evaluation_cost_is_known_afterwards() -> None:
    budget = Budget()
    compile("numbers.size() > 5", ENVIRONMENT).evaluate({**VALUES, "numbers": [1]}, budget)
    assert 0 < budget.spent < 20


def test_small_values_cost_nothing_extra() -> None:
    budget = Budget(0)
    charge(budget, "short")
    charge_deeply(budget, "short")
    assert budget.spent == 0


def test_large_values_cost_what_is_in_them() -> None:
    budget = Budget()
    charge(budget, "x" * 5000)
    assert budget.spent == 500
    charge_deeply(budget, [["y"] * 10] * 20)
    assert budget.spent == 500 + 20 + 200
