"""A request and its answer, free of any HTTP library.

The listener makes a `Request` from the wire and writes the `Response`; tests and in-process clients make them directly.
A response has a body, a stream, or an upgrade, never two of them. Header names are lower case in requests.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote

if TYPE_CHECKING:
    from nagaya.apiserver.streams.upgrade import PodUpgrade

Query = Mapping[str, list[str]]

_NO_QUERY: Final[Query] = {}

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"


@dataclass(slots=True)
class Request:
    """What a client asks."""

    method: str
    path: str
    query: Query = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    # All headers in order, for the few that may be repeated (Impersonate-Group).
    header_items: tuple[tuple[str, str], ...] = ()
    peer_certificate: bytes | None = None  # DER, already verified against the client authority
    remote: str = ""

    @classmethod
    def make(cls, method: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Request:
        """A request for a path with an optional query, as in-process callers write it."""
        path, _, query = target.partition("?")
        lower = {name.lower(): value for name, value in (headers or {}).items()}
        return cls(method, unquote(path), parse_query(query), lower, body, tuple(lower.items()))

    def parameter(self, name: str) -> str:
        """The first value of a query parameter, or nothing."""
        values = self.query.get(name)
        return values[0] if values else ""

    @property
    def user_agent(self) -> str:
        """What the client calls itself."""
        return self.headers.get("user-agent", "")


def parse_query(text: str) -> Query:
    """A URL's query as lists of values by name, blank values kept."""
    if not text:
        return _NO_QUERY
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        found.setdefault(name, []).append(value)
    return found


@dataclass(slots=True)
class Response:
    """What the client gets. `stream` yields chunks that are sent as they come; with an `upgrade` (status 101) the
    connection speaks another protocol from then on."""

    status: int = 200
    body: bytes = b""
    content_type: str = JSON
    headers: list[tuple[str, str]] = field(default_factory=list)
    stream: AsyncIterator[bytes] | None = None
    upgrade: PodUpgrade | None = None


def text(body: str, status: int = 200) -> Response:
    """A plain-text answer, which no browser is to take for anything else."""
    return Response(status, body.encode(), TEXT, [("X-Content-Type-Options", "nosniff")])
