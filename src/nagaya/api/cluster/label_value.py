"""Names as values of labels. A name may be too long for one; then a hash stands for it."""

from __future__ import annotations

import base64
import re
from typing import Final

_is_label_value = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?").fullmatch
_MAXIMUM_LENGTH: Final = 63
_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193


def as_label_value(name: str) -> str:
    """The name itself if it can be the value of a label, else a hash of it, the same that Cluster API makes."""
    if len(name) <= _MAXIMUM_LENGTH and _is_label_value(name):
        return name
    digest = _FNV_OFFSET
    for byte in name.encode():
        digest = ((digest ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    text = base64.urlsafe_b64encode(digest.to_bytes(4, "big")).decode().rstrip("=")
    return f"hash_{text}_z"
