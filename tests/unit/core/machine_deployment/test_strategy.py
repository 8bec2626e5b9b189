"""How far a rollout may go, in machines."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.core.machine_deployment.strategy import InvalidStrategy, Limits, kind_of_strategy, limits
from support.builders import machine_deployment
from support.subtest_cases import subtest_cases


def spec(replicas: int, strategy: dict[str, Any] | None = None) -> Any:
    draft = machine_deployment().having(spec={"replicas": replicas})
    if strategy is not None:
        draft = draft.having(spec={"rollout": {"strategy": strategy}})
    return draft.made().spec


def rolling(replicas: int, surge: int | str, unavailable: int | str) -> Limits:
    update = {"maxSurge": surge, "maxUnavailable": unavailable}
    return limits(spec(replicas, {"type": "RollingUpdate", "rollingUpdate": update}))


@subtest_cases(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (2, "0%", "1%", (0, 1)),
        (1, "0%", "1%", (0, 1)),
        (2, "1%", "25%", (1, 0)),
        (1, "1%", "25%", (1, 0)),
        (10, "25%", "25%", (3, 2)),
        (10, 3, 1, (3, 1)),
        (3, 0, 10, (0, 3)),
        (6, 10, 0, (10, 0)),
        (0, 1, 1, (1, 0)),
        (3, 0, 0, (0, 1)),
    ],
)
def test_shares_are_rounded_so_that_a_rollout_can_go_on(
    replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]
) -> None:
    found = rolling(replicas, surge, unavailable)
    assert (found.max_surge, found.max_unavailable) == expected


def test_a_deployment_without_a_strategy_rolls_one_machine_at_a_time() -> None:
    assert kind_of_strategy(spec(3)) == "RollingUpdate"
    assert limits(spec(3)) == Limits(3, max_surge=1, max_unavailable=0)


def test_a_deployment_with_half_a_strategy_gets_the_other_half() -> None:
    update = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    assert limits(spec(3, update)) == Limits(3, max_surge=1, max_unavailable=2)


def test_on_delete_has_no_surge() -> None:
    assert limits(spec(3, {"type": "OnDelete"})) == Limits(3)


@pytest.mark.parametrize("value", ["lots", "10", "x%", "%"])
def test_what_is_neither_a_number_nor_a_share_is_named(value: str) -> None:
    with pytest.raises(InvalidStrategy, match=r"rollingUpdate\.maxSurge"):
        rolling(3, value, 0)


def test_an_unknown_strategy_is_named() -> None:
    with pytest.raises(InvalidStrategy, match="unexpected deployment strategy type: Recreate"):
        limits(spec(3, {"type": "Recreate"}))
