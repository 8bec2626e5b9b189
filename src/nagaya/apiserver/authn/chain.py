"""Authentication as a whole: every kind of credential in turn, then anonymous.

Credentials that are wrong are never taken for no credentials: once one kind has refused and no other knows the request,
the answer is 401, even where anonymous requests are allowed.
"""

from __future__ import annotations

from collections.abc import Sequence

from nagaya.apiserver.authn.anonymous import Anonymous
from nagaya.apiserver.authn.facts import Audiences, Identity, Refused, RequestAuthenticator, RequestFacts
from nagaya.apiserver.authn.user import User, authenticated
from nagaya.apiserver.meta import status


class Authentication:
    """Who is asking, by whatever proof the request brings."""

    def __init__(
        self,
        authenticators: Sequence[RequestAuthenticator],
        api_audiences: Audiences = (),
        anonymous: Anonymous | None = None,
    ) -> None:
        self._authenticators = tuple(authenticators)
        self._anonymous = anonymous
        self.api_audiences = api_audiences

    async def authenticate(self, facts: RequestFacts) -> User:
        """The one who sends a request to this server. Raises 401."""
        facts.audiences = self.api_audiences
        identity = await self.identify(facts)
        if identity is None:
            raise status.unauthorized()
        return identity.user

    async def identify(self, facts: RequestFacts) -> Identity | None:
        """Who it is for the audiences in the facts; None if nobody knows. Raises Refused."""
        reasons: list[str] = []
        for authenticator in self._authenticators:
            try:
                identity = await authenticator.authenticate(facts)
            except Refused as refusal:
                reasons += refusal.reasons
                continue
            if identity is not None:
                return Identity(authenticated(identity.user), identity.audiences)
        if reasons:
            raise Refused(*reasons)
        return None if self._anonymous is None else await self._anonymous.authenticate(facts)
