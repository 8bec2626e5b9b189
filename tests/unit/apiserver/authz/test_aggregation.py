from __future__ import annotations

from typing import Any

from nagaya.apiserver.authz import bootstrap_policy
from nagaya.apiserver.authz.aggregation import aggregated_rules, needs_update


def role(name: str, rules: list[Any], selectors: list[Any] | None = None, **labels: str) -> dict[str, Any]:
    found: dict[str, Any] = {"metadata": {"name": name, "labels": labels}, "rules": rules}
    if selectors is not None:
        found["aggregationRule"] = {"clusterRoleSelectors": selectors}
    return found


def rule(verb: str) -> dict[str, Any]:
    return {"verbs": [verb], "apiGroups": [""], "resources": ["pods"]}


def test_only_roles_with_an_aggregation_rule_are_put_together() -> None:
    assert aggregated_rules(role("a", []), [role("b", [rule("get")])]) is None


def test_rules_are_taken_by_name_each_once_and_never_from_itself() -> None:
    whole = role("whole", [rule("old")], [{"matchLabels": {"x": "y"}}], x="y")
    parts = [
        role("c", [rule("get"), rule("watch")], x="y"),
        role("b", [rule("get"), rule("list")], x="y"),
        role("other", [rule("delete")], x="z"),
    ]
    assert aggregated_rules(whole, [*parts, whole]) == [rule("get"), rule("list"), rule("watch")]


def test_selectors_follow_one_another() -> None:
    selectors = [{"matchLabels": {"x": "2"}}, {"matchExpressions": [{"key": "x", "operator": "Exists"}]}]
    parts = [role("a", [rule("one")], x="1"), role("b", [rule("two")], x="2")]
    assert aggregated_rules(role("w", [], selectors), parts) == [rule("two"), rule("one")]


def test_the_default_roles_add_up() -> None:
    roles = list(bootstrap_policy.cluster_roles())
    by_name = {each["metadata"]["name"]: each for each in roles}
    for name in ("view", "edit", "admin"):
        rules = aggregated_rules(by_name[name], roles)
        assert rules is not None
        assert needs_update(by_name[name], rules)
        by_name[name]["rules"] = rules
    assert [len(by_name[name]["rules"]) for name in ("view", "edit", "admin")] == [12, 27, 29]


def test_no_rules_and_an_empty_list_are_the_same() -> None:
    assert not needs_update({"rules": None}, [])
    assert not needs_update({}, [])
    assert needs_update({}, [rule("get")])
