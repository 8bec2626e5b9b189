"""One side of a SPDY connection, without its socket: which frames may come when, and what they mean.

Bytes that came go into `receive`, which tells what happened; what is to be sent is taken from `outgoing`. Pings of the
peer are answered here.

Flow control: the SPDY library that every part of Kubernetes uses sends no window updates and heeds none; it relies on
TCP. A client that waited for windows would stop after 64 KiB. So the peer's windows count from the moment it speaks of
them, in a setting or an update, and not before. A side that wants its own to count announces them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from nagaya.wire.malformed import Malformed
from nagaya.wire.spdy.frames import (
    INITIAL_WINDOW_SIZE,
    Data,
    Frame,
    FrameReader,
    FrameWriter,
    GoAway,
    MoreHeaders,
    Ping,
    ResetStatus,
    RstStream,
    Settings,
    SynReply,
    SynStream,
    WindowUpdate,
)
from nagaya.wire.spdy.headers import Headers

WINDOW: Final = 64 * 1024  # where all windows begin
MOST_STREAMS: Final = 1000  # that a peer may have open at once
_LAST_STREAM: Final = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class Opened:
    """The peer began a stream: answer with `reply` or `reset`."""

    stream: int
    headers: Headers


@dataclass(frozen=True, slots=True)
class Replied:
    """The peer accepted a stream of ours."""

    stream: int
    headers: Headers


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes came. Say `consumed` when they have been dealt with."""

    stream: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Ended:
    """The peer sends no more on a stream."""

    stream: int


@dataclass(frozen=True, slots=True)
class WasReset:
    """The peer threw a stream away."""

    stream: int
    status: int


@dataclass(frozen=True, slots=True)
class WindowsOpened:
    """More may be sent than before, on some stream."""


@dataclass(frozen=True, slots=True)
class Ponged:
    """A ping of ours was answered."""

    number: int


@dataclass(frozen=True, slots=True)
class GoneAway:
    """The peer takes no more streams, and none after the last that it names has been looked at."""

    last_stream: int
    status: int


Event = Opened | Replied | Received | Ended | WasReset | WindowsOpened | Ponged | GoneAway


@dataclass(slots=True)
class _Stream:
    window: int
    ours: bool  # we began it
    replied: bool = False
    sent_all: bool = False
    received_all: bool = False
    unacknowledged: int = 0


