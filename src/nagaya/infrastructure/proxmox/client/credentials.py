"""Who asks: an API token, or a user with a password, who gets a ticket for it.

Secrets appear in no `repr`. A ticket lasts 2 hours; a new one is got long before that, and at once when a host refuses
it (401 means that nothing was done, so the call can be made again). However many calls find it missing, one of them
logs in, and PVE's 3 s for refused logins are spent once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from nagaya.world import Clock

TICKET_LASTS: Final = 2 * 3600.0
RENEWED_AFTER: Final = 1.5 * 3600.0  # seconds


@dataclass(frozen=True, slots=True)
class Token:
    """An API token: `id` is user@realm!name."""

    id: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Password:
    """A user, who logs in."""

    user: str
    password: str = field(repr=False)


Credentials = Token | Password


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a login gives."""

    ticket: str = field(repr=False)
    forgery_token: str = field(repr=False)
    since: float = 0.0


Login = Callable[[Password], Awaitable[tuple[str, str]]]
"""Logs in, and returns the ticket and the token against forged requests."""


class Session:
    """Proves who asks, with whatever credentials there are by now."""

    def __init__(self, credentials: Credentials, clock: Clock, login: Login) -> None:
        self._credentials = credentials
        self._clock = clock
        self._login = login
        self._ticket: Ticket | None = None
        self._lock = asyncio.Lock()

    @property
    def user(self) -> str:
        """Who asks: user@realm, or user@realm!token."""
        return self._credentials.id if isinstance(self._credentials, Token) else self._credentials.user

    def replace(self, credentials: Credentials) -> None:
        """From the next call on, ask with these."""
        if credentials != self._credentials:
            self._credentials = credentials
            self._ticket = None

    async def headers(self, method: str) -> Mapping[str, str]:
        """What proves it. Raises what the login raises."""
        credentials = self._credentials
        if isinstance(credentials, Token):
            return {"authorization": f"PVEAPIToken={credentials.id}={credentials.secret}"}
        ticket = await self._fresh(credentials)
        headers = {"cookie": f"PVEAuthCookie={quote(ticket.ticket, safe='')}"}
        if method != "GET":
            headers["csrfpreventiontoken"] = ticket.forgery_token
        return headers

    def refused(self, headers: Mapping[str, str]) -> bool:
        """These were refused. Whether others can be had: a token has nothing to renew."""
        if isinstance(self._credentials, Token):
            return headers.get("authorization") != f"PVEAPIToken={self._credentials.id}={self._credentials.secret}"
        ticket = self._ticket
        if ticket is not None and headers.get("cookie") == f"PVEAuthCookie={quote(ticket.ticket, safe='')}":
            self._ticket = None
        return True

    async def _fresh(self, credentials: Password) -> Ticket:
        async with self._lock:
            now = self._clock.monotonic()
            ticket = self._ticket
            if ticket is None or now - ticket.since >= RENEWED_AFTER:
                got, forgery_token = await self._login(credentials)
                ticket = Ticket(got, forgery_token, now)
                if self._credentials is credentials:
                    self._ticket = ticket
            return ticket
