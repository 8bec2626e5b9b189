"""PEM, the text form of keys and certificates.

Reading follows the rules that Kubernetes' tools live by: text between blocks is ignored, broken blocks are skipped, and
a block may carry headers, which some callers have to refuse. Contents never appear in an error, because a block may be
a private key.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

CERTIFICATE: Final = "CERTIFICATE"
CERTIFICATE_REQUEST: Final = "CERTIFICATE REQUEST"

_begin = re.compile(rb"-----BEGIN ([^\r\n]*?)-----[ \t]*").fullmatch
_end = re.compile(rb"-----END ([^\r\n]*?)-----[ \t]*").fullmatch
_LINE: Final = 64


class Block(NamedTuple):
    """One block: what it says it is, its headers, and its bytes (DER)."""

    label: str
    headers: dict[str, str]
    data: bytes


def blocks(text: bytes) -> Iterator[Block]:
    """The well-formed blocks of a text, in order. Takes time in proportion to the length of the text."""
    label: bytes | None = None
    content: list[bytes] = []
    for line in text.split(b"\n"):
        line = line.removesuffix(b"\r")
        if begin := _begin(line):
            label, content = begin[1], []
        elif label is not None and (end := _end(line)) is not None:
            if end[1] == label and (data := _decoded(content)) is not None:
                yield Block(label.decode(errors="replace"), *data)
            label = None
        elif label is not None:
            content.append(line)


def _decoded(lines: list[bytes]) -> tuple[dict[str, str], bytes] | None:
    """The headers and the bytes of a block."""
    headers: dict[str, str] = {}
    start = 0
    while start < len(lines) and b":" in lines[start]:
        name, _, value = lines[start].decode(errors="replace").partition(":")
        headers[name.strip()] = value.strip()
        start += 1
    try:
        return headers, base64.b64decode(b"".join(b"".join(lines[start:]).split()), validate=True)
    except binascii.Error:
        return None


def encode(label: str, data: bytes) -> bytes:
    """The text form of one block without headers."""
    text = base64.b64encode(data)
    lines = b"\n".join(text[start : start + _LINE] for start in range(0, len(text), _LINE))
    return b"-----BEGIN %b-----\n%b\n-----END %b-----\n" % (label.encode(), lines, label.encode())
