"""ClusterRoles put together from others."""

from __future__ import annotations

from typing import Any

from support.in_process import Api

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def rule(resource: str) -> dict[str, Any]:
    return {"apiGroups": ["example.com"], "resources": [resource], "verbs": ["get"]}


def role(name: str, *resources: str, label: str = "") -> dict[str, Any]:
    labels = {"labels": {label: "true"}} if label else {}
    return {"metadata": {"name": name, **labels}, "rules": [rule(each) for each in resources]}


async def test_the_default_roles_have_their_rules(api: Api) -> None:
    view = await api.must(f"{ROLES}/view")
    assert any("configmaps" in each["resources"] for each in view["rules"])
    admin = await api.must(f"{ROLES}/admin")
    assert any("rolebindings" in each["resources"] for each in admin["rules"])


async def test_a_role_that_extends_another_is_in_it_and_leaves_it_again(api: Api) -> None:
    label = "rbac.authorization.k8s.io/aggregate-to-view"
    await api.create(ROLES, role("widgets", "widgets", label=label))
    for name in ("view", "edit", "admin"):  # edit holds view, and admin holds edit
        assert rule("widgets") in (await api.must(f"{ROLES}/{name}"))["rules"]
    await api.merge(f"{ROLES}/widgets", {"rules": [rule("gadgets")]})
    rules = (await api.must(f"{ROLES}/view"))["rules"]
    assert rule("gadgets") in rules
    assert rule("widgets") not in rules
    await api.delete(f"{ROLES}/widgets")
    assert rule("gadgets") not in (await api.must(f"{ROLES}/admin"))["rules"]
    assert await api.quiet()


async def test_rules_written_into_such_a_role_by_hand_do_not_stay(api: Api) -> None:
    body = {
        "metadata": {"name": "all"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part-of-all": "true"}}]},
        "rules": [rule("mine")],
    }
    await api.create(ROLES, body)
    assert not (await api.must(f"{ROLES}/all")).get("rules")
    await api.create(ROLES, role("part", "parts", label="part-of-all"))
    assert (await api.must(f"{ROLES}/all"))["rules"] == [rule("parts")]
