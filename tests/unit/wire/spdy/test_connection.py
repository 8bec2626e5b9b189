from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.wire.malformed import Malformed
from nagaya.wire.spdy.connection import (
    WINDOW,
    Ended,
    Event,
    GoneAway,
    Opened,
    Ponged,
    Received,
    Replied,
    SpdyConnection,
    WasReset,
    WindowsOpened,
)
from nagaya.wire.spdy.frames import Data, FrameWriter, ResetStatus, SynStream


class Pair:
    """Two sides, and what each was told."""

    def __init__(self) -> None:
        self.client = SpdyConnection(client=True)
        self.server = SpdyConnection(client=False)

    def to_server(self) -> list[Event]:
        return self.server.receive(self.client.outgoing())

    def to_client(self) -> list[Event]:
        return self.client.receive(self.server.outgoing())


def test_a_stream_lives_from_its_opening_to_both_ends() -> None:
    pair = Pair()
    stream = pair.client.open({"streamtype": "data"})
    assert pair.to_server() == [Opened(1, {"streamtype": "data"})]
    pair.server.reply(stream)
    assert pair.to_client() == [Replied(1, {})]
    pair.client.send(stream, b"ab")
    pair.client.send(stream, b"c", fin=True)
    assert pair.to_server() == [Received(1, b"ab"), Received(1, b"c"), Ended(1)]
    assert pair.client.is_open(stream)
    pair.server.send(stream, b"", fin=True)
    assert pair.to_client() == [Ended(1)]
    assert not pair.client.is_open(stream)
    assert not pair.server.is_open(stream)
    with pytest.raises(ValueError, match="closed"):
        pair.client.send(stream, b"more")
    assert pair.client.open({}) == 3


def test_a_reset_ends_both_directions_and_what_was_on_its_way_is_ignored() -> None:
    pair = Pair()
    stream = pair.client.open({})
    pair.to_server()
    pair.server.reply(stream)
    pair.to_client()
    pair.client.send(stream, b"late")
    pair.server.reset(stream, ResetStatus.REFUSED_STREAM)
    assert pair.to_client() == [WasReset(1, 3)]
    assert pair.to_server() == []
    pair.client.reset(stream)
    assert pair.client.outgoing() == b""


def test_data_after_the_end_costs_the_stream_only() -> None:
    pair = Pair()
    stream = pair.client.open({})
    pair.to_server()
    pair.server.send(stream, b"", fin=True)
    wire = pair.server.outgoing()
    assert pair.client.receive(wire + wire) == [Ended(1), WasReset(1, ResetStatus.STREAM_ALREADY_CLOSED)]


def test_data_for_a_stream_that_never_was_is_refused() -> None:
    for stream in (1, 2):
        writer = FrameWriter()
        with pytest.raises(Malformed, match="never opened"):
            SpdyConnection(client=True).receive(writer.encode(Data(stream, b"x")))


def test_pings_are_answered_and_told_apart() -> None:
    pair = Pair()
    assert [pair.client.ping(), pair.client.ping(), pair.server.ping()] == [1, 3, 2]
    assert pair.to_server() == []
    assert pair.to_client() == [Ponged(1), Ponged(3)]
    assert pair.to_server() == [Ponged(2)]


def test_going_away_names_the_last_stream() -> None:
    pair = Pair()
    pair.client.open({})
    pair.client.open({})
    pair.to_server()
    pair.server.go_away()
    assert pair.to_client() == [GoneAway(3, 0)]


def test_without_a_word_of_windows_none_count() -> None:
    pair = Pair()
    stream = pair.client.open({})
    pair.client.send(stream, bytes(10 * WINDOW))
    assert pair.client.room(stream) is None
    pair.to_server()
    pair.server.consumed(stream, 10 * WINDOW)
    assert pair.server.outgoing() == b""


def test_windows_count_for_whoever_heard_of_them() -> None:
    pair = Pair()
    pair.server.announce_windows()
    assert pair.to_client() == [WindowsOpened()]
    pair.client.announce_windows()
    stream = pair.client.open({})
    assert pair.client.room(stream) == WINDOW
    pair.client.send(stream, bytes(WINDOW))
    assert pair.client.room(stream) == 0
    pair.to_server()
    pair.server.consumed(stream, WINDOW // 2 - 1)
    assert pair.to_client() == []
    pair.server.consumed(stream, 1)
    assert pair.to_client() == [WindowsOpened(), WindowsOpened()]
    assert pair.client.room(stream) == WINDOW // 2
    other = pair.client.open({})
    assert pair.client.room(other) == WINDOW // 2  # of the connection as a whole


def test_streams_must_be_numbered_by_their_side_and_upwards() -> None:
    for numbers in ((2,), (3, 1), (1, 1)):
        writer = FrameWriter()
        wire = b"".join(writer.encode(SynStream(number)) for number in numbers)
        with pytest.raises(Malformed, match="number"):
            SpdyConnection(client=False).receive(wire)


def test_an_answer_to_an_answer_is_refused() -> None:
    pair = Pair()
    stream = pair.client.open({})
    pair.to_server()
    pair.server.reply(stream)
    wire = pair.server.outgoing()
    pair.server._streams[stream].replied = False
    pair.server.reply(stream)
    with pytest.raises(Malformed, match="twice"):
        pair.client.receive(wire + pair.server.outgoing())


def test_more_streams_than_anyone_needs_are_refused() -> None:
    pair = Pair()
    for _ in range(1001):
        pair.client.open({})
    assert len(pair.to_server()) == 1000
    assert pair.to_client() == [WasReset(2001, ResetStatus.REFUSED_STREAM)]


@given(st.lists(st.tuples(st.integers(0, 2), st.binary(max_size=50)), max_size=20), st.integers(1, 30))
def test_bytes_stay_in_order_within_each_stream(sent: list[tuple[int, bytes]], piece: int) -> None:
    pair = Pair()
    streams = [pair.client.open({}) for _ in range(3)]
    for index, data in sent:
        pair.client.send(streams[index], data)
    wire = pair.client.outgoing()
    got = dict.fromkeys(streams, b"")
    for begin in range(0, len(wire), piece):
        for event in pair.server.receive(wire[begin : begin + piece]):
            if isinstance(event, Received):
                got[event.stream] += event.data
    assert got == {stream: b"".join(d for i, d in sent if streams[i] == stream) for stream in streams}
