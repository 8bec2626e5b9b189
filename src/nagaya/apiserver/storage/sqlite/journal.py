"""Between the event loop and the writer thread.

Writes that are accepted in one turn of the loop go to the thread together, and each transaction comes back as one
call. Both are about the interpreter's lock: a thread switch costs more than the write itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from pathlib import Path

import apsw

from nagaya.apiserver.storage.errors import StorageFailure
from nagaya.apiserver.storage.sqlite.backup import copy_database
from nagaya.apiserver.storage.sqlite.failures import write_failure
from nagaya.apiserver.storage.sqlite.opening import OpenData
from nagaya.apiserver.storage.sqlite.writer import Compaction, Deliver, Stop, Writer
from nagaya.apiserver.storage.write import Write
from nagaya.world import Clock

_LOG = logging.getLogger(__name__)
_BREATH_EVERY = 0.001
_BREATH = 0.00001


class SqliteJournal:
    """Hands writes to the thread and their outcomes to the store. Belongs to the loop that is running when it is
    made.
    """

    def __init__(self, data: OpenData, clock: Clock, settle: Deliver) -> None:
        self._data = data
        self._settle = settle
        self._loop = asyncio.get_running_loop()
        self._outbox: list[Write] = []
        self._in_flight = 0
        self._deliveries = 0
        self._breathing = False
        self._writer = Writer(data.database, clock, data.loaded.garbage, self._deliver)
        self._writer.start()

    def submit(self, write: Write) -> None:
        """Take a write; it leaves at the end of this turn of the loop."""
        if not self._outbox:
            self._loop.call_soon(self._flush)
        self._outbox.append(write)

    def compact(self, revision: int, garbage: Sequence[int]) -> None:
        """Remember that history up to a revision is gone, and remove rows that nobody needs."""
        self._writer.inbox.put(Compaction(revision, garbage))

    async def backup(self, destination: Path, overwrite: bool) -> None:
        """Copy everything durable into one file, by a reader of its own: writes go on meanwhile."""
        await asyncio.to_thread(copy_database, self._data.database.path, destination, overwrite=overwrite)

    async def close(self) -> None:
        """Settle what was submitted, close the database and give up the lock."""
        self._flush()
        self._writer.inbox.put(Stop())
        await self._loop.run_in_executor(None, self._finish)

    def _finish(self) -> None:
        self._writer.join()
        database = self._data.database
        try:
            database.close()
        except (apsw.Error, OSError) as error:
            _LOG.warning("the next start will have to read the log: %s", write_failure(database.path, error).reason)
        finally:
            self._data.lock.release()

    def _flush(self) -> None:
        if self._outbox:
            self._in_flight += len(self._outbox)
            self._writer.inbox.put(self._outbox)
            self._outbox = []
            self._breathe_later()

    def _deliver(self, writes: Sequence[Write], failure: StorageFailure | None) -> None:
        """In the writer thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(self._delivered, writes, failure)

    def _delivered(self, writes: Sequence[Write], failure: StorageFailure | None) -> None:
        self._in_flight -= len(writes)
        self._deliveries += 1
        self._settle(writes, failure)

    def _breathe_later(self) -> None:
        if not self._breathing:
            self._breathing = True
            self._loop.call_later(_BREATH_EVERY, self._breathe, self._deliveries)

    def _breathe(self, deliveries: int) -> None:
        """Let the writer have the interpreter's lock.

        A loop that is never idle still lets go of the lock at each look for input, but for so short a time that the
        thread never gets it, and each time restarts the 5 ms after which the interpreter would enforce it: measured,
        a write then takes seconds. Sleeping for the shortest possible time while a write makes no progress bounds
        that to milliseconds.
        """
        self._breathing = False
        if self._in_flight:
            if self._deliveries == deliveries:
                time.sleep(_BREATH)
            self._breathe_later()
