"""One change of one key: what watches deliver and what the history is made of."""

from __future__ import annotations

from typing import Any

import msgspec

from nagaya.apiserver.storage.record import Record


class Event(msgspec.Struct, eq=False, gc=False):
    """The change that made `revision`.

    `record` is what the key holds since then, None if it was deleted; `previous` is what it held before, None if it
    was created. Both are there because a watch with a selector must tell an object that enters it from one that
    leaves it. A deletion has a `tombstone`: a record whose revision is that of the deletion.

    `cache` belongs to whoever sends events to clients: the bytes it encoded once serve every other watcher. The store
    empties it when the event is no longer among the newest. Put nothing in it that could lead back to the event.
    """

    revision: int
    table: str
    key: str
    record: Record | None
    previous: Record | None
    tombstone: Record | None = None
    cache: Any = None

    @property
    def result(self) -> Record:
        """What the write that caused this event returns: the new record, or the tombstone."""
        record = self.record if self.record is not None else self.tombstone
        assert record is not None, "an event without a record has a tombstone"
        return record
