"""URLs as Go reads them, because what the real server accepts as one, and what it says otherwise, follows from that."""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from typing import Final, NamedTuple

from nagaya.apiserver.meta import gostring


class Url(NamedTuple):
    """The parts of a URL. `user` is None without an @ before the host; `opaque` is what follows `mailto:`."""

    scheme: str = ""
    user: str | None = None
    host: str = ""
    path: str = ""
    query: str = ""
    fragment: str = ""
    opaque: str = ""


_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:", re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_PORT: Final = re.compile(r"(:[0-9]*)?", re.ASCII)
_USER: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*", re.ASCII)
_NOT_IN_HOST: Final = re.compile(r"[\x00-\x20#%/?@\\^`{|}\x7f]")
_QUAD: Final = re.compile(r"\d{1,3}(\.\d{1,3}){3}", re.ASCII)
_ESCAPE: Final = re.compile(r"%[0-9A-Fa-f]{2}", re.ASCII)


def parse(text: str) -> Url:
    """Read any URL. Raises ValueError with Go's message."""
    before, _, fragment = text.partition("#")
    try:
        url = _parse(before, request=False)
    except ValueError as error:
        raise ValueError(f"parse {gostring.quote(before)}: {error}") from None
    try:
        _check_escapes(fragment)
    except ValueError as error:
        raise ValueError(f"parse {gostring.quote(text)}: {error}") from None
    return url._replace(fragment=fragment)


def parse_request(text: str) -> Url:
    """Read a URL that is absolute or starts with a slash. Raises ValueError with Go's message."""
    try:
        return _parse(text, request=True)
    except ValueError as error:
        raise ValueError(f"parse {gostring.quote(text)}: {error}") from None


def _parse(text: str, *, request: bool) -> Url:
    if _CONTROL.search(text):
        raise ValueError("net/url: invalid control character in URL")
    if not text and request:
        raise ValueError("empty url")
    if text == "*":
        return Url(path="*")
    if text.startswith(":"):
        raise ValueError("missing protocol scheme")
    found = _SCHEME.match(text)
    scheme = found[0][:-1].lower() if found else ""
    rest, _, query = text[found.end() if found else 0 :].partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme=scheme, opaque=rest, query=query)
        if request:
            raise ValueError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise ValueError("first path segment in URL cannot contain colon")
    user, host = None, ""
    if rest.startswith("//") and (scheme or (not request and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        user, host = _authority(scheme, authority)
        rest = slash + path
    _check_escapes(rest)
    return Url(scheme=scheme, user=user, host=host, path=rest, query=query)


def _authority(scheme: str, text: str) -> tuple[str | None, str]:
    user, at, host = text.rpartition("@")
    host = _host(scheme, host)
    if not at:
        return None, host
    if not _USER.fullmatch(user):
        raise ValueError("net/url: invalid userinfo")
    _check_escapes(user)
    return user, host


def _host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise ValueError("invalid IP-literal")
    if bracket == 0:
        return _bracketed(host)
    first, last = host.find(":"), host.rfind(":")
    if first >= 0:
        port = host[first if scheme in ("http", "https") else last :]
        if not _PORT.fullmatch(port):
            raise ValueError(f"invalid port {gostring.quote(port)} after host")
    _check_host(host)
    return host


def _bracketed(host: str) -> str:
    closing = host.rfind("]")
    if closing < 0:
        raise ValueError("missing ']' in host")
    port = host[closing + 1 :]
    if not _PORT.fullmatch(port):
        raise ValueError(f"invalid port {gostring.quote(port)} after host")
    address, zone, _ = host[1:closing].partition("%25")
    if not zone:
        _check_host(address)
    if _QUAD.fullmatch(address):
        raise ValueError("invalid IP-literal")
    try:
        IPv6Address(address)
    except ValueError:
        quoted = gostring.quote(address)
        raise ValueError(f"invalid host: ParseAddr({quoted}): unable to parse IP") from None
    return host


def _check_host(host: str) -> None:
    position = 0
    while found := _NOT_IN_HOST.search(host, position):
        if found[0] != "%":
            raise ValueError(f"invalid character {gostring.quote(found[0])} in host name")
        escape = _ESCAPE.match(host, found.start())
        # Only bytes outside ASCII, and the percent sign itself, may be escaped in a host.
        if escape is None or (escape[0] != "%25" and escape[0][1] in "01234567"):
            raise ValueError(f"invalid URL escape {gostring.quote(host[found.start() : found.start() + 3])}")
        position = escape.end()


def _check_escapes(text: str) -> None:
    position = -1
    while (position := text.find("%", position + 1)) >= 0:
        if not _ESCAPE.match(text, position):
            raise ValueError(f"invalid URL escape {gostring.quote(text[position : position + 3])}")
