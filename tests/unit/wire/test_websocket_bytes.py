"""What becomes of frames that carry a stream of bytes."""

from __future__ import annotations

import pytest

from nagaya.wire import websocket
from nagaya.wire.malformed import Malformed
from nagaya.wire.websocket import Frame, Opcode
from nagaya.wire.websocket_bytes import Incoming, outgoing


def sent(*frames: Frame) -> bytes:
    return b"".join(websocket.encode(each) for each in frames)


def test_borders_of_messages_mean_nothing() -> None:
    came = Incoming(masked=False)
    parts = Frame(Opcode.BINARY, b"b", final=False), Frame(Opcode.CONTINUATION, b"c")
    assert came.feed(sent(Frame(Opcode.BINARY, b"a"), *parts)) == []
    assert came
    assert (came.take(2), came.take(2), came.take(2)) == (b"ab", b"c", b"")
    assert not came


def test_pings_are_to_be_answered_and_bytes_behind_the_end_do_not_count() -> None:
    came = Incoming(masked=False)
    end = websocket.encode_close()
    frames = Frame(Opcode.PING, b"?"), Frame(Opcode.PONG), end, Frame(Opcode.BINARY, b"late")
    assert came.feed(sent(*frames)) == [Frame(Opcode.PONG, b"?")]
    assert came.closed == end
    assert came.take(9) == b""


def test_text_is_refused() -> None:
    with pytest.raises(Malformed, match="sent text"):
        Incoming(masked=False).feed(sent(Frame(Opcode.TEXT, b"a")))


def test_bytes_are_cut_into_messages() -> None:
    assert [each.payload for each in outgoing(b"abcde", 2)] == [b"ab", b"cd", b"e"]
    assert [*outgoing(b"", 2)] == []
