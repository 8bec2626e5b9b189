"""The write-ahead log, read without SQLite.

SQLite replays the log up to the first frame whose checksum is wrong and ignores the rest without a word. That is right
for a transaction that was being written when the machine stopped, and silent loss of acknowledged writes if a bit was
flipped. What tells them apart: a frame's checksum continues that of the frame before it, as stored. So frames after a
damaged one can still be verified, and as each transaction waits for the disk before the next one begins, an intact
frame beyond the transaction of the damaged one proves that the damage came later.

After a checkpoint the log starts over from the beginning, with other salts in its header. Frames with earlier salts
are left from before; they mean nothing.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nagaya.apiserver.storage.sqlite.layout import PAGE_SIZE

HEADER_BYTES = 32
FRAME_BYTES = 24 + PAGE_SIZE
_MAGIC = 0x377F0682 + (sys.byteorder == "big")  # SQLite writes checksums of words as this machine reads them
_VERSION = 3007000


@dataclass(frozen=True, slots=True)
class Finding:
    """Where SQLite stops reading although frames follow."""

    frame: int  # 0 is the header of the log
    frames: int
    intact: int
    proven: bool
    """Whether it is damage. Otherwise it may be a transaction, or a header, that was not completed."""

    def __str__(self) -> str:
        if not self.frame:
            return f"the header of the write-ahead log is damaged, so none of its {self.frames} frames would be read"
        offset = HEADER_BYTES + (self.frame - 1) * FRAME_BYTES
        place = f"frame {self.frame} of {self.frames} in the write-ahead log (at byte {offset})"
        return f"{place} is damaged; {self.intact} intact frames that follow it would be ignored"


@dataclass(frozen=True, slots=True)
class Frame:
    """One page as a transaction left it."""

    number: int
    page: int
    commits: bool
    salts: bytes
    stored: tuple[int, int]
    head: bytes
    content: bytes


class Log:
    """A log file: its header, and its frames."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.read_bytes()
        except FileNotFoundError:
            self._file = b""
        header = self._file[:HEADER_BYTES].ljust(HEADER_BYTES, b"\0")
        magic, version, page_size = struct.unpack(">3I", header[:12])
        known = magic == _MAGIC and version == _VERSION and page_size == PAGE_SIZE
        self.stored = struct.unpack(">2I", header[24:])
        self.computed = self._sum(header[:24], (0, 0))
        self.intact = known and self.stored == self.computed
        self.count = max(0, len(self._file) - HEADER_BYTES) // FRAME_BYTES
        self.salts = header[16:24]
        if not self.intact and self.count:
            self.salts = self.frame(1).salts

    def frame(self, number: int) -> Frame:
        """A frame, counted from 1."""
        at = HEADER_BYTES + (number - 1) * FRAME_BYTES
        head = self._file[at : at + 24]
        page, pages = struct.unpack(">2I", head[:8])
        stored = struct.unpack(">2I", head[16:])
        return Frame(number, page, pages > 0, head[8:16], stored, head, self._file[at + 24 : at + FRAME_BYTES])

    def frames(self) -> Iterator[Frame]:
        """The frames up to the last that belongs to this log and not to an earlier one, whether intact or not."""
        last = self.count
        while last and self._file[(at := HEADER_BYTES + (last - 1) * FRAME_BYTES) + 8 : at + 16] != self.salts:
            last -= 1
        return (self.frame(number) for number in range(1, last + 1))

    def checked(self) -> Iterator[tuple[Frame, bool]]:
        """The frames, and whether each is intact: judged by the checksum of the one before, stored or computed."""
        before = [self.stored] if self.intact else [self.stored, self.computed]
        for frame in self.frames():
            sums = [self._sum(frame.head[:8] + frame.content, each) for each in before]
            valid = frame.page > 0 and frame.salts == self.salts and frame.stored in sums
            yield frame, valid
            before = [frame.stored] if valid else [frame.stored, sums[0]]

    def _sum(self, content: bytes, before: tuple[int, int]) -> tuple[int, int]:
        first, second = before
        words = iter(struct.unpack(f"={len(content) // 4}I", content))
        for even, odd in zip(words, words, strict=True):
            first = (first + even + second) & 0xFFFFFFFF
            second = (second + odd + first) & 0xFFFFFFFF
        return first, second


def examine(path: Path) -> Finding | None:
    """Where SQLite would stop reading although frames of the same log follow. None if it reads all of them."""
    log = Log(path)
    damaged: Frame | None = None
    ended = False  # whether a transaction ended at the damage or after it: the next one began when it was on the disk
    proven, intact = False, 0
    for frame, valid in log.checked():
        if not valid:
            damaged = damaged or frame
        elif damaged is not None or not log.intact:
            intact += 1
            ended = ended or (damaged is not None and frame.number == damaged.number + 1 and damaged.commits)
            proven = proven or ended
            ended = ended or frame.commits
    if not log.intact:
        return Finding(0, log.count, intact, proven=False) if intact else None
    return None if damaged is None else Finding(damaged.number, log.count, intact, proven)
