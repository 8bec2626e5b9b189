from __future__ import annotations

import pytest

from nagaya.apiserver.authn.anonymous import HEALTH_PATHS, Anonymous
from nagaya.apiserver.authn.bearer import BearerTokens
from nagaya.apiserver.authn.chain import Authentication
from nagaya.apiserver.authn.facts import RequestFacts
from nagaya.apiserver.authn.static_tokens import StaticTokens
from nagaya.apiserver.authn.user import User
from nagaya.apiserver.meta.status import ApiError


def chain(anonymous: Anonymous | None = None) -> Authentication:
    tokens = StaticTokens({"abc": User("bob", groups=("dev",))}, ("api",))
    return Authentication([BearerTokens([tokens])], ("api",), anonymous)


def facts(token: str = "", path: str = "/api") -> RequestFacts:
    return RequestFacts(path, (("authorization", f"Bearer {token}"),) if token else ())


async def test_a_known_user_is_authenticated() -> None:
    user = await chain().authenticate(facts("abc"))
    assert (user.name, user.groups) == ("bob", ("dev", "system:authenticated"))


async def test_without_credentials_the_request_is_anonymous() -> None:
    user = await chain(Anonymous()).authenticate(facts())
    assert (user.name, user.groups) == ("system:anonymous", ("system:unauthenticated",))


async def test_wrong_credentials_are_not_taken_for_none() -> None:
    with pytest.raises(ApiError) as refusal:
        await chain(Anonymous()).authenticate(facts("wrong"))
    assert refusal.value.code == 401


async def test_without_anonymous_a_request_without_credentials_is_refused() -> None:
    with pytest.raises(ApiError) as refusal:
        await chain().authenticate(facts())
    assert refusal.value.status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }


async def test_anonymous_can_be_limited_to_health() -> None:
    limited = chain(Anonymous(HEALTH_PATHS))
    assert (await limited.authenticate(facts(path="/readyz"))).name == "system:anonymous"
    with pytest.raises(ApiError):
        await limited.authenticate(facts(path="/api"))
