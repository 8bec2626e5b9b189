"""The web as the emulated hosts see it: nothing is fetched from the real one.

What a host may download is registered here, with its content or only with its size and checksums. A host name that no
registered address has does not resolve.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit


@dataclass(frozen=True, slots=True)
class Source:
    """What a server answers at an address."""

    data: bytes | None = None
    size: int = 0
    checksums: Mapping[str, str] = field(default_factory=dict)
    """By algorithm, for content that is only imagined."""
    status: int = 200
    reason: str = "OK"
    content_type: str | None = "application/octet-stream"
    redirect: str | None = None
    """The address where it is instead."""
    system: str = ""
    """The operating system on a disk image."""

    @property
    def length(self) -> int:
        """Bytes."""
        return self.size if self.data is None else len(self.data)

    def checksum(self, algorithm: str) -> str:
        """Of the content."""
        return checksum(algorithm, self.data, self.checksums)


def checksum(algorithm: str, data: bytes | None, known: Mapping[str, str]) -> str:
    """Of content, or what is known of it; content that is only imagined has a checksum that nobody expects."""
    if data is not None:
        return hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()
    return known.get(algorithm, "0" * (hashlib.new(algorithm, usedforsecurity=False).digest_size * 2))


@dataclass(frozen=True, slots=True)
class Server:
    """Who is asked for an address."""

    host: str
    port: int

    @property
    def numeric(self) -> bool:
        """Whether it was named by its address."""
        try:
            ipaddress.ip_address(self.host.strip("[]"))
        except ValueError:
            return False
        return True


def server_of(url: str) -> Server:
    """Who is asked for an address."""
    parts = urlsplit(url)
    return Server(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))


class Sources:
    """All that can be downloaded."""

    def __init__(self) -> None:
        self._known: dict[str, Source] = {}

    def add(self, url: str, source: Source) -> None:
        """Put something at an address."""
        self._known[url] = source

    def remove(self, url: str) -> None:
        """Take it away again."""
        self._known.pop(url, None)

    def listed(self) -> Mapping[str, Source]:
        """All of it."""
        return dict(self._known)

    def resolves(self, server: Server) -> bool:
        """Whether there is such a host."""
        return server.numeric or any(server_of(url).host == server.host for url in self._known)

    def listens(self, server: Server) -> bool:
        """Whether somebody answers there."""
        return any(server_of(url) == server for url in self._known)

    def find(self, url: str) -> Source:
        """What a server that is there answers."""
        return self._known.get(url) or Source(b"", status=404, reason="Not Found", content_type="text/html")

    def location(self, url: str, source: Source) -> str:
        """The whole address that a redirect leads to."""
        return urljoin(url, source.redirect or "")
