"""How calls reach a host of Proxmox VE: over HTTPS, or by a function call within the process.

What always holds: a transport never tries a call again, and says exactly how far one got that has no answer, because
that decides whether it may be repeated: `NotSent` means that the host has not seen it, `ReplyLost` that it may have
taken effect. Neither names a header or a body: those hold credentials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import parse_qsl

from nagaya.foreign_answers import Secrets, secrets
from nagaya.infrastructure.proxmox.client.endpoint import Endpoint
from nagaya.infrastructure.proxmox.client.trust import Trust

ROOT: Final = "/api2/json"
FORM: Final = "application/x-www-form-urlencoded"
_PROOFS: Final = ("authorization", "cookie", "csrfpreventiontoken")
_SECRET: Final = frozenset({"password", "cipassword", "secret", "tfa-challenge"})
"""Parameters that no answer may repeat."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. `path` is escaped and begins with /api2/json; names of headers are in lower case."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    timeout: float = 10.0
    """Seconds until the whole answer is there."""

    @property
    def secrets(self) -> Secrets:
        """What nothing that is made of the answer may repeat."""
        given = parse_qsl(self.body.decode(errors="replace")) if self.headers.get("content-type") == FORM else ()
        values = [self.headers[name] for name in _PROOFS if name in self.headers]
        return secrets(*values, *(value for name, value in given if name in _SECRET))


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    reason: str
    body: bytes = field(default=b"", repr=False)

    def without(self, known: Secrets) -> Answer:
        """The same without secrets."""
        return Answer(self.status, known.remove(self.reason), known.remove_bytes(self.body))


class NoAnswer(Exception):
    """A call without an answer; its text says why."""


class NotSent(NoAnswer):
    """The host has not seen the call: it can be made again without harm."""


class ReplyLost(NoAnswer):
    """The call was sent, but no answer came: it may have taken effect, or may do so still."""

    def __init__(self, why: str, *, timed_out: bool = False) -> None:
        super().__init__(why)
        self.timed_out = timed_out


class Unusable(NoAnswer):
    """An answer came that nothing can be made of: it is too large. The call may have taken effect."""


class Transport(Protocol):
    """A way to hosts."""

    async def send(self, endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
        """Send a request and return the answer, whatever its status. Raises NotSent or ReplyLost."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...
