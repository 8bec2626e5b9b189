"""Answers of servers that Nagaya does not run: Proxmox VE, APIs of tenants, webhooks, sites.

Such a server may send anything: gigabytes, little that becomes gigabytes when it is decompressed, JSON that no parser
survives, or the credentials that it was just given, so that they are shown in a condition. Every HTTP client reads
answers through `read_whole`, decodes JSON by `read_json` or against types, and removes what is secret before anything
is made of an answer. Limits of time are those of the calls, headers those of aiohttp (128 of 8 KiB), and no client
follows redirects with credentials.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

import orjson

if TYPE_CHECKING:
    import aiohttp

LARGEST: Final = 64 << 20
"""Bytes of an answer after decompression: far more than a page of 500 objects usually has."""
HIGHEST_RATIO: Final = 100
"""Of decompressed to compressed bytes; lists of Kubernetes objects reach 30."""
_RATIO_FROM: Final = 4 << 20
"""Bytes that may be repetitive in any way."""
REMOVED: Final = "(removed)"
_SHORTEST: Final = 8
"""Characters of a secret that is looked for: shorter ones would be found in innocent words."""
_ESCAPE: Final = re.compile(rb"(?<!\\)((?:\\\\)*+)\\(?:u([0-9a-fA-F]{4})|/)")
"""In JSON: a character, behind any number of escaped backslashes."""
_MOST_ESCAPED: Final = 200_000
"""Such characters in one answer. Go escapes <, > and & only."""
_IN_PARTS: Final = 24
"""Characters of a secret from which on its parts are looked for too."""


class TooMuch(Exception):
    """An answer exceeds a limit. The message names the limit and what to do."""


async def read_whole(response: aiohttp.ClientResponse, largest: int = LARGEST) -> bytes:
    """The body of an answer. Raises TooMuch, and closes the connection, as soon as it is too large."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        try:
            check_size(len(body), response.content.total_compressed_bytes, largest)
        except TooMuch:
            response.close()
            raise
    return bytes(body)


def check_size(size: int, compressed: int | None, largest: int = LARGEST) -> None:
    """Raise TooMuch for an answer that has so many bytes by now."""
    if size > largest:
        raise TooMuch(f"the answer has more than {largest >> 20} MiB. Check what answers at this address")
    if compressed is not None and size > max(_RATIO_FROM, HIGHEST_RATIO * compressed):
        raise TooMuch(
            f"the answer is more than {HIGHEST_RATIO} times as large as it was sent, which no honest one is. "
            "Check what answers at this address"
        )


def read_json(text: bytes | str) -> Any:
    """What JSON says; numbers are finite, and nesting is bounded. Raises ValueError."""
    return orjson.loads(text)


class Secrets:
    """Values that must not be shown, also when they come back encoded or in parts."""

    def __init__(self, values: Iterable[str]) -> None:
        parts = {part for value in values for part in _parts(value) if len(part) >= _SHORTEST}
        forms = sorted({form for part in parts for form in _forms(part)}, key=len, reverse=True)
        self._forms = [form.encode() for form in forms]
        self._pattern = re.compile(b"|".join(map(re.escape, self._forms))) if forms else None

    def __bool__(self) -> bool:
        return self._pattern is not None

    def remove(self, text: str) -> str:
        """Text without them."""
        return self.remove_bytes(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")

    def remove_bytes(self, data: bytes) -> bytes:
        """Bytes without them; JSON stays JSON. Raises TooMuch if the search would take seconds."""
        if self._pattern is None:
            return data
        if escaped := data.count(b"\\u") + data.count(b"\\/"):
            if escaped > _MOST_ESCAPED:
                raise TooMuch(f"the answer escapes more than {_MOST_ESCAPED} characters. Check what answers there")
            data = _ESCAPE.sub(_unescaped, data)
        if any(form in data for form in self._forms):
            data = self._pattern.sub(REMOVED.encode(), data)
        return data


@lru_cache(maxsize=256)
def secrets(*values: str) -> Secrets:
    """Those of one connection or call."""
    return Secrets(values)


def _unescaped(found: re.Match[bytes]) -> bytes:
    """An escaped character in the one form in which it is looked for."""
    before, code = found.groups()
    char = chr(int(code, 16)) if code else "/"
    if not " " <= char <= "~":
        return found[0].lower()
    return before + (f"\\{char}" if char in '"\\' else char).encode()


def _parts(value: str) -> Iterable[str]:
    """A header's value, and what is secret in it: after a scheme, a name, a user."""
    credential = value.partition(" ")[2] if value.startswith(("Bearer ", "Basic ")) else value
    yield credential
    if value.startswith("Basic "):
        plain = base64.b64decode(credential).decode()
        yield from (plain, plain.partition(":")[2])
    elif "=" in credential.rstrip("="):
        named = credential.rstrip("=").rpartition("=")[2]
        yield from (named, unquote(named))


def _forms(part: str) -> Iterable[str]:
    raw = part.encode()
    yield from (part, part.upper(), part.lower(), quote(part, safe=""), json.dumps(part)[1:-1])
    yield from (json.dumps(part, ensure_ascii=False)[1:-1], raw.hex(), raw.hex().upper())
    escaped = "".join(f"%{byte:02x}" for byte in raw)
    yield from (escaped, escaped.upper())
    for offset in range(3):
        # Whatever stands before and after it, these characters of the whole in base64 depend on the secret alone.
        encoded = base64.b64encode(b"\0" * offset + raw).decode()[offset and offset + 1 : (offset + len(raw)) * 8 // 6]
        yield from (encoded, encoded.translate(str.maketrans("+/", "-_")))
    random = re.split("[=:.]", part)[-1]  # before it stand names: of the user, the scheme, the algorithm
    if len(random) >= _IN_PARTS:
        size = max(_SHORTEST, len(random) // 16)
        yield from (random[begin : begin + size] for begin in range(0, len(random) - size + 1, size))
