"""Who a request says it comes from. Nothing is checked: this is for counting and choosing, not for rights."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

_TOKEN = "PVEAPIToken="  # noqa: S105  (the word in the header, not a secret)
_COOKIE = "PVEAuthCookie="


def caller_in(headers: Mapping[str, str]) -> str:
    """user@realm or user@realm!token; empty if there are no credentials."""
    for text in (headers.get("authorization", ""), headers.get("cookie", "")):
        if _TOKEN in text:
            return text.partition(_TOKEN)[2].rpartition("=")[0]
        if _COOKIE in text:
            parts = unquote(text.partition(_COOKIE)[2]).split(":")
            return parts[1] if len(parts) > 1 else ""
    return ""
