from __future__ import annotations

import pytest

from nagaya.apiserver.authn.bearer import BearerTokens
from nagaya.apiserver.authn.facts import Identity, Refused, RequestFacts
from nagaya.apiserver.authn.static_tokens import StaticTokens
from nagaya.apiserver.authn.user import User

BOB = User("bob")


class Refusing:
    def __init__(self, *reasons: str) -> None:
        self.reasons = reasons

    def authenticate_token(self, token: str, facts: RequestFacts) -> Identity | None:
        raise Refused(*self.reasons)


def facts(value: str) -> RequestFacts:
    return RequestFacts(headers=(("authorization", value),))


@pytest.mark.parametrize("value", ["Bearer abc", "bearer abc", "  BEARER abc  ", "Bearer abc something else"])
async def test_the_token_follows_the_scheme(value: str) -> None:
    identity = await BearerTokens([StaticTokens({"abc": BOB})]).authenticate(facts(value))
    assert identity is not None
    assert identity.user == BOB


@pytest.mark.parametrize("value", ["", "Basic abc", "Bearer", "Bearer ", "abc"])
async def test_other_headers_are_none_of_its_business(value: str) -> None:
    given = facts(value)
    assert await BearerTokens([Refusing("no")]).authenticate(given) is None
    assert given.warnings == []


async def test_an_extra_space_hides_the_token_with_a_warning() -> None:
    given = facts("Bearer  abc")
    assert await BearerTokens([StaticTokens({"abc": BOB})]).authenticate(given) is None
    assert given.warnings == [
        "the provided Authorization header contains extra space before the bearer token, and is ignored"
    ]


async def test_a_token_nobody_knows_is_refused() -> None:
    with pytest.raises(Refused) as refusal:
        await BearerTokens([StaticTokens({})]).authenticate(facts("Bearer abc"))
    assert refusal.value.status["code"] == 401
    assert refusal.value.status["message"] == "Unauthorized"
    assert refusal.value.why == "invalid bearer token"


async def test_one_refusal_does_not_stop_the_others() -> None:
    tokens = BearerTokens([Refusing("no"), StaticTokens({"abc": BOB})])
    identity = await tokens.authenticate(facts("Bearer abc"))
    assert identity is not None


async def test_all_reasons_are_told_once() -> None:
    with pytest.raises(Refused) as refusal:
        await BearerTokens([Refusing("a", "b"), Refusing("b")]).authenticate(facts("Bearer abc"))
    assert refusal.value.why == "[a, b]"
