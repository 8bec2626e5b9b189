"""Which keys need work: each at most once in the queue, and never in two hands.

Events come faster than reconciles end, and they say only "look at this key again". So the queue keeps keys, not events.
What always holds:

- A key that is queued already is not queued twice; a key that is being worked on is queued again only when that work is
  `done`. Nothing is lost: an `add` during the work leads to another turn after it.
- Fresh events go before resyncs, in the order in which they came; an event about a key that waits for a resync moves it
  ahead.
- Of several delays for a key the earliest wins. A delay is not shortened or cancelled by work that happens before it.
- News of a key may gather for a moment: all that comes meanwhile leads to one turn, which is not later for it. Work
  that begins before sees it all and needs no second turn. Of several such moments the earliest wins, too.
- A key that failed comes back after 5 ms, doubled with each failure up to 1000 s, until `forget`.
"""

from __future__ import annotations

import asyncio
import random
from collections import OrderedDict, deque
from collections.abc import Callable
from enum import IntEnum
from typing import Final

from nagaya.kube.key import Key
from nagaya.world import Clock

# What is left of a wait may be less than the clock can tell apart: the reconcile after it would ask for the same again.
SHORTEST_DELAY: Final = 0.001
RETRY_BASE: Final = 0.005
RETRY_MAXIMUM: Final = 1000.0
RETRY_JITTER: Final = 0.1
"""How much longer than computed a backoff may be, so that keys which failed together come back apart."""
RETRY_SOON: Final = 1.0
"""Up to this delay a retry counts as work at hand; a key that failed for longer waits for something else."""


class Priority(IntEnum):
    """Lower numbers go first."""

    FRESH = 0
    RESYNC = 1


class QueueClosed(Exception):
    """Nothing more is handed out."""