class SpdyConnection:
    """One side."""

    def __init__(self, *, client: bool) -> None:
        self._client = client
        self._reader = FrameReader()
        self._writer = FrameWriter()
        self._outgoing: list[bytes] = []
        self._streams: dict[int, _Stream] = {}
        self._next_stream = 1 if client else 2
        self._next_ping = 1 if client else 2
        self._last_of_peer = 0
        self._heeding = False  # the peer's windows count
        self._telling = False  # the peer wants to know of ours
        self._initial_window = WINDOW
        self._window = WINDOW  # of the connection as a whole
        self._unacknowledged = 0

    def outgoing(self) -> bytes:
        """What is to be sent now, once."""
        taken = b"".join(self._outgoing)
        self._outgoing.clear()
        return taken

    def announce_windows(self) -> None:
        """Tell the peer that windows count here. To be said first."""
        self._telling = True
        self._send(Settings(((INITIAL_WINDOW_SIZE, WINDOW),)))

    def open(self, headers: Headers) -> int:
        """Begin a stream; returns its number. Raises ValueError when there are no numbers left."""
        number = self._next_stream
        if number > _LAST_STREAM:
            raise ValueError("a SPDY connection has used up its streams: make a new one")
        self._next_stream += 2
        self._streams[number] = _Stream(self._initial_window, ours=True)
        self._send(SynStream(number, headers))
        return number

    def reply(self, stream: int, headers: Headers | None = None) -> None:
        """Accept a stream of the peer."""
        known = self._streams.get(stream)
        if known is not None and not known.ours and not known.replied:
            known.replied = True
            self._send(SynReply(stream, headers or {}))

    def is_open(self, stream: int) -> bool:
        """Whether anything can still happen on a stream."""
        return stream in self._streams

    def room(self, stream: int) -> int | None:
        """How many bytes may be sent now; None: any number."""
        known = self._streams.get(stream)
        if not self._heeding or known is None:
            return None
        return max(0, min(known.window, self._window))

    def send(self, stream: int, data: bytes, *, fin: bool = False) -> None:
        """Send bytes, no more than there is `room` for; `fin` says that they are the last. Raises ValueError if the
        stream does not take any."""
        known = self._streams.get(stream)
        if known is None or known.sent_all:
            raise ValueError("a SPDY stream is closed")
        known.window -= len(data)
        self._window -= len(data)
        known.sent_all = fin
        self._send(Data(stream, data, fin))
        self._drop_if_done(stream, known)

    def consumed(self, stream: int, count: int) -> None:
        """So many bytes that came have been dealt with: the peer may send more."""
        self._unacknowledged += count
        if self._telling and self._unacknowledged >= WINDOW // 2:
            self._send(WindowUpdate(0, self._unacknowledged))
            self._unacknowledged = 0
        known = self._streams.get(stream)
        if known is None:
            return
        known.unacknowledged += count
        if self._telling and known.unacknowledged >= WINDOW // 2 and not known.received_all:
            self._send(WindowUpdate(stream, known.unacknowledged))
            known.unacknowledged = 0

    def reset(self, stream: int, status: ResetStatus = ResetStatus.CANCEL) -> None:
        """Throw a stream away. Nothing happens if it is closed already."""
        if self._streams.pop(stream, None) is not None:
            self._send(RstStream(stream, status))

    def ping(self) -> int:
        """Ask for a sign of life; returns the number that comes back."""
        number = self._next_ping
        self._next_ping = number + 2 if number < _LAST_STREAM - 1 else 1 if self._client else 2
        self._send(Ping(number))
        return number

    def go_away(self, status: int = 0) -> None:
        """Take no more streams."""
        self._send(GoAway(self._last_of_peer, status))

    def receive(self, data: bytes) -> list[Event]:
        """What the bytes that came mean. Raises Malformed, after which the connection is of no use."""
        events: list[Event] = []
        for frame in self._reader.feed(data):
            self._handle(frame, events)
        return events

    def _handle(self, frame: Frame, events: list[Event]) -> None:
        match frame:
            case Data(number, data, fin):
                self._data(number, data, fin, events)
            case SynStream():
                self._opened(frame, events)
            case SynReply(number, headers, fin):
                stream = self._streams.get(number)
                if stream is not None:
                    if not stream.ours or stream.replied:
                        raise Malformed("a SPDY stream was accepted twice, or by the side that began it")
                    stream.replied = True
                    events.append(Replied(number, headers))
                    self._finish(number, stream, fin, events)
            case MoreHeaders(number, _, fin):
                stream = self._streams.get(number)
                if stream is not None:
                    self._finish(number, stream, fin, events)
            case RstStream(number, status):
                if self._streams.pop(number, None) is not None:
                    events.append(WasReset(number, status))
            case Ping(number):
                if number % 2 == self._next_ping % 2:
                    events.append(Ponged(number))
                else:
                    self._send(frame)
            case GoAway(last, status):
                events.append(GoneAway(last, status))
            case Settings(values):
                self._settings(values, events)
            case WindowUpdate(number, delta):
                self._update(number, delta, events)

    def _data(self, number: int, data: bytes, fin: bool, events: list[Event]) -> None:
        stream = self._streams.get(number)
        if stream is None:
            ours = number % 2 == self._next_stream % 2
            if number >= self._next_stream if ours else number > self._last_of_peer:
                raise Malformed("data came on a SPDY stream that was never opened")
            # It was reset here while these bytes were on their way.
            self.consumed(number, len(data))
            return
        if stream.received_all:
            self.reset(number, ResetStatus.STREAM_ALREADY_CLOSED)
            events.append(WasReset(number, ResetStatus.STREAM_ALREADY_CLOSED))
            return
        if data:
            events.append(Received(number, data))
        self._finish(number, stream, fin, events)

    def _opened(self, frame: SynStream, events: list[Event]) -> None:
        if frame.stream % 2 == self._next_stream % 2 or frame.stream <= self._last_of_peer:
            raise Malformed("a SPDY stream began with a number that is not its side's next")
        self._last_of_peer = frame.stream
        if len(self._streams) >= MOST_STREAMS:
            self._send(RstStream(frame.stream, ResetStatus.REFUSED_STREAM))
            return
        stream = _Stream(self._initial_window, ours=False, sent_all=frame.unidirectional)
        self._streams[frame.stream] = stream
        events.append(Opened(frame.stream, frame.headers))
        self._finish(frame.stream, stream, frame.fin, events)

    def _settings(self, values: tuple[tuple[int, int], ...], events: list[Event]) -> None:
        for number, value in values:
            if number == INITIAL_WINDOW_SIZE:
                for stream in self._streams.values():
                    stream.window += value - self._initial_window
                self._initial_window = value
                self._heeding = self._telling = True
                events.append(WindowsOpened())

    def _update(self, number: int, delta: int, events: list[Event]) -> None:
        self._heeding = self._telling = True
        if number == 0:
            self._window += delta
        elif number in self._streams:
            self._streams[number].window += delta
        events.append(WindowsOpened())

    def _finish(self, number: int, stream: _Stream, fin: bool, events: list[Event]) -> None:
        if fin and not stream.received_all:
            stream.received_all = True
            events.append(Ended(number))
            self._drop_if_done(number, stream)

    def _drop_if_done(self, number: int, stream: _Stream) -> None:
        if stream.sent_all and stream.received_all:
            self._streams.pop(number, None)

    def _send(self, frame: Frame) -> None:
        self._outgoing.append(self._writer.encode(frame))
