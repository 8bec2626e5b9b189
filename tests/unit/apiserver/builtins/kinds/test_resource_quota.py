"""ResourceQuotas."""

from typing import Any, cast

import pytest

from nagaya.apiserver.registry.call import Call
from support.core_kinds import CoreKinds

NO_CALL = cast(Call, None)  # what is tested does not look at it


def quota(hard: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"spec": {"hard": hard, **more}}


def selector(*expressions: dict[str, Any]) -> dict[str, Any]:
    return {"matchExpressions": list(expressions)}


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (
            quota({"foo": "1"}),
            ["must be a standard resource type or fully qualified", "must be a standard resource for quota"],
        ),
        (quota({"pods": "1.5"}), ["must be an integer"]),
        (quota({"cpu": "1"}, scopes=["BestEffort"]), ["unsupported scope applied to resource"]),
        (quota({"pods": "1"}, scopes=["Odd"]), ["unsupported scope"]),
        (quota({"pods": "1"}, scopes=["BestEffort", "NotBestEffort"]), ["conflicting scopes"]),
        (
            quota({"pods": "1"}, scopeSelector=selector({"scopeName": "PriorityClass", "operator": "In"})),
            ["must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"],
        ),
        (
            quota({"pods": "1"}, scopeSelector=selector({"scopeName": "PriorityClass", "operator": "Odd"})),
            ["not a valid selector operator"],
        ),
    ],
)
async def test_what_is_wrong_with_a_quota_is_said(sent: dict[str, Any], found: list[str]) -> None:
    told = await CoreKinds().refused("resourcequotas", sent)
    assert [each[-len(due) :] for each, due in zip(told, found, strict=True)] == found


async def test_a_selector_is_shown_as_go_has_it() -> None:
    expression = {"scopeName": "PriorityClass", "operator": "Exists"}
    (found,) = await CoreKinds().refused("resourcequotas", quota({"secrets": "1"}, scopeSelector=selector(expression)))
    assert found == (
        "spec.scopeSelector.matchExpressions: Invalid value: "
        '{"MatchExpressions":[{"ScopeName":"PriorityClass","Operator":"Exists","Values":null}]}: '
        "unsupported scope applied to resource"
    )


async def test_scopes_stay_and_use_is_counted_elsewhere() -> None:
    kinds = CoreKinds()
    await kinds.create(
        "resourcequotas", {**quota({"pods": "1"}, scopes=["BestEffort"]), "status": {"used": {"a": "1"}}}
    )
    found = await kinds.change_refused("resourcequotas", "it", {"spec": {"scopes": None}})
    assert found == ["spec.scopes: Invalid value: null: field is immutable"]
    changed = await kinds.change("resourcequotas", "it", {"status": {"used": {"pods": "1"}}})
    assert changed["status"] == {}
    changed = await kinds.change("resourcequotas", "it", {"status": {"used": {"pods": "1"}}, "spec": {}}, "status")
    assert changed["status"] == {"used": {"pods": "1"}}
    found = await kinds.change_refused("resourcequotas", "it", {"status": {"hard": {"pods": "-1"}}}, "status")
    assert found == ['status.hard[pods]: Invalid value: "-1": must be greater than or equal to 0']


async def test_requests_above_limits_are_warned_of() -> None:
    kinds = CoreKinds()
    made = await kinds.create("resourcequotas", quota({"cpu": "2", "limits.cpu": "1"}))
    strategy = kinds.resource("resourcequotas").strategy
    assert strategy.warn_create(made, NO_CALL) == ["ResourceQuota cpu (2) should be less than limits.cpu (1)"]
