"""What one request brings to prove who sends it, and what is remarked while that is looked at.

Authenticators take a `RequestFacts` and answer with an `Identity`, with None when the request brings nothing for them,
or raise `Refused` when what it brings is wrong. A refusal says nothing to the client beyond 401; its `why` is for the
server's log and for TokenReview, and never holds a credential.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.status import ApiError

Audiences = tuple[str, ...]


@dataclass(slots=True)
class RequestFacts:
    """One request as authentication sees it. Header names are lower case.

    `audiences` are the ones a token has to be meant for: the API server's own, or what a TokenReview asks about.
    `warnings` and `annotations` collect what the client (as Warning headers) and the audit log should be told.
    """

    path: str = "/"
    headers: Sequence[tuple[str, str]] = ()
    peer_certificate: bytes | None = None
    audiences: Audiences = ()
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)

    def header(self, name: str) -> str:
        """The first value of a header, or nothing."""
        for key, value in self.headers:
            if key == name:
                return value
        return ""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who it is, and for which of the wanted audiences the proof holds. No audiences means that the question did not
    arise."""

    user: User
    audiences: Audiences = ()


class Refused(ApiError):
    """Credentials that are there but wrong: 401 for the client, reasons for everyone else."""

    def __init__(self, *reasons: str) -> None:
        plain = status.unauthorized()
        super().__init__(plain.code, plain.reason, plain.message)
        self.reasons = reasons

    @property
    def why(self) -> str:
        """All reasons, each once."""
        return status.aggregate(self.reasons)


class RequestAuthenticator(Protocol):
    """Finds out who sends a request."""

    async def authenticate(self, facts: RequestFacts) -> Identity | None:
        """Who it is; None if the request brings nothing for this one. Raises Refused."""
        ...


class TokenAuthenticator(Protocol):
    """Finds out whose token it is. Reads caches only, so it does not wait."""

    def authenticate_token(self, token: str, facts: RequestFacts) -> Identity | None:
        """Whose it is; None if the token is not of the kind this one knows. Raises Refused."""
        ...


def common(wanted: Audiences, offered: Iterable[str]) -> Audiences:
    """The wanted audiences that are offered, in the order in which they are wanted."""
    there = set(offered)
    return tuple(audience for audience in wanted if audience in there)
