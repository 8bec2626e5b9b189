"""A request whose head has come, and whose body is read when somebody asks for it.

The handler asks after the client has been authenticated and the request authorised, so a stranger's body is never read:
the answer is sent at once, and what the client still sends is thrown away within bounds. All that a request makes the
server hold counts against the user until the request is done.
"""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestPayloadError

from nagaya.apiserver.authn.user import ANONYMOUS_NAME, User
from nagaya.apiserver.meta import status
from nagaya.apiserver.web.connection import ORDINARY, Connection, Patience
from nagaya.apiserver.web.limits import KIB, STRANGERS, Limits, account_of

_DISCARDED: Final = 256 * KIB  # bytes of an unwanted body that are read, as in Go, so that the connection can go on
_LINE: Final = 200  # bytes of memory for each header, besides its text


class Incoming:
    """The way back from a request to its connection. Implements `request.Source`."""

    def __init__(self, raw: web.BaseRequest, connection: Connection, limits: Limits, patience: Patience) -> None:
        self._raw = raw
        self._connection = connection
        self._limits = limits
        self._patience = patience
        self._account: str | None = STRANGERS
        self._held = 0
        self._has_large_head = False

    def hold_head(self) -> None:
        """Count the head, if it is a large one. Raises 429."""
        size = len(self._raw.raw_path) + sum(len(name) + len(value) + _LINE for name, value in self._raw.raw_headers)
        self._has_large_head = size > ORDINARY
        if self._has_large_head:
            self.hold(size)

    def identify(self, user: User) -> None:
        """Count for a user, from now on, what the request holds. Raises 429."""
        if user.name == ANONYMOUS_NAME:
            return
        account = account_of(user)
        if not self._connection.seat.claim(account):
            raise status.too_many_requests("too many connections of this user are open: close some, or wait", 1)
        self._connection.hold()  # for a user, who has limits of another sort
        held = self._held
        self.done()
        self._account = account
        if held:
            self.hold(held)

    def hold(self, size: int) -> None:
        """Count bytes. Raises 429 if the user has too many in flight."""
        if self._account is None:
            return
        if not self._connection.budget.take(self._account, size):
            raise status.too_many_requests("too much of this user's data is in flight: wait for earlier requests", 1)
        self._held += size

    def done(self) -> None:
        """The request holds nothing any more."""
        if self._held:
            assert self._account is not None
            self._connection.budget.give(self._account, self._held)
            self._connection.heap.freed(self._held)
            self._held = 0

    @property
    def has_arrived(self) -> bool:
        """Whether the whole body is here: it came together with the head, as most do."""
        content = self._raw.content
        return not self._raw.body_exists or (content.is_eof() and content.exception() is None)

    async def read(self) -> bytes:
        """The whole body. Raises 413 for one that is too large, 408 for one that does not come, 429 if the user has
        too many bytes in flight, 500 for a broken one.
        """
        raw, limit = self._raw, self._limits.body
        if not raw.body_exists:
            return b""
        if (raw.content_length or 0) > limit:
            raise status.too_large(f"limit is {limit}")
        if self.has_arrived and raw.content.total_bytes <= limit:
            self.hold(raw.content.total_bytes)
            return raw.content.read_nowait()
        self.hold(raw.content_length or 0)
        if raw.headers.get("Expect", "").lower() == "100-continue" and raw.transport is not None:
            raw.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._patience.body):
                async for part in raw.content.iter_any():
                    parts.append(part)
                    size += len(part)
                    if size > limit:
                        raise status.too_large(f"limit is {limit}")
                    if raw.content_length is None:
                        self.hold(len(part))
        except TimeoutError:
            message = f"the request's body did not arrive within {self._patience.body:.0f} s"
            raise status.ApiError(408, "Timeout", message) from None
        except RequestPayloadError as error:
            raise status.ApiError(500, "", str(error)) from None
        return b"".join(parts)

    def finish(self, answer: web.StreamResponse) -> None:
        """Decide, before an answer is sent, what becomes of the connection."""
        if self._account == STRANGERS and self._has_large_head:
            answer.force_close()  # what the head has taken is returned with the connection only
        if self._connection.is_upgraded:  # but not by this answer: nothing that follows can be told from HTTP
            answer.force_close()
        if self._raw.body_exists and not self._raw.content.is_eof():
            self._connection.discard(_DISCARDED)
            waits = "expect" in self._raw.headers
            if waits or self._raw.content_length is None or self._raw.content_length > _DISCARDED:
                answer.force_close()
