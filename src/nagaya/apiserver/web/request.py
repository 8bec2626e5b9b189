"""A request and its answer, free of any HTTP library.

The listener makes a `Request` from the wire and writes the `Response`; tests and in-process clients make them directly.
A response has a body, a stream, or an upgrade, never two of them. Header names are lower case in requests.

What costs time or memory is left for later: until a request is authorised its query is only searched (`peek`), and its
body is still with its `source`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import parse_qsl, unquote, unquote_plus

from nagaya.apiserver.meta import status

if TYPE_CHECKING:
    from nagaya.apiserver.authn.user import User
    from nagaya.apiserver.streams.upgrade import PodUpgrade
    from nagaya.apiserver.web.handler import Exchange

Query = Mapping[str, list[str]]

_NO_QUERY: Final[Query] = {}

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"

MOST_PARAMETERS: Final = 10_000  # of a query, as in Go
_PEEKED: Final = 4096  # bytes of a parameter that matter before a request is authorised


class RawQuery(Mapping[str, list[str]]):
    """A URL's query as it came, which is parsed when somebody wants more than a peek. Raises 400 then if it has too
    many parameters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._found: dict[str, list[str]] | None = None

    def peek(self, name: str) -> str | None:
        """The first value of a parameter, found without parsing the others. A very long one counts as empty.

        The request is authorised by this value and served by the parsed one, so names are compared as parsing reads
        them: with their escapes resolved.
        """
        for part in self.text.split("&", MOST_PARAMETERS):
            found, _, value = part.partition("=")
            if found == name or ("%" in found and len(found) <= 3 * len(name) and unquote_plus(found) == name):
                return unquote_plus(value) if len(value) <= _PEEKED else ""
        return None

    @property
    def _parsed(self) -> dict[str, list[str]]:
        if self._found is None:
            if self.text.count("&") >= MOST_PARAMETERS:
                raise status.bad_request(f"the URL has more than {MOST_PARAMETERS} query parameters: send fewer")
            self._found = {}
            for name, value in parse_qsl(self.text, keep_blank_values=True):
                self._found.setdefault(name, []).append(value)
        return self._found

    def __getitem__(self, name: str) -> list[str]:
        return self._parsed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed)

    def __len__(self) -> int:
        return len(self._parsed)

    def __repr__(self) -> str:
        return repr(self._parsed)


class Source(Protocol):
    """Where a request came from, as long as the client waits for its answer."""

    def identify(self, user: User) -> None:
        """The user has been authenticated. Raises 429 if this is one request too many."""
        ...

    def hold(self, size: int) -> None:
        """So many bytes stay in memory until the answer is sent. Raises 429 if the user has too many already."""
        ...

    @property
    def has_arrived(self) -> bool:
        """Whether the body can be read at once."""
        ...

    async def read(self) -> bytes:
        """The body. Raises ApiError."""
        ...


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
    source: Source | None = None  # None: the body is here

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

    def peek(self, name: str) -> str | None:
        """The first value of a query parameter, for decisions before the request is authorised; None without one."""
        if isinstance(self.query, RawQuery):
            return self.query.peek(name)
        values = self.query.get(name)
        return values[0] if values else None

    @property
    def user_agent(self) -> str:
        """What the client calls itself."""
        return self.headers.get("user-agent", "")


def parse_query(text: str) -> Query:
    """A URL's query as lists of values by name, blank values kept."""
    return RawQuery(text) if text else _NO_QUERY


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
    exchange: Exchange | None = None  # what it is the answer to, as far as a handler knows


def text(body: str, status: int = 200) -> Response:
    """A plain-text answer, which no browser is to take for anything else."""
    return Response(status, body.encode(), TEXT, [("X-Content-Type-Options", "nosniff")])
