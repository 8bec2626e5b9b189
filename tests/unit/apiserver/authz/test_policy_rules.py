from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.policy_rules import RuleSet, compacted, describe, uncovered
from support.subtest_cases import subtest_cases

BOB = User("bob")
VERBS = ["get", "list", "*"]
GROUPS = ["", "apps", "*"]
RESOURCES = ["pods", "pods/log", "pods/scale", "*/scale", "*", "pods/*"]
NAMES = ["a", "b"]
PATHS = ["/x", "/x/*", "/x/y", "*", "/x**"]


def some(values: list[str], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=3, unique=True)


RULES = st.lists(
    st.fixed_dictionaries(
        {"verbs": some(VERBS), "apiGroups": some(GROUPS), "resources": some(RESOURCES)},
        optional={"resourceNames": some(NAMES)},
    )
    | st.fixed_dictionaries({"verbs": some(VERBS), "nonResourceURLs": some(PATHS)}),
    max_size=3,
)
REQUESTS = st.builds(
    lambda verb, group, resource, part, name: Attributes(BOB, verb, group, "v1", resource, part, name),
    st.sampled_from(["get", "list", "delete"]),
    st.sampled_from(["", "apps", "x"]),
    st.sampled_from(["pods", "jobs"]),
    st.sampled_from(["", "log", "scale"]),
    st.sampled_from(["", "a", "c"]),
) | st.builds(
    lambda verb, path: Attributes(BOB, verb, path=path, is_resource=False),
    st.sampled_from(["get", "post"]),
    st.sampled_from(["/x", "/x/", "/x/y", "/xy", "/"]),
)


def plainly_allows(rule: dict[str, Any], asked: Attributes) -> bool:
    """The meaning of a rule, written down without any thought of speed."""
    if "*" not in rule["verbs"] and asked.verb not in rule["verbs"]:
        return False
    if not asked.is_resource:
        return any(
            path in ("*", asked.path) or (path.endswith("*") and asked.path.startswith(path.rstrip("*")))
            for path in rule.get("nonResourceURLs", [])
        )
    whole = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    resources = rule.get("resources", [])
    return (
        any(group in ("*", asked.group) for group in rule.get("apiGroups", []))
        and any(
            resource in ("*", whole) or (bool(asked.subresource) and resource == f"*/{asked.subresource}")
            for resource in resources
        )
        and (not rule.get("resourceNames") or asked.name in rule["resourceNames"])
    )


@given(RULES, REQUESTS)
def test_a_rule_set_allows_what_one_of_its_rules_allows(rules: list[dict[str, Any]], asked: Attributes) -> None:
    assert RuleSet(rules).allows(asked) == any(plainly_allows(rule, asked) for rule in rules)


@given(RULES, RULES, REQUESTS)
def test_what_is_covered_is_allowed(
    owned: list[dict[str, Any]], wanted: list[dict[str, Any]], asked: Attributes
) -> None:
    if not uncovered(owned, wanted) and RuleSet(wanted).allows(asked):
        assert RuleSet(owned).allows(asked)


@given(RULES, RULES)
def test_adding_what_is_missing_covers_everything(owned: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    assert uncovered(owned + uncovered(owned, wanted), wanted) == []


@given(RULES)
def test_rules_cover_themselves(rules: list[dict[str, Any]]) -> None:
    assert uncovered(rules, rules) == []


def rule(verbs: str, group: str, resources: str, names: str = "") -> dict[str, Any]:
    found = {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
    return found | ({"resourceNames": names.split()} if names else {})


@subtest_cases(
    ("owned", "wanted", "covered"),
    [
        (rule("get list", "", "pods"), rule("get", "", "pods"), True),
        (rule("get", "", "pods"), rule("*", "", "pods"), False),
        (rule("*", "*", "*"), rule("get", "x", "y/z", "n"), True),
        (rule("get", "", "*/scale"), rule("get", "", "pods/scale"), True),
        (rule("get", "", "*/scale"), rule("get", "", "scale"), False),
        (rule("get", "", "pods", "a b"), rule("get", "", "pods", "a"), True),
        (rule("get", "", "pods", "a"), rule("get", "", "pods"), False),
        (rule("get", "", "pods"), rule("get", "", "pods", "a"), True),
        ({"verbs": ["get"], "nonResourceURLs": ["/x/*"]}, {"verbs": ["get"], "nonResourceURLs": ["/x/y*"]}, True),
        ({"verbs": ["get"], "nonResourceURLs": ["/x"]}, {"verbs": ["get"], "nonResourceURLs": ["/x/y"]}, False),
        (rule("*", "*", "*"), {"verbs": ["get"], "nonResourceURLs": ["/x"]}, False),
    ],
)
def test_coverage(owned: dict[str, Any], wanted: dict[str, Any], covered: bool) -> None:
    assert (uncovered([owned], [wanted]) == []) is covered


def test_what_is_missing_is_told_compactly() -> None:
    missing = uncovered([rule("get", "", "pods")], [rule("get list delete", "", "pods secrets", "a")])
    assert [describe(each) for each in compacted(missing)] == [
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["list" "delete"]}',
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get" "list" "delete"]}',
    ]
    paths = uncovered([], [{"verbs": ["get"], "nonResourceURLs": ["/a"]}])
    assert [describe(each) for each in compacted(paths)] == ['{NonResourceURLs:["/a"], Verbs:["get"]}']
