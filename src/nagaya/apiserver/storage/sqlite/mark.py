"""The mark: what has been acknowledged, in a file beside the database.

A database that lost its end looks like one that never had it. The mark says which revision was acknowledged last, so
a lost end is noticed; and up to where revisions are reserved, so they never go back, whatever was restored or damaged.
A reservation is on the disk before the first of its revisions is used. What was acknowledged is written at every
transaction but waits for the disk only in quiet moments: it survives a kill of the process at any instant, and after a
power cut it may be too low, never too high. Two copies in different sectors take turns, so a write that breaks off
spares one.
"""

from __future__ import annotations

import logging
import os
import zlib
from functools import cache
from pathlib import Path

import msgspec
from msgspec.structs import replace

from nagaya.apiserver.storage.errors import DataNotPermitted
from nagaya.pki.files import synchronise

BLOCK = 10_000
"""Revisions that are reserved at once."""
_LOG = logging.getLogger(__name__)
_SLOTS = (0, 4096)
_SLOT_BYTES = 512
_MAGIC = "nagaya-mark"


class Marked(msgspec.Struct, frozen=True):
    """What a mark says."""

    identity: int
    reserved: int
    acknowledged: int
    boot: str = ""
    is_newest: bool = True
    """Whether the other copy is intact too. Otherwise that one may have been newer."""

    @property
    def exact(self) -> bool:
        """Whether nothing more was acknowledged: the machine has been up since."""
        return self.boot == _boot() != ""


def read_mark(path: Path) -> Marked | None:
    """What the mark says, by the newer of its intact copies. None if there is none."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        remedy = "Give the file to the user of this process (chown, and chmod 600)"
        raise DataNotPermitted(path, f"cannot be read ({error.strerror})", remedy) from error
    found = [_decoded(content[at : at + _SLOT_BYTES]) for at in _SLOTS]
    intact = [mark for mark in found if mark is not None]
    if len(intact) < len(found):
        _LOG.warning("%s: %d of %d copies are damaged", path, len(found) - len(intact), len(found))
    newest = max(intact, key=lambda mark: (mark.reserved, mark.acknowledged), default=None)
    return newest if len(intact) == len(found) or newest is None else replace(newest, is_newest=False)


class Mark:
    """The mark of a database that is in use."""

    def __init__(self, path: Path, identity: int, revision: int, reserved: int) -> None:
        """Write it anew: acknowledged up to a revision, reserved at least up to another."""
        self._identity = identity
        self._acknowledged = revision
        self._reserved = max(reserved, revision)
        self._turn = 0
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self.settled = False
        try:
            self._write_all()
            synchronise(path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def reserve(self, revision: int) -> None:
        """Be sure that revisions up to this one are reserved. Raises OSError."""
        if revision > self._reserved:
            before, self._reserved = self._reserved, revision + BLOCK
            try:
                self._write_all()
            except BaseException:
                self._reserved = before
                raise

    def acknowledge(self, revision: int) -> None:
        """Note the newest revision that is durable. Raises OSError, but the next note may succeed."""
        self._acknowledged = revision
        self.settled = False
        self._turn = 1 - self._turn
        os.pwrite(self._file, self._encoded(), _SLOTS[self._turn])

    def settle(self) -> None:
        """Wait until the note is on the disk. Raises OSError."""
        self.settled = True  # if it fails, the next note is waited for
        os.fdatasync(self._file)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _write_all(self) -> None:
        for at in _SLOTS:
            os.pwrite(self._file, self._encoded(), at)
        self.settle()

    def _encoded(self) -> bytes:
        text = f"{_MAGIC} {self._identity} {self._reserved} {self._acknowledged} {_boot() or '-'}"
        return f"{text} {_check(text)}\n".encode().ljust(_SLOT_BYTES)


def _decoded(slot: bytes) -> Marked | None:
    text, _, check = slot.decode("ascii", "replace").rstrip(" \n").rpartition(" ")
    if check != _check(text):
        return None
    _, identity, reserved, acknowledged, boot = text.split(" ")
    return Marked(int(identity), int(reserved), int(acknowledged), boot)


def _check(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


@cache
def _boot() -> str:
    """What tells this run of the machine from others."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
