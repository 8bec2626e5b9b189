"""What is said of a name that does not exist."""

from __future__ import annotations

import pytest

from nagaya.insight.picture.search import not_found
from nagaya.kube.key import Key

HERE = Key("default", "demo")


@pytest.mark.parametrize(
    ("there", "hint"),
    [
        ([Key("team-a", "demo"), Key("team-b", "demo")], "It is in team-a, team-b: add -n team-a."),
        ([Key("default", "demo2"), Key("default", "shop")], "Did you mean demo2?"),
        ([Key("team-a", "demmo")], "Did you mean demmo (-n team-a)?"),
        ([Key("default", "shop")], "There is: shop."),
        ([Key("team-a", "shop")], "There are Clusters in team-a: add -n NAMESPACE."),
        ([], "There are none at all: make one with `nagaya create cluster NAME`."),
    ],
)
def test_it_says_what_was_probably_meant(there: list[Key], hint: str) -> None:
    assert not_found(HERE, there) == f"There is no Cluster demo in namespace default. {hint}"


def test_it_does_not_claim_what_it_may_not_know() -> None:
    assert "you may not list those of others" in not_found(HERE, [], whole=False)
