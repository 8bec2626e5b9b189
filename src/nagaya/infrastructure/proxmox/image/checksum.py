"""Checksums of images, as people write them and as distributions publish them. Nothing is downloaded without one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_LENGTHS: Final = {"sha224": 56, "sha256": 64, "sha384": 96, "sha512": 128}
_HEX: Final = re.compile(r"^[0-9a-f]+$")
_GNU: Final = re.compile(r"^\\?([0-9a-fA-F]+) [ *](.+)$")
_BSD: Final = re.compile(r"^(\w+)\s*\((.+)\)\s*=\s*([0-9a-fA-F]+)$")
SHORT: Final = 12
"""Digits that tell files apart in their names."""


class BadChecksum(ValueError):
    """What was written is none. The message says what to write."""


@dataclass(frozen=True, slots=True)
class Checksum:
    """A digest in lower case, and what it was made with."""

    algorithm: str
    digest: str

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.digest}"

    @property
    def short(self) -> str:
        """Its first digits."""
        return self.digest[:SHORT]


def checksum(text: str) -> Checksum:
    """From `sha512:...`, or from the digits alone, whose number tells what they are. Raises BadChecksum."""
    algorithm, colon, digest = text.strip().lower().rpartition(":")
    digest = digest.strip()
    if not _HEX.match(digest):
        raise BadChecksum("the checksum is not hexadecimal: write sha256:<64 digits> or sha512:<128 digits>")
    if not colon:
        algorithm = next((name for name, length in _LENGTHS.items() if length == len(digest)), "")
    if _LENGTHS.get(algorithm) != len(digest):
        raise BadChecksum(
            f"the checksum has {len(digest)} digits{f' and is called {algorithm}' if colon else ''}: write "
            "sha256:<64 digits> or sha512:<128 digits>"
        )
    return Checksum(algorithm, digest)


def published(text: str, file: str) -> Checksum | None:
    """That of a file in a list such as SHA512SUMS; None if it has no line for the file. Of several kinds, the longest
    counts."""
    found: list[Checksum] = []
    for line in text.splitlines():
        if (gnu := _GNU.match(line.strip())) is not None:
            digest, name = gnu[1], gnu[2]
        elif (bsd := _BSD.match(line.strip())) is not None:
            digest, name = bsd[3], bsd[2]
        else:
            continue
        if name.strip().rpartition("/")[2] == file:
            try:
                found.append(checksum(digest))
            except BadChecksum:
                continue
    return max(found, key=lambda each: len(each.digest), default=None)
