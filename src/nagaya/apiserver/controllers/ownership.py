"""Who is owned by whom, by uid: what the garbage collector knows without asking.

It is made from the store at start and follows its events. Owners that are gone are remembered for a while, because
their kind may go with them, and then nobody could look them up any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from nagaya.apiserver.meta.object_meta import FOREGROUND
from nagaya.apiserver.storage import Event, Record

Place = tuple[str, str]  # table and key

_OWNED: Final = b'"ownerReferences"'
_DELETING: Final = b'"deletionTimestamp"'
_REMEMBERED: Final = 5000


class _Reference(msgspec.Struct):
    uid: str | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    uid: str
    owner_references: list[_Reference] | None = None
    deletion_timestamp: str | None = None
    finalizers: list[str] | None = None


class _Object(msgspec.Struct):
    """Of an object, what matters here. Every write of one with an owner is read, so the rest is not even made."""

    metadata: _Metadata


_decoder: Final = msgspec.json.Decoder(_Object)


def _metadata(record: Record) -> _Metadata:
    return _decoder.decode(record.value).metadata


class Ownership:
    """The index."""

    def __init__(self) -> None:
        self._dependents: dict[str, set[Place]] = {}
        self._owners: dict[Place, tuple[str, ...]] = {}
        self._waiting: dict[str, Place] = {}  # owners that delete in the foreground
        self._gone: dict[str, None] = {}  # owners known to be gone, oldest first

    def dependents(self, uid: str) -> list[Place]:
        """Who names an object as its owner."""
        return sorted(self._dependents.get(uid, ()))

    def is_gone(self, uid: str) -> bool:
        """Whether an owner is known to be gone. No means only that it is not known."""
        return uid in self._gone

    def add(self, place: Place, record: Record) -> bool:
        """Take in an object that is there at start. Returns whether it has to be looked at."""
        return self._index(place, record) or _DELETING in record.value

    def follow(self, event: Event) -> Iterator[Place]:
        """Take in a change. Yields what has to be looked at because of it."""
        place = (event.table, event.key)
        before = self._owners.get(place, ())
        if event.record is None:
            assert event.previous is not None
            uid = _metadata(event.previous).uid
            self._waiting.pop(uid, None)
            if dependents := self.dependents(uid):
                self._remember(uid)
                yield from dependents
            self._forget(place)
            yield from self._released(before)
            return
        self._index(place, event.record)
        now = self._owners.get(place, ())
        deleting = _DELETING in event.record.value
        if deleting or (now and (now != before or event.previous is None)):
            yield place
        if deleting:
            yield from self._begins_to_go(place, event.record)
        # Also if only `blockOwnerDeletion` was taken off.
        yield from self._released(before)

    def _begins_to_go(self, place: Place, record: Record) -> Iterator[Place]:
        metadata = _metadata(record)
        if not metadata.deletion_timestamp or FOREGROUND not in (metadata.finalizers or ()):
            self._waiting.pop(metadata.uid, None)
        elif metadata.uid not in self._waiting:
            self._waiting[metadata.uid] = place
            yield from self.dependents(metadata.uid)

    def _released(self, uids: tuple[str, ...]) -> Iterator[Place]:
        """The owners that may have waited for a dependent that changed."""
        if self._waiting:
            yield from (self._waiting[uid] for uid in uids if uid in self._waiting)

    def _remember(self, uid: str) -> None:
        self._gone[uid] = None
        if len(self._gone) > _REMEMBERED:
            del self._gone[next(iter(self._gone))]

    def _index(self, place: Place, record: Record) -> bool:
        """Remember whose dependent an object is. Returns whether it is anyone's."""
        self._forget(place)
        if _OWNED not in record.value:
            return False
        uids = tuple(each.uid or "" for each in _metadata(record).owner_references or ())
        if not uids:
            return False
        self._owners[place] = uids
        for uid in uids:
            self._dependents.setdefault(uid, set()).add(place)
        return True

    def _forget(self, place: Place) -> None:
        for uid in self._owners.pop(place, ()):
            places = self._dependents.get(uid)
            if places is not None:
                places.discard(place)
                if not places:
                    del self._dependents[uid]
