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

_block = re.compile(
    rb"^-----BEGIN (?P<label>[^\r\n]*?)-----[ \t]*\r?\n(?P<content>.*?)^-----END (?P=label)-----[ \t]*\r?$",
    re.MULTILINE | re.DOTALL,
)
_LINE: Final = 64


class Block(NamedTuple):
    """One block: what it says it is, its headers, and its bytes (DER)."""

    label: str
    headers: dict[str, str]
    data: bytes


def blocks(text: bytes) -> Iterator[Block]:
    """The well-formed blocks of a text, in order."""
    for match in _block.finditer(text):
        headers: dict[str, str] = {}
        lines = match["content"].splitlines()
        while lines and b":" in lines[0]:
            name, _, value = lines.pop(0).decode(errors="replace").partition(":")
            headers[name.strip()] = value.strip()
        try:
            data = base64.b64decode(b"".join(b"".join(lines).split()), validate=True)
        except binascii.Error:
            continue
        yield Block(match["label"].decode(errors="replace"), headers, data)


def encode(label: str, data: bytes) -> bytes:
    """The text form of one block without headers."""
    text = base64.b64encode(data)
    lines = b"\n".join(text[start : start + _LINE] for start in range(0, len(text), _LINE))
    return b"-----BEGIN %b-----\n%b\n-----END %b-----\n" % (label.encode(), lines, label.encode())
