"""Watching a collection: the state now if asked for, then every change, in order, until the time is up.

What a watcher sees follows its selection: an object that comes to match is ADDED even if it existed before, one that
stops matching is DELETED, with its last state and the revision of the change. Bookmarks tell how far the watcher has
come when nothing of interest happens. A watch never skips: if the history it needs is gone it ends with an ERROR event
(410).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final, Protocol

import orjson

from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.read import parse_version
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.registry.selection import Selection
from nagaya.apiserver.storage import Compacted, Event, Record
from nagaya.apiserver.web.options import ListOptions

BOOKMARK_INTERVAL: Final = 60.0  # seconds; clients lose at most this much when they have to reconnect
BOOKMARK_BEFORE_END: Final = 2.0  # one more shortly before the time is up, so that the next watch starts late
DEFAULT_TIMEOUT: Final = 1800.0  # seconds; stretched at random up to twice, so that watchers do not all return at once
_CHUNK: Final = 64 * 1024  # bytes of a chunk, or one event: a slow reader holds one in memory
_INITIAL_END: Final = "k8s.io/initial-events-end"


class EventPrinter(Protocol):
    """Turns one event into the line that is sent: as is, as a Table, or as metadata."""

    def ready(self, kind: str, event: Event) -> bytes | None:
        """An event that has been printed before, for whoever watches the same."""
        ...

    async def line(self, kind: str, record: Record, revision: int, event: Event | None) -> bytes:
        """An ADDED, MODIFIED or DELETED event."""
        ...

    def bookmark(self, revision: int, annotations: dict[str, str] | None) -> bytes:
        """A BOOKMARK event."""
        ...


@dataclass(slots=True)
class WatchRequest:
    """What to watch and where to start, all checked: opening it cannot fail any more except for lost history."""

    resource: Resource
    prefix: str
    selection: Selection
    since: int | None  # None: start with the state at opening
    initial_events: bool
    bookmarks: bool
    timeout: float
    bookmark_initial_end: bool


def check(
    backend: Backend, resource: Resource, namespace: str, options: ListOptions, selection: Selection
) -> WatchRequest:
    """Read a watch's options. Raises what the client is to be told before the stream begins."""
    version = parse_version(options.resource_version, server_error=True)
    initial = bool(options.send_initial_events)
    if initial and version > backend.store.revision:
        raise status.too_large_resource_version(version, backend.store.revision)
    timeout = float(options.timeout_seconds or 0)
    if timeout <= 0:
        timeout = DEFAULT_TIMEOUT * (1 + backend.world.random.random())
    since = None if initial or version == 0 else version
    if since is not None and since < backend.store.compacted_revision:
        raise status.expired(f"too old resource version: {since} ({backend.store.compacted_revision})")
    return WatchRequest(
        resource=resource,
        prefix=f"{namespace}/" if resource.namespaced and namespace else "",
        selection=selection,
        since=since,
        initial_events=initial,
        bookmarks=options.allow_bookmarks,
        timeout=timeout,
        bookmark_initial_end=initial and options.allow_bookmarks,
    )


async def stream(backend: Backend, request: WatchRequest, printer: EventPrinter) -> AsyncIterator[bytes]:
    """The lines of a watch. Several events that come together are one chunk."""
    store = backend.store
    clock = backend.world.clock
    end = clock.monotonic() + request.timeout
    since = request.since
    if since is None:
        since = store.revision
        if request.initial_events:
            async for chunk in _initial(backend, request, printer, since):
                yield chunk
    told = since
    next_bookmark = _next_bookmark(clock.monotonic(), end)
    try:
        # A client may ask for what comes after a revision that is still to come.
        watch = store.watch(request.resource.table, min(since, store.revision), request.prefix)
        with contextlib.closing(watch) as events, contextlib.closing(_Alarm(events.interrupt)) as alarm:
            while (now := clock.monotonic()) < end:
                if request.bookmarks and now >= next_bookmark:
                    next_bookmark = _next_bookmark(now, end)
                    if events.revision > told:
                        told = events.revision
                        yield printer.bookmark(told, None)
                alarm.ring(min(end, next_bookmark) if request.bookmarks else end, now)
                batch = await events.next()
                if batch is None:
                    return
                lines, size = [], 0
                for event in batch:
                    if event.revision <= since:
                        continue
                    line = _ready_line(request, printer, event)
                    lines.append(line := await _line(request, printer, event) if line is None else line)
                    size += len(line)
                    if size >= _CHUNK:
                        told = event.revision
                        yield b"".join(lines)
                        lines, size = [], 0
                if size:
                    told = batch[-1].revision
                    yield lines[0] if len(lines) == 1 else b"".join(lines)
                if len(batch) > 1:
                    await asyncio.sleep(0)  # a watcher who has much to catch up with does not keep others waiting
    except Compacted as gone:
        error = status.expired(f"too old resource version: {since} ({gone.compacted_revision})")
        yield error_line(error)


