"""Files for PVE's upload call: one body, the fields before the file, which must be named `filename`.

PVE reads the parts by patterns: in a fixed order, with header names in this very case, and never in chunks. So the
whole is put together here instead of leaving it to a library that is free to choose.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

FIELDS: Final = ("content", "checksum-algorithm", "checksum")
"""All that PVE reads, in its order."""
_NAME: Final = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")


@dataclass(frozen=True, slots=True)
class Upload:
    """A file. Its content is never shown: it may be boot data."""

    name: str
    content: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise ValueError(f"{self.name!r} is no name of a file for Proxmox VE: letters, digits, dot, dash, + and _")


def multipart(fields: Mapping[str, str | Sequence[str]], upload: Upload) -> tuple[str, bytes]:
    """The content type and the body. The boundary comes from the content, so that it cannot stand in it by chance."""
    boundary = f"nagaya{hashlib.sha256(upload.content).hexdigest()[:40]}"
    parts: list[bytes] = []
    for name in FIELDS:
        if (text := fields.get(name)) is not None:
            head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
            parts.append(f"{head}{text}\r\n".encode())
    parts.append(
        f'--{boundary}\r\nContent-Disposition: form-data; name="filename"; filename="{upload.name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n".encode()
    )
    parts += [upload.content, f"\r\n--{boundary}--\r\n".encode()]
    return f"multipart/form-data; boundary={boundary}", b"".join(parts)
