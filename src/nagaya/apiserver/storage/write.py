"""A write between the moment it gets its revision and the moment everyone sees it."""

from __future__ import annotations

import asyncio
import enum
from typing import Final

from nagaya.apiserver.storage.event import Event
from nagaya.apiserver.storage.record import Record
from nagaya.apiserver.storage.table import Table


class Expected(enum.Enum):
    """What a writer may expect of a key besides one exact revision."""

    ABSENT = "absent"
    ANY = "any"


ABSENT: Final = Expected.ABSENT
ANY: Final = Expected.ANY


class Write:
    """An event on its way to the disk.

    While it is there, it holds its key: the next write to the same key waits for it, because nobody can say what to
    compare with before it is known whether this one arrived. The writer's own future and those of the waiting are all
    different, so that giving up on one disturbs no other.
    """

    __slots__ = ("_waiting", "event", "outcome", "table")

    def __init__(self, table: Table, event: Event, outcome: asyncio.Future[Record]) -> None:
        self.table = table
        self.event = event
        self.outcome = outcome
        self._waiting: list[asyncio.Future[None]] | None = None

    def succeed(self) -> None:
        """Resume the writer with what it wrote, and whoever waits for the key."""
        if not self.outcome.done():
            self.outcome.set_result(self.event.result)
        self._release()

    def fail(self, failure: Exception) -> None:
        """Resume the writer with the reason, and whoever waits for the key."""
        if not self.outcome.done():
            self.outcome.set_exception(failure)
        self._release()

    async def settled(self) -> None:
        """Wait until it is known what became of this write."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._waiting is None:
            self._waiting = []
        self._waiting.append(future)
        await future

    def _release(self) -> None:
        for future in self._waiting or ():
            if not future.done():
                future.set_result(None)
