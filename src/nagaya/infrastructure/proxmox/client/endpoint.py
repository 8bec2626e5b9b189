"""Where a Proxmox VE host is asked, from whatever people write down.

People paste the address of the web interface, the one from some other tool's manual (with /api2/json), a bare name, or
an IPv6 address with or without brackets. All of them mean the same, so all of them become one form: two spellings of
one endpoint compare as equal, and nothing is ever appended to a path twice.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

PORT: Final = 8006
_SCHEME: Final = re.compile(r"^([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_NAME: Final = re.compile(r"^[a-z0-9_]([a-z0-9_-]{,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{,61}[a-z0-9_])?)*\.?$")
_API: Final = re.compile(r"^(/api2(/(json|extjs))?)?/*$")


class BadEndpoint(ValueError):
    """What was written is no address of a host. The message is a sentence for whoever wrote it."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host's API. `host` is in lower case, an IPv6 address without brackets."""

    host: str
    port: int = PORT

    @property
    def url(self) -> str:
        """Its address, without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}"

    def __str__(self) -> str:
        return self.url


def endpoint(written: str) -> Endpoint:
    """The endpoint that is meant. Raises BadEndpoint; the message never repeats credentials from the text."""
    text = written.strip()
    if not text:
        raise BadEndpoint("the address of the Proxmox VE host is empty: write https://<host>:8006")
    if (address := _address(text)) is not None:  # a bare IPv6 address would read as a name and a port
        return Endpoint(address)
    if (scheme := _SCHEME.match(text)) is None:
        text = f"https://{text}"
    elif scheme[1].lower() != "https":
        raise BadEndpoint(f"Proxmox VE is asked by https, not by {scheme[1].lower()}: write https://<host>:8006")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise BadEndpoint(f"the address of the Proxmox VE host cannot be read: {error}") from error
    if parts.username is not None or parts.password is not None:
        raise BadEndpoint("the address of the Proxmox VE host must hold no credentials: they belong into the Secret")
    if not _API.match(parts.path):
        raise BadEndpoint(
            f"the address of the Proxmox VE host ends in the path {parts.path!r}: write only https://<host>:8006"
        )
    if port == 0:
        raise BadEndpoint("the address of the Proxmox VE host has the port 0: Proxmox VE listens on 8006")
    host = (parts.hostname or "").lower()
    literal = _address(host)
    if literal is None and not _NAME.match(host):
        raise BadEndpoint(f"{host!r} is neither a host name nor an IP address: write https://<host>:8006")
    return Endpoint(literal or host.rstrip("."), port or PORT)


def _address(text: str) -> str | None:
    """An IP address in its usual form; None if the text is none."""
    try:
        return str(ipaddress.ip_address(text.removeprefix("[").removesuffix("]")))
    except ValueError:
        return None
