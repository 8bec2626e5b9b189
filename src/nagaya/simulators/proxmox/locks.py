"""Locks of the data center: files under /var/lock on a host, and locks of the cluster file system.

PVE waits a while for a lock and then gives up with the name of the file; that message is all that a client learns of
two calls that got in each other's way.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from nagaya.simulators.proxmox.failure import Failure

Say = Callable[[str], None]


class _Lock:
    def __init__(self) -> None:
        self.readers = 0
        self.held = False
        self.turn = asyncio.Condition()


class Locks:
    """All of them, by host (or None for the cluster) and name."""

    def __init__(self, quorate: Callable[[], bool] = lambda: True) -> None:
        self._quorate = quorate
        self._locks: dict[tuple[str | None, str], _Lock] = defaultdict(_Lock)

    @asynccontextmanager
    async def file(
        self, node: str, path: str, *, timeout: float = 10.0, shared: bool = False, say: Say | None = None
    ) -> AsyncIterator[None]:
        """A lock file of a host. `shared` holders exclude only others that want it for themselves.

        Who has to wait says so, and when the waiting is over: these lines are in the logs of tasks.
        """
        async with self._hold((node, path), timeout, shared, f"can't lock file '{path}' - got timeout\n", say):
            yield

    @asynccontextmanager
    async def cluster(self, name: str, *, timeout: float = 10.0) -> AsyncIterator[None]:
        """A lock of the cluster file system. Without quorum nobody gets it, and that shows only when time is up."""
        if not self._quorate():
            await asyncio.sleep(timeout)
            if not self._quorate():
                raise Failure(f"cfs-lock '{name}' error: no quorum!\n")
        async with self._hold((None, name), timeout, False, f"cfs-lock '{name}' error: got lock request timeout\n"):
            yield

    @asynccontextmanager
    async def _hold(
        self, key: tuple[str | None, str], timeout: float, shared: bool, refusal: str, say: Say | None = None
    ) -> AsyncIterator[None]:
        lock = self._locks[key]
        try:
            async with asyncio.timeout(timeout), lock.turn:
                if lock.held or (lock.readers and not shared):
                    if say is not None:
                        say("trying to acquire lock...")
                    await lock.turn.wait_for(lambda: not lock.held and (shared or not lock.readers))
                    if say is not None:
                        say(" OK")
                if shared:
                    lock.readers += 1
                else:
                    lock.held = True
        except TimeoutError:
            raise Failure(refusal) from None
        try:
            yield
        finally:
            if shared:
                lock.readers -= 1
            else:
                lock.held = False
            async with lock.turn:
                lock.turn.notify_all()
