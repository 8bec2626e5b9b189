"""The `Authorization: Bearer` header, and the authenticators that know tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nagaya.apiserver.authn.facts import Identity, Refused, RequestFacts, TokenAuthenticator

_LONGEST: Final = 16 * 1024  # characters; what a service account gets has one or two thousand
INVALID_TOKEN: Final = "invalid bearer token"  # noqa: S105 - the text of a refusal, not a token
_SPACE_WARNING: Final = "the provided Authorization header contains extra space before the bearer token, and is ignored"


class BearerTokens:
    """Asks one token authenticator after the other; the first that knows the token wins."""

    def __init__(self, authenticators: Sequence[TokenAuthenticator]) -> None:
        self._authenticators = tuple(authenticators)

    async def authenticate(self, facts: RequestFacts) -> Identity | None:
        """Whose token the request carries. A token that nobody knows is refused, not ignored."""
        token = _token(facts)
        if not token:
            return None
        if len(token) > _LONGEST:  # whether it is right would cost more than all else
            raise Refused(INVALID_TOKEN)
        reasons: list[str] = []
        for authenticator in self._authenticators:
            try:
                identity = authenticator.authenticate_token(token, facts)
            except Refused as refusal:
                reasons += refusal.reasons
                continue
            if identity is not None:
                return identity
        raise Refused(*(reasons or [INVALID_TOKEN]))


def _token(facts: RequestFacts) -> str:
    parts = facts.header("authorization").strip().split(" ", 2)
    if len(parts) < 2 or parts[0].lower() != "bearer":
        return ""
    if not parts[1] and len(parts) > 2:
        facts.warnings.append(_SPACE_WARNING)
    return parts[1]