class _Alarm:
    """Rings once at a time of the server's clock. Setting it again to the same time costs nothing."""

    __slots__ = ("_at", "_ring", "_timer")

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def ring(self, at: float, now: float) -> None:
        if self._timer is None or at != self._at:
            self.close()
            self._at = at
            self._timer = asyncio.get_running_loop().call_later(at - now, self._go_off)

    def _go_off(self) -> None:
        self._timer = None
        self._ring()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _next_bookmark(now: float, end: float) -> float:
    regular = now + BOOKMARK_INTERVAL
    last = end - BOOKMARK_BEFORE_END
    return last if now < last < regular else regular


async def _initial(
    backend: Backend, request: WatchRequest, printer: EventPrinter, revision: int
) -> AsyncIterator[bytes]:
    resource, selection = request.resource, request.selection
    chunk: list[bytes] = []
    size = 0
    for record in selection.of(backend.store.list(resource.table, request.prefix).records):
        if selection.by_object and not selection.matches_object(await resource.load(record)):
            continue
        chunk.append(await printer.line("ADDED", record, record.revision, None))
        size += len(chunk[-1])
        if size >= _CHUNK:
            yield b"".join(chunk)
            chunk, size = [], 0
            await asyncio.sleep(0)  # as below
    if request.bookmark_initial_end:
        chunk.append(printer.bookmark(revision, {_INITIAL_END: "true"}))
    if chunk:
        yield b"".join(chunk)


def _ready_line(request: WatchRequest, printer: EventPrinter, event: Event) -> bytes | None:
    """What can be told of an event at once: nothing, or what others were told before. None if it takes more."""
    selection, record, previous = request.selection, event.record, event.previous
    if record is None or selection.by_object:
        return None
    if not selection.is_everything:
        matched = previous is not None and selection.matches_record(previous)
        if not selection.matches_record(record):
            return None if matched else b""
        return printer.ready("MODIFIED" if matched else "ADDED", event)
    return printer.ready("MODIFIED" if previous is not None else "ADDED", event)


async def _line(request: WatchRequest, printer: EventPrinter, event: Event) -> bytes:
    """What a watcher with this selection is told of an event; nothing if it is none of its business."""
    resource, selection = request.resource, request.selection
    gone = event.tombstone if event.tombstone is not None else event.previous
    if selection.is_everything:
        if event.record is None:
            assert gone is not None
            return await printer.line("DELETED", gone, event.revision, event)
        return await printer.line("MODIFIED" if event.previous else "ADDED", event.record, event.revision, event)
    matches = event.record is not None and await _matches(resource, selection, event.record)
    matched = event.previous is not None and await _matches(resource, selection, event.previous)
    if matches:
        assert event.record is not None
        return await printer.line("MODIFIED" if matched else "ADDED", event.record, event.revision, event)
    if matched:
        assert gone is not None
        return await printer.line("DELETED", gone, event.revision, event)
    return b""


async def _matches(resource: Resource, selection: Selection, record: Record) -> bool:
    if not selection.matches_record(record):
        return False
    return not selection.by_object or selection.matches_object(await resource.load(record))


def error_line(error: ApiError) -> bytes:
    """The event that ends a watch which cannot go on."""
    event: JsonObject = {"type": "ERROR", "object": error.status}
    return orjson.dumps(event) + b"\n"
