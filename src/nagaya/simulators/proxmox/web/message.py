"""HTTP/1 messages as PVE's server reads and writes them.

Much of what clients learn of a failure stands in the reason phrase, so it is written as it is. An answer without a body
says neither type nor length; the end of the connection is its end.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime

from nagaya.simulators.proxmox.request import Answer

SERVER = "pve-api-daemon/3.0"
MOST_HEADERS = 64
LONGEST_HEADERS = 8 * 1024
_COMPRESSED_ABOVE = 1024
_REQUEST_LINE = re.compile(r"(\S+) (\S+) HTTP/(\d+)\.(\d+)")
_FIELD = re.compile(r"([^:\s]+)\s*:\s*(.*)")
_LIKE_PNG = frozenset({"image/png"})
"""Types that are not compressed once more."""


class Malformed(Exception):
    """A head that cannot be understood."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Head:
    """What stands above the body of a request; names of headers are in lower case."""

    method: str
    target: str
    version: str
    headers: dict[str, str]

    @property
    def path(self) -> str:
        """As it came."""
        return self.target.partition("?")[0].partition("#")[0]

    @property
    def query(self) -> str:
        """What stands behind the question mark."""
        return self.target.partition("?")[2].partition("#")[0]

    @property
    def length(self) -> int:
        """Of the body."""
        given = self.headers.get("content-length", "0")
        return int(given) if given.isdecimal() else 0

    @property
    def keeps_alive(self) -> bool:
        """Whether the client would use the connection again."""
        wish = self.headers.get("connection")
        return "close" not in wish.lower() if wish else self.version != "HTTP/1.0"

    @property
    def takes_gzip(self) -> bool:
        """Whether a body may be compressed."""
        return "gzip" in self.headers.get("accept-encoding", "")


def parse(head: bytes) -> Head:
    """The head of a request, without the empty line that ends it."""
    first, *lines = head.decode("latin-1").lstrip("\r\n").split("\r\n")
    found = _REQUEST_LINE.search(first)
    if found is None:
        raise Malformed(400, "bad request")
    method, target, major, minor = found.groups()
    if major != "1":
        raise Malformed(506, f"http protocol version {major}.{minor} not supported")
    if "@" in target.partition("/")[0]:
        raise Malformed(400, "invalid url")
    headers: dict[str, str] = {}
    name = ""
    for line in lines:
        if field := _FIELD.match(line):
            name = field[1].lower()
            headers[name] = f"{headers[name]}, {field[2]}" if name in headers else field[2]
        elif line[:1].isspace() and name:
            headers[name] += f" {line.strip()}"
        elif line:
            raise Malformed(506, "unable to parse request header")
    return Head(method, target, f"HTTP/{major}.{minor}", headers)


def redirected(head: Head) -> Answer:
    """What who speaks plain HTTP to the port for HTTPS is told."""
    where = {"Location": f"https://{head.headers.get('host', '')}{head.target}"}
    if head.method == "GET":
        return Answer(301, "Moved Permanently", None, b"Moved Permanently", where)
    return Answer(308, "Permanent Redirect", None, b"Permanent Redirect", where)


def written(answer: Answer, now: datetime, *, version: str, keep_alive: bool, compress: bool) -> bytes:
    """An answer as it goes over the wire."""
    date = format_datetime(now, usegmt=True)
    body = answer.body
    headers = {
        "Cache-Control": "max-age=0",
        "Connection": "Keep-Alive" if keep_alive else "close",
        "Date": date,
        "Pragma": "no-cache",
        **answer.headers,
        "Server": SERVER,
    }
    packed = answer.content_type in _LIKE_PNG or "content-encoding" in answer.headers
    if compress and len(body) > _COMPRESSED_ABOVE and not packed:
        body = gzip.compress(body, compresslevel=1, mtime=0)
        headers["Content-Encoding"] = "gzip"
    if body:
        headers["Content-Length"] = str(len(body))
    if answer.content_type is not None:
        headers["Content-Type"] = answer.content_type
    headers["Expires"] = date
    lines = [f"{version} {answer.status} {answer.reason}", *(f"{name}: {value}" for name, value in headers.items())]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1", "replace") + body
