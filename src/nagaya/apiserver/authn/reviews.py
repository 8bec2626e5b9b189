"""Reviews that ask who someone is: TokenReview for a token, SelfSubjectReview for the one who asks."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from nagaya.apiserver.authn.bearer import INVALID_TOKEN
from nagaya.apiserver.authn.chain import Authentication
from nagaya.apiserver.authn.facts import Identity, Refused, RequestFacts, common
from nagaya.apiserver.authn.user import User
from nagaya.apiserver.meta import status, times
from nagaya.apiserver.meta.status import JsonObject

_API_VERSION: Final = "authentication.k8s.io/v1"


async def review_token(body: JsonObject, authentication: Authentication) -> JsonObject:
    """Answer a TokenReview: whose token it is, for which audiences. Raises 400 without a token.

    The question is put as if a request had come with that token and no other credentials, anonymous rules included.
    """
    spec = body.get("spec") or {}
    token = spec.get("token") or ""
    if not token:
        raise status.bad_request("token is required for TokenReview in authentication")
    audiences = tuple(spec.get("audiences") or authentication.api_audiences)
    facts = RequestFacts(path="", headers=(("authorization", f"Bearer {token}"),), audiences=audiences)
    answer: JsonObject = {"user": {}}
    identity: Identity | None = None
    try:
        identity = await authentication.identify(facts)
    except Refused as refusal:
        # The real server asks its own loopback token first, so that what it says stands in front.
        answer["error"] = status.aggregate([INVALID_TOKEN, *refusal.reasons])
    if identity is not None:
        if audiences and not common(audiences, identity.audiences):
            raise status.internal("error validating audiences")
        answer["authenticated"] = True
        answer["user"] = identity.user.as_info()
        if identity.audiences:
            answer["audiences"] = list(identity.audiences)
    metadata = body.get("metadata") or {}
    return {"kind": "TokenReview", "apiVersion": _API_VERSION, "metadata": metadata, "spec": spec, "status": answer}


def review_self(user: User, now: datetime) -> JsonObject:
    """Answer a SelfSubjectReview. What the request said is not part of the answer."""
    return {
        "kind": "SelfSubjectReview",
        "apiVersion": _API_VERSION,
        "metadata": {"creationTimestamp": times.of(now)},
        "status": {"userInfo": user.as_info()},
    }
