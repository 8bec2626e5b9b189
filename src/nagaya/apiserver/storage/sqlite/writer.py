"""The thread that makes writes durable.

It alone touches the connection. It takes everything that has come in while it was busy as one transaction: under load
many writes share one wait for the disk, and without load a write waits for nothing. Garbage of the compaction goes
along in small pieces, and what else the file needs is done when nobody waits.
"""

from __future__ import annotations

import logging
import math
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import apsw

from nagaya.apiserver.storage.errors import StorageFailure
from nagaya.apiserver.storage.sqlite.database import Database
from nagaya.apiserver.storage.sqlite.failures import write_failure
from nagaya.apiserver.storage.write import Write
from nagaya.world import Clock

_LOG = logging.getLogger(__name__)
_BATCH = 1024  # writes in one transaction
_QUIET = 0.1  # seconds without a write, after which the mark waits for the disk
_PROBE = 1.0  # seconds after which a disk that failed is tried again
_GARBAGE = 500  # rows removed in one transaction: a millisecond or two

Deliver = Callable[[Sequence[Write], StorageFailure | None], None]


@dataclass(frozen=True, slots=True)
class Compaction:
    """History up to `revision` is gone; these rows are garbage."""

    revision: int
    garbage: Sequence[int]


class Stop:
    """The last thing a writer gets."""


class Writer(threading.Thread):
    """Commits what is put into `inbox` and tells `deliver` of each transaction, in order. Ends after a `Stop`."""

    def __init__(self, database: Database, clock: Clock, garbage: Sequence[int], deliver: Deliver) -> None:
        super().__init__(name="nagaya-store-writer", daemon=True)  # a process that ends without closing must not hang
        self.inbox: queue.SimpleQueue[Sequence[Write] | Compaction | Stop] = queue.SimpleQueue()
        self._database = database
        self._clock = clock
        self._deliver = deliver
        self._compacted: int | None = None
        self._garbage: list[int] = list(garbage)
        self._garbage_resting = False
        self._stopping = False
        self._failing = False
        self._quiet = False

    def run(self) -> None:
        """Work until told to stop and everything that came before is settled."""
        while True:
            batch = self._collect()
            if batch:
                self._commit(batch)
            elif self._has_garbage():
                self._commit(())
            elif self._stopping:
                return
            elif self._quiet:
                self._settle()
            if not batch or self._database.chore_overdue:
                self._do_chore()

    def _collect(self) -> Sequence[Write]:
        """Everything that is waiting; waits for something if there is nothing else to do."""
        batch: list[Write] = []
        idle = not (self._stopping or self._has_garbage() or self._database.has_chores)
        patience = _PROBE if self._failing else None if self._database.settled else _QUIET
        self._quiet = False
        try:
            while len(batch) < _BATCH:
                match self.inbox.get(block=idle and not batch, timeout=patience):
                    case Compaction() as compaction:
                        self._compacted = compaction.revision
                        self._garbage.extend(compaction.garbage)
                        self._garbage_resting = False
                        idle = False
                    case Stop():
                        self._stopping = True
                        idle = False
                    case writes:
                        batch.extend(writes)
        except queue.Empty:
            self._quiet = idle and not batch
        return batch

    def _has_garbage(self) -> bool:
        return not self._garbage_resting and (self._compacted is not None or bool(self._garbage))

    def _commit(self, batch: Sequence[Write]) -> None:
        compacted, garbage = (self._compacted, self._garbage[:_GARBAGE]) if self._has_garbage() else (None, [])
        failure: StorageFailure | None = None
        try:
            written_at = math.ceil(self._clock.now().timestamp())
            self._database.commit([write.event for write in batch], written_at, compacted, garbage)
        except Exception as error:  # whatever it is, somebody waits for an answer
            failure = write_failure(self._database.path, error)
        if failure is None:
            if compacted is not None:
                self._compacted = None
            del self._garbage[: len(garbage)]
        elif compacted is not None or garbage:
            self._garbage_resting = True  # until the next compaction, so that a full disk is not tried again and again
            if not batch:
                _LOG.warning("old history stays on disk for now: %s", failure.reason)
        if batch:
            self._finish(batch, failure)

    def _finish(self, batch: Sequence[Write], failure: StorageFailure | None) -> None:
        if failure is not None and not self._failing:
            _LOG.error("writes fail: %s", failure.reason)
        elif failure is None and self._failing:
            _LOG.info("%s: writes work again", self._database.path)
        self._failing = failure is not None
        self._deliver(batch, failure)

    def _settle(self) -> None:
        """What a quiet moment is for: the mark gets to the disk, or a disk that failed is tried again."""
        failure: StorageFailure | None = None
        try:
            if self._failing:
                self._database.commit((), 0, None, ())
            self._database.settle()
        except Exception as error:
            failure = write_failure(self._database.path, error)
        if self._failing:
            self._finish((), failure)
        elif failure is not None:
            _LOG.warning("the mark is not on the disk yet: %s", failure.reason)

    def _do_chore(self) -> None:
        if self._database.has_chores:
            try:
                self._database.do_chore()
            except (apsw.Error, OSError) as error:
                _LOG.warning("the database keeps its log for now: %s", write_failure(self._database.path, error).reason)
