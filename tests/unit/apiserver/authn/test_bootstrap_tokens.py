from __future__ import annotations

import base64
from typing import Any

import pytest

from nagaya.apiserver.authn.bootstrap_tokens import BootstrapTokens
from nagaya.apiserver.authn.facts import Identity, RequestFacts

TOKEN = "abcdef.0123456789abcdef"


def put(objects: Any, **changes: str | None) -> dict[str, Any]:
    data: dict[str, str | None] = {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
    }
    data |= {key.replace("_", "-"): value for key, value in changes.items()}
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items() if value is not None}
    secret: dict[str, Any] = objects.add(
        "Secret", "bootstrap-token-abcdef", "kube-system", type="bootstrap.kubernetes.io/token", data=encoded
    )
    return secret


def ask(objects: Any, clock: Any, token: str = TOKEN, audiences: tuple[str, ...] = ()) -> Identity | None:
    facts = RequestFacts(audiences=audiences)
    return BootstrapTokens(objects, clock, ("api",)).authenticate_token(token, facts)


def test_a_token_of_a_secret_is_a_bootstrapper(objects: Any, clock: Any) -> None:
    put(objects)
    identity = ask(objects, clock)
    assert identity is not None
    assert identity.user.name == "system:bootstrap:abcdef"
    assert identity.user.groups == ("system:bootstrappers",)


def test_extra_groups_are_sorted_and_kept_once(objects: Any, clock: Any) -> None:
    group = "system:bootstrappers:kubeadm:default-node-token"
    put(objects, auth_extra_groups=f"{group},system:bootstrappers:a,{group}")
    identity = ask(objects, clock)
    assert identity is not None
    assert identity.user.groups == ("system:bootstrappers", "system:bootstrappers:a", group)


@pytest.mark.parametrize("token", ["abcdef", "abcdef.0123", "ABCDEF.0123456789abcdef", f"{TOKEN}\n", "", "a.b.c"])
def test_other_forms_are_not_bootstrap_tokens(objects: Any, clock: Any, token: str) -> None:
    put(objects)
    assert ask(objects, clock, token) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"token_secret": "0123456789abcdee"},
        {"token_id": "zzzzzz"},
        {"token_id": None},
        {"usage_bootstrap_authentication": None},
        {"usage_bootstrap_authentication": "yes"},
        {"expiration": "2020-01-01T00:00:00Z"},
        {"expiration": "tomorrow"},
        {"auth_extra_groups": "system:masters"},
        {"auth_extra_groups": "system:bootstrappers:a,"},
    ],
)
def test_a_secret_that_is_not_in_order_makes_no_token(objects: Any, clock: Any, changes: dict[str, str | None]) -> None:
    put(objects, **changes)
    assert ask(objects, clock) is None


def test_a_secret_of_another_type_or_on_its_way_out_makes_no_token(objects: Any, clock: Any) -> None:
    put(objects)["type"] = "Opaque"
    assert ask(objects, clock) is None
    put(objects)["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert ask(objects, clock) is None


def test_a_token_ends_when_the_clock_says_so(objects: Any, clock: Any) -> None:
    put(objects, expiration="2026-05-04T03:03:00Z")
    assert ask(objects, clock) is not None
    clock.advance(minutes=1)
    assert ask(objects, clock) is None


def test_it_is_meant_for_the_api_server_only(objects: Any, clock: Any) -> None:
    put(objects)
    assert ask(objects, clock, audiences=("other",)) is None
    identity = ask(objects, clock, audiences=("other", "api"))
    assert identity is not None
    assert identity.audiences == ("api",)
