from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from nagaya.apiserver.authn.anonymous import Anonymous
from nagaya.apiserver.authn.bearer import BearerTokens
from nagaya.apiserver.authn.chain import Authentication
from nagaya.apiserver.authn.facts import Identity, Refused, RequestFacts
from nagaya.apiserver.authn.reviews import review_self, review_token
from nagaya.apiserver.authn.static_tokens import StaticTokens
from nagaya.apiserver.authn.user import User
from nagaya.apiserver.meta.status import ApiError


class Fussy:
    """Knows one token and refuses it."""

    def authenticate_token(self, token: str, facts: RequestFacts) -> Identity | None:
        if token == "bad":
            raise Refused("service account token has expired")
        return None


def authentication(anonymous: Anonymous | None = None) -> Authentication:
    static = StaticTokens({"abc": User("bob", "1", ("dev",))}, ("api",))
    return Authentication([BearerTokens([static, Fussy()])], ("api",), anonymous)


async def ask(spec: dict[str, Any], anonymous: Anonymous | None = None) -> dict[str, Any]:
    return await review_token({"metadata": {"name": "n"}, "spec": spec}, authentication(anonymous))


async def test_a_known_token_is_explained() -> None:
    assert await ask({"token": "abc"}) == {
        "kind": "TokenReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": "n"},
        "spec": {"token": "abc"},
        "status": {
            "authenticated": True,
            "user": {"username": "bob", "uid": "1", "groups": ["dev", "system:authenticated"]},
            "audiences": ["api"],
        },
    }


async def test_an_unknown_token_is_not() -> None:
    assert (await ask({"token": "zzz"}))["status"] == {"user": {}, "error": "invalid bearer token"}


async def test_the_reason_of_a_refusal_is_told() -> None:
    assert (await ask({"token": "bad"}))["status"] == {
        "user": {},
        "error": "[invalid bearer token, service account token has expired]",
    }


async def test_the_question_may_be_about_other_audiences() -> None:
    review = await ask({"token": "abc", "audiences": ["foo", "api"]})
    assert review["status"]["audiences"] == ["api"]
    review = await ask({"token": "abc", "audiences": ["foo"]})
    assert review["status"] == {"user": {}, "error": "invalid bearer token"}


async def test_a_token_that_is_none_is_anonymous() -> None:
    review = await ask({"token": " a b"}, Anonymous())
    assert review["status"] == {
        "authenticated": True,
        "user": {"username": "system:anonymous", "groups": ["system:unauthenticated"]},
        "audiences": ["api"],
    }
    assert (await ask({"token": " a b"}))["status"] == {"user": {}}


async def test_a_review_needs_a_token() -> None:
    with pytest.raises(ApiError) as refusal:
        await ask({})
    assert (refusal.value.code, refusal.value.message) == (400, "token is required for TokenReview in authentication")


def test_a_user_can_ask_who_she_is() -> None:
    user = User("bob", "1", ("dev",), {"k": ("v",)})
    assert review_self(user, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) == {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": "2026-01-02T03:04:05Z"},
        "status": {"userInfo": {"username": "bob", "uid": "1", "groups": ["dev"], "extra": {"k": ["v"]}}},
    }
