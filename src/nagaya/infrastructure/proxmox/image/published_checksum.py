"""The checksum that a distribution publishes beside its image, read from this machine and not by a host.

Host and reader ask separately: what a host downloads later must be what was published here. The list is taken by https
only, as it would be worth nothing if whoever can change the image can change the list too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from nagaya.foreign_answers import TooMuch, read_whole
from nagaya.infrastructure.proxmox.image.checksum import Checksum, published
from nagaya.infrastructure.proxmox.image.image import file_of, shown

LISTS: Final = ("SHA512SUMS", "SHA256SUMS")
TIMEOUT: Final = 30.0
LARGEST: Final = 4 << 20
"""Bytes: the longest of them have some hundred lines."""

Fetch = Callable[[str], Awaitable[str | None]]
"""The text at an address; None if there is none there. Raises Unpublished."""


class Unpublished(Exception):
    """The checksum cannot be read. The message says what to do."""


async def published_checksum(url: str, fetch: Fetch, lists: tuple[str, ...] = LISTS) -> Checksum:
    """That of the file at an address. Raises Unpublished, BadImage."""
    file = file_of(url)
    if urlsplit(url).scheme != "https":
        raise Unpublished(
            f"{shown(url)} is not read by https, so a checksum from there proves nothing: give it with --checksum."
        )
    tried = []
    for name in lists:
        parts = urlsplit(url)
        address = urlunsplit((parts.scheme, parts.netloc, f"{parts.path.rpartition('/')[0]}/{name}", "", ""))
        text = await fetch(address)
        if text is None:
            tried.append(f"{shown(address)} does not exist")
        elif (found := published(text, file)) is not None:
            return found
        else:
            tried.append(f"{shown(address)} has no line for {file}")
    raise Unpublished(f"No checksum is published beside the image ({'; '.join(tried)}): give it with --checksum.")


async def fetch(address: str) -> str | None:
    """The text at an address on the web. Raises Unpublished."""
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT), trust_env=True) as session,
            session.get(address) as answer,
        ):
            if answer.status in (403, 404, 410):
                return None
            if answer.status != 200:
                why = f"the server answered {answer.status} {answer.reason}"
                raise Unpublished(f"{shown(address)} cannot be read: {why}. Try again, or give --checksum.")
            if answer.url.scheme != "https":
                raise Unpublished(f"{shown(address)} leads away from https: give the checksum with --checksum.")
            return await _text(answer, address)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        why = str(error) or type(error).__name__
        raise Unpublished(
            f"{shown(address)} cannot be read: {why}. Check this machine's way to the web, or give --checksum."
        ) from error


async def _text(answer: aiohttp.ClientResponse, address: str) -> str:
    try:
        return (await read_whole(answer, LARGEST)).decode(errors="replace")
    except TooMuch as error:
        raise Unpublished(f"{shown(address)} is no list of checksums: {error}, or give --checksum.") from None
