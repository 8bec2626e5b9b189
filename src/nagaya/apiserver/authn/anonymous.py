"""Requests that bring no credentials at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nagaya.apiserver.authn.facts import Identity, RequestFacts
from nagaya.apiserver.authn.user import ANONYMOUS

# What load balancers and joining machines ask before they have credentials.
HEALTH_PATHS: Final = ("/livez", "/readyz", "/healthz")


class Anonymous:
    """Lets requests without credentials be `system:anonymous`, everywhere or on some paths only.

    It only says who they are. What they may do is decided by authorisation, which by default is next to nothing.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._paths = frozenset(paths)

    async def authenticate(self, facts: RequestFacts) -> Identity | None:
        """The anonymous user."""
        if self._paths and facts.path not in self._paths:
            return None
        return Identity(ANONYMOUS, facts.audiences)
