"""How calls reach an API server: over HTTPS, or by a function call within the process.

The client knows nothing else of the wire. What always holds: a transport never tries a call again, and says exactly how
far one got that has no answer, because that decides whether it may be repeated: `Unreachable` means that the server has
not seen it, `AnswerLost` that it may have taken effect. Neither names a header or a body: those hold credentials and
secrets.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final, Protocol

NOTHING: Final[Mapping[str, str]] = {}


@dataclass(slots=True)
class Call:
    """What is asked. The path is plain text, without escapes; header names are lower case."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    timeout: float | None = None  # seconds until the whole answer is there; of a stream: until its head is
    silence: float | None = None  # seconds without a byte after which a stream counts as broken

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(slots=True)
class Answer:
    """What the server says. Headers are looked up by lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


class StreamAnswer(Protocol):
    """An answer that is read as it comes. Chunks are cut anywhere, also within a line."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, looked up by lower-case names."""
        ...

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The chunks. Ends when the server ends the answer; raises AnswerLost when the connection breaks."""
        ...

    async def body(self) -> bytes:
        """All of it: for errors, which are short. Raises AnswerLost."""
        ...


class NoAnswer(Exception):
    """A call without an answer that can be used."""

    def __init__(self, call: Call, why: str) -> None:
        super().__init__(f"{call}: {why}")
        self.call = call
        self.why = why


class Unreachable(NoAnswer):
    """The server has not seen the call: it can be made again without harm."""


class AnswerLost(NoAnswer):
    """The call was sent, but no answer came: it may have taken effect, or may do so still."""


class AnswerUnusable(AnswerLost):
    """An answer came that nothing can be made of: it exceeds a limit. Asking the same again would bring the same."""


class NoCredentials(NoAnswer):
    """The call was not made: what proves who asks cannot be had. Trying again at once would not help."""


class Transport(Protocol):
    """A way to one API server, as one user."""

    async def send(self, call: Call) -> Answer:
        """Make a call and return the whole answer, whatever its status. Raises Unreachable or AnswerLost."""
        ...

    def stream(self, call: Call) -> AbstractAsyncContextManager[StreamAnswer]:
        """Make a call and read the answer as it comes; leaving the context closes it. Raises as `send` does."""
        ...

    async def close(self) -> None:
        """Let go of every connection. Calls under way fail."""
        ...
