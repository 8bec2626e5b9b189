"""A controller: changes become keys, keys become calls of one function, and failures become retries.

A reconcile is told only which object to look at. It reads everything else from the cache, so it does not matter how
many events led to it, in which order, or whether some were missed. What always holds:

- No key is reconciled twice at a time; different keys are, up to the number of workers. A worker is there from the
  moment at which it is first needed.
- A reconcile that raises, or takes longer than its timeout, is tried again later and later; no other key notices.
- Every key is looked at again after a while (the resync), behind all fresh events, in case something outside changed.
- What somebody wants of an object is looked at at once. A controller that sums up what many others do may let their
  news gather for a moment (`settle`), so that what belongs together is told by one write.
- What a reconcile has left to tell (`tell_after`) is work at hand: it is told after that time at the latest, and
  together with whatever happens before.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.kind import Kind
from nagaya.api.meta import ObjectMeta
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.errors import Conflict
from nagaya.kube.key import Key
from nagaya.kube.mapping import itself
from nagaya.kube.metrics import Measures, Metrics, ReconcileResult
from nagaya.kube.queue import Priority, Queue, QueueClosed
from nagaya.kube.work import CURRENT, Work
from nagaya.world import World

log = logging.getLogger(__name__)

WORKERS: Final = 10
RECONCILE_TIMEOUT: Final = 60.0
RESYNC: Final = 600.0
RESYNC_JITTER: Final = 0.1
STOP_GRACE: Final = 10.0
"""How long a reconcile under way may take to end when the controller is stopped, in seconds."""
SETTLE: Final = 0.1
"""For how many seconds controllers that sum up what others do let their news gather: no person notices, and machines
that are made together mostly change together."""
_REMEMBERED_ERRORS: Final = 500


@dataclass(frozen=True, slots=True)
class Result:
    """What a reconcile asks for. `requeue_after` is for time itself: what others do is told by events. `tell_after`
    is for details of a status that wait for more to be told with them."""

    requeue_after: float | None = None
    tell_after: float | None = None


Reconcile = Callable[[Key], Awaitable[Result | None]]
Keys = Callable[[Change[Any]], Iterable[Key]]


@dataclass(frozen=True, slots=True)
class Watch:
    """Changes of a kind that concern objects of another: which keys does a change mean?"""

    kind: Kind[Any]
    keys: Keys


class Controller:
    """Runs one reconcile function."""

    def __init__(
        self,
        name: str,
        kind: Kind[Any],
        reconcile: Reconcile,
        *,
        watches: Sequence[Watch] = (),
        workers: int = WORKERS,
        timeout: float = RECONCILE_TIMEOUT,
        resync: float = RESYNC,
        settle: float = 0.0,
        on_stop: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`on_stop` ends what reconciles have begun and do not wait for. It is called when no reconcile is under way
        any more."""
        self.name = name
        self.kind = kind
        self._reconcile = reconcile
        self._watches: dict[Watch, Callable[[], None] | None] = {Watch(kind, itself): None}
        self._watches.update(dict.fromkeys(watches))
        self._workers = workers
        self._timeout = timeout
        self._resync = resync
        self._settle = settle
        self._on_stop = on_stop
        self._tasks: list[asyncio.Task[None]] = []
        self._running = False
        self._timer: asyncio.TimerHandle | None = None
        self._cache: Cache | None = None
        self._queue: Queue | None = None
        self._world: World | None = None
        self._concerns: Callable[[ObjectMeta], bool] | None = None
        self._told: OrderedDict[str, None] = OrderedDict()
        self._settling = False
        self._count = 0
        self.errors: dict[Key, str] = {}
        """Keys whose last reconcile failed, with what went wrong."""

    @property
    def kinds(self) -> list[Kind[Any]]:
        """All kinds that it hears of."""
        return [*dict.fromkeys(watch.kind for watch in self._watches)]

    @property
    def queue(self) -> Queue:
        """Its work. Exists once it is started."""
        assert self._queue is not None, f"controller {self.name} is not started"
        return self._queue

    @property
    def running(self) -> bool:
        """Whether it is started and not stopped."""
        return self._running

    def watch(self, kind: Kind[Any], keys: Keys) -> None:
        """Hear of a kind that became known only now. The same kind with the same mapping again: no effect."""
        watch = Watch(kind, keys)
        if watch in self._watches:
            return
        self._watches[watch] = None
        if self._cache is not None and self.running:
            if not self._cache.has(kind):
                self._cache.start(kind)
            self._subscribe(self._cache, watch)

    def look_at(self, keys: Iterable[Key]) -> None:
        """Hear of news that no kind in the cache tells, such as those of tenants. Without effect unless it runs: at
        the start everything is looked at anyway."""
        if self.running:
            for key in keys:
                self.queue.gather(key, self._settle)

    def start(
        self,
        cache: Cache,
        world: World,
        metrics: Metrics,
        concerns: Callable[[ObjectMeta], bool] | None = None,
    ) -> None:
        """Begin to work. The kinds that it hears of must be in the cache, and synced. Objects that are not its concern
        are left alone, whatever happens to them."""
        self._cache, self._world, self._concerns = cache, world, concerns
        loop, measures, context = asyncio.get_running_loop(), Measures.of(self.name, metrics), copy_context()

        def hire() -> None:
            number = len(self._tasks)
            if number < self._workers:
                # In the context of the start: whoever brought the key may be at work on something else.
                work, name = self._work(queue, world, measures), f"{self.name} worker {number}"
                self._tasks.append(loop.create_task(work, name=name, context=context.copy()))

        queue = self._queue = Queue(world.clock, world.random, on_add=metrics.adds.labels(self.name).inc, on_wait=hire)
        _export(self.name, queue, metrics)
        self._settling = True
        for watch in self._watches:
            self._subscribe(cache, watch)
        self._settling = False
        metrics.workers.labels(self.name).set(self._workers)
        self._running = True
        self._schedule_resync()

    async def stop(self) -> None:
        """Hand out no more keys, let what is under way end, and cut it short after a while."""
        for watch, unsubscribe in self._watches.items():
            if unsubscribe is not None:
                unsubscribe()
                self._watches[watch] = None
        if self._timer is not None:
            self._timer.cancel()
        if self._queue is not None:
            self._queue.close()
        tasks, self._tasks, self._running = self._tasks, [], False
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=STOP_GRACE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        if self._on_stop is not None:
            await self._on_stop()

    def _subscribe(self, cache: Cache, watch: Watch) -> None:
        queue = self.queue
        own = watch.kind == self.kind

        def add(change: Change[Any]) -> None:
            for key in watch.keys(change):
                if self._settling:
                    # What was there at the start is no news: an event that comes meanwhile goes before it.
                    queue.add(key, Priority.RESYNC)
                elif own and _pressing(change):
                    queue.add(key)
                else:
                    queue.gather(key, self._settle)

        self._watches[watch] = cache.subscribe(watch.kind, add)

    def _schedule_resync(self) -> None:
        assert self._world is not None
        wait = self._resync * (1 + RESYNC_JITTER * (2 * self._world.random.random() - 1))
        self._timer = asyncio.get_running_loop().call_later(wait, self._resync_all)

    def _resync_all(self) -> None:
        assert self._cache is not None
        for obj in self._cache.list(self.kind):
            self.queue.add(Key.of(obj), Priority.RESYNC)
        self._schedule_resync()

    async def _work(self, queue: Queue, world: World, measures: Measures) -> None:
        monotonic = world.clock.monotonic
        while True:
            try:
                key = await queue.get()
            except QueueClosed:
                return
            measures.waited.observe(queue.last_latency)
            begun = monotonic()
            self._count += 1
            assert self._cache is not None
            working = CURRENT.set(Work(self.name, self.kind, key, self._count, self._cache))
            try:
                result = await self._one(queue, key)
            finally:
                CURRENT.reset(working)
                queue.done(key)
            took = monotonic() - begun
            measures.worked.observe(took)
            measures.duration.observe(took)
            measures.results[result].inc()
            if result == "error":
                measures.errors.inc()
                measures.retries.inc()

    def _is_concern(self, key: Key) -> bool:
        if self._concerns is None or self._cache is None:
            return True
        obj = self._cache.get(self.kind, key)
        # Of what is gone nothing is known any more: whatever was kept of it goes.
        return obj is None or self._concerns(obj.metadata)

    async def _one(self, queue: Queue, key: Key) -> ReconcileResult:
        if not self._is_concern(key):
            return "success"
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                result = await self._reconcile(key)
        except Conflict as error:
            # Somebody else wrote first. The event about it is on its way; nothing is wrong.
            log.debug("%s %s: %s", self.name, key, error)
            queue.retry(key)
            return "error"
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Something that the reconcile waited for was cancelled. This worker was not.
            self._failed(key, error, queue.retry(key))
            return "error"
        except Exception as error:
            late = TimeoutError(f"the reconcile took longer than {self._timeout:g} s and was cut short")
            self._failed(key, late if limit.expired() else error, queue.retry(key))
            return "error"
        self.errors.pop(key, None)
        queue.forget(key)
        if result is None:
            return "success"
        if result.tell_after is not None:
            queue.gather(key, result.tell_after)
        if result.requeue_after is None:
            return "success"
        queue.add_after(key, result.requeue_after)
        return "requeue_after"

    def _failed(self, key: Key, error: BaseException, delay: float) -> None:
        sentence = f"{type(error).__name__}: {error}"
        self.errors[key] = sentence
        # A message often names its object, and a hundred objects may fail for the same reason: one trace is enough.
        message = sentence.replace(key.name, "") if key.name else sentence
        known = message in self._told
        self._told[message] = None
        self._told.move_to_end(message)
        if len(self._told) > _REMEMBERED_ERRORS:
            self._told.popitem(last=False)
        log.error(
            "%s %s failed, next try in %.3g s: %s",
            self.name,
            key,
            delay,
            sentence,
            exc_info=None if known else error,
        )


def _pressing(change: Change[Any]) -> bool:
    """Whether an object is new, gone, to go, or to be otherwise: not only what is said of it has changed."""
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    before: ObjectMeta = old.metadata
    after: ObjectMeta = new.metadata
    return before.generation != after.generation or before.deleting != after.deleting


def _export(name: str, queue: Queue, metrics: Metrics) -> None:
    metrics.depth.labels(name).set_function(lambda: queue.depth)
    metrics.longest.labels(name).set_function(lambda: queue.longest_running)
    metrics.active.labels(name).set_function(lambda: queue.running)
