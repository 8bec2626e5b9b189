"""URLs: `url(...)`, `isURL(...)` and their parts."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import quote, unquote_plus, unquote_to_bytes

from nagaya.apiserver.cel.declarations import function, overload
from nagaya.apiserver.cel.values import CelError, Opaque
from nagaya.apiserver.crd import urls

_PATH_SAFE: Final = "-_.~$&+,/:;=@"
_VALID_PATH: Final = re.compile(r"(?:[A-Za-z0-9\-_.~$&+,/:;=@!'()*\[\]]|%[0-9A-Fa-f]{2})*", re.ASCII)
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


class UrlValue(Opaque):
    """A URL that could be asked for: absolute, or beginning with a slash."""

    __slots__ = ("url",)

    type_name = "kubernetes.URL"

    def __init__(self, url: urls.Url) -> None:
        self.url = url

    def equals(self, other: Any) -> bool:
        """Whether all parts are the same."""
        return bool(self.url == other.url)


def _url(text: str) -> UrlValue:
    try:
        urls.parse_request(text)
        # Only the general reader tells a fragment from the path.
        return UrlValue(urls.parse(text))
    except ValueError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None


def _is_url(text: str) -> bool:
    try:
        urls.parse_request(text)
    except ValueError:
        return False
    return True


def _split_host(value: UrlValue) -> tuple[str, str]:
    host = value.url.host
    name, colon, port = host.rpartition(":")
    if colon and (not port or port.isdigit()) and not (name.startswith("[") and not name.endswith("]")):
        host = name
    else:
        port = ""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host, port


def _escaped_path(value: UrlValue) -> str:
    path = value.url.path
    if path == "*" or _VALID_PATH.fullmatch(path):
        return path
    return quote(unquote_to_bytes(path), safe=_PATH_SAFE)


def _query(value: UrlValue) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part in value.url.query.split("&"):
        if not part or ";" in part or _BAD_ESCAPE.search(part):
            continue
        key, _, each = part.partition("=")
        found.setdefault(unquote_plus(key), []).append(unquote_plus(each))
    return found


FUNCTIONS: Final = (
    function("url", overload("(string) -> kubernetes.URL", _url)),
    function("isURL", overload("(string) -> bool", _is_url)),
    function("getScheme", overload("kubernetes.URL.() -> string", lambda value: value.url.scheme)),
    function("getHost", overload("kubernetes.URL.() -> string", lambda value: value.url.host)),
    function("getHostname", overload("kubernetes.URL.() -> string", lambda value: _split_host(value)[0])),
    function("getPort", overload("kubernetes.URL.() -> string", lambda value: _split_host(value)[1])),
    function("getEscapedPath", overload("kubernetes.URL.() -> string", _escaped_path)),
    function("getQuery", overload("kubernetes.URL.() -> map(string, list(string))", _query)),
)