class Queue:
    """The work of one controller."""

    def __init__(
        self,
        clock: Clock,
        random: random.Random | None = None,
        *,
        on_add: Callable[[], object] | None = None,
        on_wait: Callable[[], object] | None = None,
    ) -> None:
        """Without `random` there is no jitter. `on_add` is called whenever `adds` grows, `on_wait` when a key is queued
        and nobody is there to take it."""
        self._clock = clock
        self._random = random
        self._on_add = on_add
        self._on_wait = on_wait
        self._waiting: tuple[OrderedDict[Key, float], ...] = tuple(OrderedDict() for _ in Priority)
        self._running: dict[Key, float] = {}
        self._again: dict[Key, tuple[Priority, float]] = {}
        self._timers: dict[Key, tuple[float, asyncio.TimerHandle, Priority]] = {}
        self._retries: dict[Key, tuple[float, asyncio.TimerHandle]] = {}
        self._gathering: dict[Key, tuple[float, asyncio.TimerHandle]] = {}
        self._failures: dict[Key, int] = {}
        self._getters: deque[asyncio.Future[None]] = deque()
        self._idle_waiters: list[asyncio.Future[None]] = []
        self._closed = False
        self.adds = 0
        """How often a key was put into the queue; keys that were in it already are not counted."""
        self.retries = 0
        self.last_latency = 0.0
        """How long the key that was handed out last had waited, in seconds."""

    @property
    def depth(self) -> int:
        """How many keys wait for a worker."""
        return sum(len(waiting) for waiting in self._waiting)

    @property
    def running(self) -> int:
        """How many keys are being worked on."""
        return len(self._running)

    @property
    def longest_running(self) -> float:
        """For how many seconds the slowest of the keys in work has been worked on."""
        return self._clock.monotonic() - min(self._running.values()) if self._running else 0.0

    @property
    def unfinished(self) -> float:
        """Seconds that all keys in work have taken so far together."""
        now = self._clock.monotonic()
        return sum(now - since for since in self._running.values())

    @property
    def busy(self) -> bool:
        """Whether a key is queued, in work, or about to be: its news gather, or it is retried."""
        if any(self._waiting) or self._running or self._gathering:
            return True
        return any(delay <= RETRY_SOON for delay, _ in self._retries.values())

    def add(self, key: Key, priority: Priority = Priority.FRESH) -> None:
        """Have a key worked on as soon as a worker is free."""
        if self._closed:
            return
        now = self._clock.monotonic()
        if key in self._running:
            before = self._again.get(key)
            if before is None:
                self._count_add()
                self._again[key] = (priority, now)
            elif priority < before[0]:
                self._again[key] = (priority, before[1])
            return
        self._enqueue(key, priority, now)

    def gather(self, key: Key, seconds: float) -> None:
        """Have a key worked on some time after the first news of it, for all the news there are by then."""
        if seconds <= 0 or self._is_waiting(key):
            self.add(key)
            return
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + seconds
        pending = self._gathering.get(key)
        if pending is not None:
            if pending[0] <= when:
                return
            pending[1].cancel()
        self._gathering[key] = (when, loop.call_at(when, self._gathered, key))

    def add_after(self, key: Key, seconds: float, priority: Priority = Priority.FRESH) -> None:
        """Have a key worked on when some time has passed. If that was asked for already, the earlier moment counts."""
        if self._closed:
            return
        if seconds <= 0:
            self.add(key, priority)
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + max(seconds, SHORTEST_DELAY)
        pending = self._timers.get(key)
        if pending is not None:
            if pending[0] <= when:
                return
            pending[1].cancel()
        self._timers[key] = (when, loop.call_at(when, self._due, key), priority)

    def retry(self, key: Key) -> float:
        """Have a key that failed worked on again, later with every failure. Returns the delay in seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retries += 1
        # 2**40 is far beyond the maximum; without a bound the power of a key that fails for months would overflow.
        delay: float = min(RETRY_BASE * 2 ** min(failures, 40), RETRY_MAXIMUM)
        if self._random is not None:
            delay *= 1 + RETRY_JITTER * self._random.random()
        if self._closed:
            return delay
        self._cancel_retry(key)
        handle = asyncio.get_running_loop().call_later(delay, self._retry_due, key)
        self._retries[key] = (delay, handle)
        return delay

    def failures(self, key: Key) -> int:
        """How often a key has failed since it was last forgotten."""
        return self._failures.get(key, 0)

    def forget(self, key: Key) -> None:
        """A key has succeeded: its next failure is its first, and a retry that was still to come is not needed."""
        self._failures.pop(key, None)
        self._cancel_retry(key)

    async def get(self) -> Key:
        """The next key to work on. Whoever got it must call `done`. Raises QueueClosed after `close`."""
        while not any(self._waiting):
            if self._closed:
                raise QueueClosed
            getter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except BaseException:
                if getter in self._getters:
                    self._getters.remove(getter)
                elif any(self._waiting):
                    # It was woken for a key and cannot take it any more.
                    self._wake()
                raise
        waiting = self._waiting[Priority.FRESH] or self._waiting[Priority.RESYNC]
        key, since = waiting.popitem(last=False)
        now = self._clock.monotonic()
        self.last_latency = now - since
        self._running[key] = now
        self._cancel_gathering(key)
        return key

    def done(self, key: Key) -> None:
        """The work on a key has ended, however it ended."""
        del self._running[key]
        again = self._again.pop(key, None)
        if again is not None and not self._closed:
            self._waiting[again[0]][key] = again[1]
            self._wake()
        self._tell_idle()

    async def idle(self) -> None:
        """Wait until the queue is not busy."""
        while self.busy:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle_waiters.append(waiter)
            await waiter

    def close(self) -> None:
        """Hand out nothing more. Keys in work may still be `done`."""
        self._closed = True
        for _, timer, _ in self._timers.values():
            timer.cancel()
        for _, timer in self._retries.values():
            timer.cancel()
        for _, timer in self._gathering.values():
            timer.cancel()
        self._timers.clear()
        self._retries.clear()
        self._gathering.clear()
        self._again.clear()
        for waiting in self._waiting:
            waiting.clear()
        for getter in self._getters:
            if not getter.done():
                getter.set_result(None)
        self._getters.clear()
        self._tell_idle()

    def _enqueue(self, key: Key, priority: Priority, now: float) -> None:
        fresh, resync = self._waiting
        if key in fresh:
            return
        if priority is Priority.FRESH:
            since = resync.pop(key, None)
            if since is not None:
                fresh[key] = since
                return
            fresh[key] = now
        else:
            if key in resync:
                return
            resync[key] = now
        self._count_add()
        if not self._wake() and self._on_wait is not None:
            self._on_wait()

    def _count_add(self) -> None:
        self.adds += 1
        if self._on_add is not None:
            self._on_add()

    def _is_waiting(self, key: Key) -> bool:
        return any(key in waiting for waiting in self._waiting)

    def _gathered(self, key: Key) -> None:
        del self._gathering[key]
        self.add(key)

    def _cancel_gathering(self, key: Key) -> None:
        pending = self._gathering.pop(key, None)
        if pending is not None:
            pending[1].cancel()

    def _due(self, key: Key) -> None:
        _, _, priority = self._timers.pop(key)
        self.add(key, priority)

    def _retry_due(self, key: Key) -> None:
        del self._retries[key]
        self.add(key)

    def _cancel_retry(self, key: Key) -> None:
        pending = self._retries.pop(key, None)
        if pending is not None:
            pending[1].cancel()
            self._tell_idle()

    def _wake(self) -> bool:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return True
        return False

    def _tell_idle(self) -> None:
        if self._idle_waiters and not self.busy:
            waiters, self._idle_waiters = self._idle_waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)
