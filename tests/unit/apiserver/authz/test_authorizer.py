from __future__ import annotations

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import (
    NO_OPINION,
    AlwaysAllow,
    Decision,
    PrivilegedGroup,
    Rules,
    RuleUnion,
    Union,
    Verdict,
)

ASKED = Attributes(User("bob"), "get", resource="pods")


class Says:
    def __init__(self, verdict: Verdict, reason: str = "") -> None:
        self.decision = Decision(verdict, reason)

    def authorize(self, attributes: Attributes) -> Decision:
        return self.decision


def test_the_first_with_an_opinion_decides() -> None:
    deny, allow = Says(Verdict.DENY, "no"), Says(Verdict.ALLOW, "yes")
    shrug = Says(Verdict.NO_OPINION, "hm")
    assert Union([shrug, allow, deny]).authorize(ASKED) == Decision(Verdict.ALLOW, "yes")
    assert Union([shrug, deny, allow]).authorize(ASKED) == Decision(Verdict.DENY, "no")
    assert not Union([deny]).authorize(ASKED).allowed


def test_reasons_of_those_without_opinion_are_kept() -> None:
    first, second = Says(Verdict.NO_OPINION, "a"), Says(Verdict.NO_OPINION, "b")
    assert Union([first, Says(Verdict.NO_OPINION), second]).authorize(ASKED).reason == "a\nb"
    assert Union([]).authorize(ASKED) is NO_OPINION


def test_members_of_masters_may_do_everything() -> None:
    boss = Attributes(User("boss", groups=("system:masters",)), "delete", resource="nodes")
    assert PrivilegedGroup().authorize(boss).allowed
    assert PrivilegedGroup().authorize(ASKED) is NO_OPINION


def test_always_allow_says_so_in_rules() -> None:
    assert AlwaysAllow().authorize(ASKED).allowed
    assert AlwaysAllow().rules_for(User("bob"), "x").resource_rules == [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    ]


class Lists:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def rules_for(self, user: User, namespace: str) -> Rules:
        return self.rules


def test_rules_are_put_together() -> None:
    first, second = Rules([{"verbs": ["a"]}], [], errors=("x",)), Rules([], [{"verbs": ["b"]}], True, ("y", "z"))
    whole = RuleUnion([Lists(first), Lists(second)]).rules_for(User("bob"), "n")
    assert whole == Rules([{"verbs": ["a"]}], [{"verbs": ["b"]}], True, ("x", "y", "z"))
