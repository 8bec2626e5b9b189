"""One stored object, and the strings that many of them share.

A record is what a key holds at one revision and never changes afterwards, so readers, watchers and the history all
refer to the same one. There may be tens of thousands: it has no dictionary, is invisible to the garbage collector (it
can be part of no cycle), keeps the object as the JSON bytes that go over the wire, and shares its key and labels with
its predecessor.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, cast

import msgspec
import orjson

NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})


class Record(msgspec.Struct, frozen=True, eq=False, gc=False):
    """What `key` held from `revision` on. The labels are kept beside the bytes because most selectors ask for nothing
    else.
    """

    key: str
    revision: int
    value: bytes
    labels: Mapping[str, str] = NO_LABELS

    def object(self) -> dict[str, Any]:
        """The object itself, a new dict at every call."""
        return cast(dict[str, Any], orjson.loads(self.value))

    def __repr__(self) -> str:
        """Without the value, which may be a secret and may end up in a log."""
        return f"Record({self.key!r}, revision={self.revision}, {len(self.value)} bytes)"


def trimmed(value: bytes) -> bytes:
    """The same bytes in no more memory than they need: orjson leaves small results in a buffer of 4 KiB."""
    return memoryview(value).tobytes()


class StringPool:
    """Label keys and values that many objects have in common, kept once.

    Bounded and per store: labels come from clients, and `sys.intern` may keep a string until the process ends.
    """

    __slots__ = ("_strings",)

    CAPACITY: Final = 4096

    def __init__(self) -> None:
        self._strings: dict[str, str] = {}

    def labels(self, labels: Mapping[str, str] | None, previous: Record | None) -> Mapping[str, str]:
        """A mapping to keep: that of the previous record if it says the same, else a copy made of shared strings."""
        if not labels:
            return NO_LABELS
        if previous is not None and previous.labels == labels:
            return previous.labels
        return {self.shared(key): self.shared(value) for key, value in labels.items()}

    def shared(self, string: str) -> str:
        """The same text, the same object if there is room to remember it."""
        if len(self._strings) < self.CAPACITY:
            return self._strings.setdefault(string, string)
        return self._strings.get(string, string)
