"""Events: what happened to an object, told to whoever looks at it with kubectl.

Recording never waits and never fails: an event goes into a queue, and one task sends them in order. What always holds:

- The same event again becomes a series: one object with a count, written when the series begins, every half hour while
  it goes on, and at its end. A different sentence is a different event.
- One object cannot flood the API: beyond a burst of 25 it gets one event in five minutes.
- When the API is away events wait, a bounded number of them for a bounded time; then they are dropped and counted.

Events are read by everyone who may read the namespace. Callers put no secret into a note.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from nagaya.api.kind import Kind, Object
from nagaya.api.untyped import Untyped
from nagaya.kube.client import Client
from nagaya.kube.election import LostLeadership
from nagaya.kube.errors import AlreadyExists, ApiError, NotFound, ServerError, TooManyRequests
from nagaya.kube.microtime import microtime
from nagaya.kube.patches import Merge
from nagaya.kube.transport import NoAnswer
from nagaya.world import World

log = logging.getLogger(__name__)

EVENTS: Final = Kind("events.k8s.io", "v1", "Event", "events", Untyped)
EventType = Literal["Normal", "Warning"]

QUEUED: Final = 1000  # events that wait to be sent
TRIES: Final = 12
TRY_AGAIN: Final = 10.0  # seconds, up to a quarter more at random
SERIES_END: Final = 360.0  # seconds without the event after which a series is over
SERIES_REFRESH: Final = 1800.0  # seconds after which the count of a running series is written again
BURST: Final = 25
REFILL: Final = 300.0  # seconds per event beyond the burst
_OBJECTS: Final = 4096  # whose bursts are remembered
_NOTE_LIMIT: Final = 1024  # bytes; the API refuses longer ones
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME: Final = 253

Identity = tuple[str, ...]
"""All that two events of one series have in common."""


@dataclass(slots=True)
class _Series:
    """An event that was recorded once or more."""

    content: dict[str, Any]
    first: float
    last: float
    last_date: datetime
    count: int = 1
    written: int = 0  # the count that the API knows
    written_at: float = 0.0
    queued: bool = True


@dataclass(slots=True)
class _Allowance:
    """How many events an object may still have."""

    tokens: float
    at: float


@dataclass(slots=True)
class Recorder:
    """Events in the name of one controller."""

    client: Client
    world: World
    controller: str = "nagaya"
    instance: str = field(default_factory=lambda: f"nagaya-{socket.gethostname()}"[:128])
    on_drop: Callable[[str], None] | None = None  # told why, for metrics
    _known: dict[Identity, _Series] = field(default_factory=dict, init=False)
    _queue: deque[Identity] = field(default_factory=deque, init=False)
    _allowances: OrderedDict[Identity, _Allowance] = field(default_factory=OrderedDict, init=False)
    _wake: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _made: int = field(default=0, init=False)

    def normal(self, kind: Kind[Any], obj: Object, reason: str, note: str, *, action: str = "Reconcile") -> None:
        """Something went as it should."""
        self.record(kind, obj, "Normal", reason, note, action=action)

    def warning(self, kind: Kind[Any], obj: Object, reason: str, note: str, *, action: str = "Reconcile") -> None:
        """Something did not go as it should."""
        self.record(kind, obj, "Warning", reason, note, action=action)

    def record(
        self,
        kind: Kind[Any],
        obj: Object,
        event_type: EventType,
        reason: str,
        note: str,
        *,
        action: str = "Reconcile",
    ) -> None:
        """Something happened to an object. Returns at once."""
        regarding = _reference(kind, obj)
        note = _cut(note)
        identity = (event_type, reason, action, note, *regarding.values())
        clock = self.world.clock
        now, date = clock.monotonic(), clock.now()
        known = self._known.get(identity)
        if known is not None:
            known.count += 1
            known.last, known.last_date = now, date
            if known.count == 2 and not known.queued:
                self._enqueue(identity, known)
            return
        if not self._allowed(tuple(regarding.values()), now):
            self._drop("too many events of one object")
            return
        if len(self._queue) >= QUEUED:
            self._drop("the queue is full")
            return
        content = {
            "metadata": {"namespace": regarding.get("namespace") or "default", "name": self._name(regarding["name"])},
            "eventTime": microtime(date),
            "reportingController": self.controller,
            "reportingInstance": self.instance,
            "action": action,
            "reason": reason,
            "regarding": regarding,
            "note": note,
            "type": event_type,
        }
        series = self._known[identity] = _Series(content, now, now, date)
        self._enqueue(identity, series)

    async def run(self) -> None:
        """Send events until cancelled."""
        while True:
            while self._queue:
                identity = self._queue[0]
                series = self._known[identity]
                delivered = await self._deliver(series)
                self._queue.popleft()  # only now: what was not sent when this task is cancelled can be flushed
                series.queued = False
                if not delivered:
                    del self._known[identity]
                elif series.written == 1 and series.count > 1:  # became a series while it was on its way
                    self._enqueue(identity, series)
            due = self._next_due()
            self._wake.clear()
            try:
                async with asyncio.timeout(None if due is None else max(0.0, due - self.world.clock.monotonic())):
                    await self._wake.wait()
            except TimeoutError:
                self._look_after_series()

    async def flush(self) -> None:
        """Send what waits, once each: for an orderly stop, after `run` has been cancelled."""
        while self._queue:
            series = self._known[self._queue.popleft()]
            series.queued = False
            try:
                await self._send(series)
            except (ApiError, NoAnswer, LostLeadership) as error:
                log.info("an event was not sent: %s", error)
                self._drop("stopping")

    def _enqueue(self, identity: Identity, series: _Series) -> None:
        series.queued = True
        self._queue.append(identity)
        self._wake.set()

    def _next_due(self) -> float | None:
        """When a series has to be looked at, if nothing happens before."""
        return min((min(each.last + SERIES_END, _refresh_at(each)) for each in self._known.values()), default=None)

    def _look_after_series(self) -> None:
        now = self.world.clock.monotonic()
        for identity, series in list(self._known.items()):
            if now >= series.last + SERIES_END:
                if series.count == series.written:
                    del self._known[identity]
                else:
                    self._enqueue(identity, series)
            elif now >= _refresh_at(series):
                self._enqueue(identity, series)

    async def _deliver(self, series: _Series) -> bool:
        """Send an event, trying again while the API is away. Returns whether it is known there now."""
        for attempt in range(1, TRIES + 1):
            try:
                await self._send(series)
            except (NoAnswer, ServerError, TooManyRequests) as error:
                if attempt == TRIES:
                    log.warning("an event was dropped after %d attempts: %s", TRIES, error)
                    break
                await asyncio.sleep(TRY_AGAIN * (1 + self.world.random.random() / 4))
            except (ApiError, LostLeadership) as error:
                log.info("an event was refused: %s", error)
                self._drop("refused")
                return False
            else:
                return True
        self._drop("the API server is away")
        return False

    async def _send(self, series: _Series) -> None:
        content = dict(series.content)
        count = series.count
        namespace, name = content["metadata"]["namespace"], content["metadata"]["name"]
        if count > 1:
            content["series"] = {"count": count, "lastObservedTime": microtime(series.last_date)}
        if series.written:
            try:
                await self.client.patch(EVENTS, namespace, name, Merge({"series": content["series"]}))
            except NotFound:  # events live for an hour
                await self.client.create(EVENTS, content)
        else:
            try:
                await self.client.create(EVENTS, content)
            except AlreadyExists:
                # An attempt before this one arrived, although its answer did not.
                if count > 1:
                    await self.client.patch(EVENTS, namespace, name, Merge({"series": content["series"]}))
        series.written, series.written_at = count, self.world.clock.monotonic()

    def _allowed(self, obj: Identity, now: float) -> bool:
        allowance = self._allowances.pop(obj, None) or _Allowance(BURST, now)
        allowance.tokens = min(BURST, allowance.tokens + (now - allowance.at) / REFILL)
        allowance.at = now
        self._allowances[obj] = allowance
        if len(self._allowances) > _OBJECTS:
            self._allowances.popitem(last=False)
        if allowance.tokens < 1:
            return False
        allowance.tokens -= 1
        return True

    def _drop(self, why: str) -> None:
        if self.on_drop is not None:
            self.on_drop(why)

    def _name(self, regarding: str) -> str:
        # Events of one object within a microsecond are told apart by how many were made.
        self._made += 1
        moment = round(self.world.clock.now().timestamp() * 1_000_000) * 1000 + self._made % 1000
        name = f"{regarding}.{moment:x}"
        return name if len(name) <= _LONGEST_NAME and _SUBDOMAIN.fullmatch(name) else self.world.uid()


def _refresh_at(series: _Series) -> float:
    behind = series.count > max(series.written, 1)
    return max(series.written_at, series.first) + SERIES_REFRESH if behind else float("inf")


def _reference(kind: Kind[Any], obj: Object) -> dict[str, str]:
    metadata = obj.metadata
    reference = {"apiVersion": kind.api_version, "kind": kind.kind, "name": metadata.name, "uid": metadata.uid}
    return {**reference, "namespace": metadata.namespace} if metadata.namespace else reference


def _cut(note: str) -> str:
    encoded = note.encode(errors="replace")
    if len(encoded) <= _NOTE_LIMIT:
        return note
    return encoded[: _NOTE_LIMIT - 3].decode(errors="ignore") + "..."
