"""Bytes in JSON: base64 as Go reads it.

Go ignores line breaks inside the text and bits beyond the last byte, and names the place of the first wrong character.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final

_ALPHABET: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_URL_ALPHABET: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


class Base64Error(ValueError):
    """A text is no base64; the message is Go's."""


def canonical(text: str) -> str:
    """The same bytes as Go would write them. Raises Base64Error."""
    try:
        if encode(binascii.a2b_base64(text, strict_mode=True)) == text:
            return text
    except ValueError:
        pass  # binascii.Error and non-ASCII; Go may still accept the text
    problem = first_problem(text)
    if problem is not None:
        raise Base64Error(f"illegal base64 data at input byte {problem}")
    return encode(binascii.a2b_base64(text))


def encode(data: bytes) -> str:
    """Bytes as they stand in JSON."""
    return binascii.b2a_base64(data, newline=False).decode()


def decode_unpadded(text: str) -> bytes:
    """The bytes of a text in the alphabet of URLs, without padding. Raises Base64Error."""
    data = text.encode("utf-8", "replace")
    wrong = next((place for place, char in enumerate(data) if char not in _URL_ALPHABET), None)
    if wrong is None and len(data) % 4 == 1:
        wrong = len(data) - 1
    if wrong is not None:
        raise Base64Error(f"illegal base64 data at input byte {wrong}")
    return base64.urlsafe_b64decode(data + b"=" * (-len(data) % 4))


def first_problem(text: str) -> int | None:
    """Where Go finds the text to be wrong, in bytes; None if it is right."""
    raw = text.encode("utf-8", "replace").decode("latin-1")
    position = filled = 0
    while position < len(raw):
        char = raw[position]
        position += 1
        if char in _ALPHABET:
            filled = (filled + 1) % 4
        elif char not in "\r\n":
            return position - 1 if char != "=" or filled < 2 else _padding_problem(raw, position, filled)
    return None if filled == 0 else len(raw) - filled


def _padding_problem(raw: str, position: int, filled: int) -> int | None:
    """Check what follows the first `=`: another one when it is due, and then only line breaks."""
    position = _skip_breaks(raw, position)
    if filled == 2:
        if position == len(raw):
            return len(raw)
        if raw[position] != "=":
            return position - 1
        position = _skip_breaks(raw, position + 1)
    return position if position < len(raw) else None


def _skip_breaks(raw: str, position: int) -> int:
    while position < len(raw) and raw[position] in "\r\n":
        position += 1
    return position
