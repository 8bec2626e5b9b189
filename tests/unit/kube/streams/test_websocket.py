from __future__ import annotations

import pytest

from nagaya.kube.streams.stream import StreamBroken
from nagaya.kube.streams.websocket import WebSocketStream
from nagaya.wire import websocket
from nagaya.wire.websocket import Frame, FrameReader, Opcode
from support.pipes import PipeEnd, pipe


async def frames(end: PipeEnd, count: int) -> list[Frame]:
    reader, found = FrameReader(masked=True), []
    while len(found) < count:
        found += reader.feed(await end.read())
    return found


async def test_borders_of_messages_mean_nothing() -> None:
    here, there = pipe(piece=3)
    stream = WebSocketStream(here)
    for frame in (
        Frame(Opcode.BINARY, b"ab"),
        Frame(Opcode.BINARY, b""),
        Frame(Opcode.BINARY, b"c", final=False),
        Frame(Opcode.CONTINUATION, b"d"),
    ):
        await there.write(websocket.encode(frame))
    got = b""
    while len(got) < 4:
        got += await stream.read(1)
    assert got == b"abcd"


async def test_what_is_written_is_masked_and_cut() -> None:
    here, there = pipe()
    stream = WebSocketStream(here)
    await stream.write(bytes(100_000))
    sent = await frames(there, 2)
    assert [(frame.opcode, len(frame.payload)) for frame in sent] == [(Opcode.BINARY, 65536), (Opcode.BINARY, 34464)]


async def test_pings_are_answered_while_reading() -> None:
    here, there = pipe()
    stream = WebSocketStream(here)
    await there.write(websocket.encode(Frame(Opcode.PING, b"1")) + websocket.encode(Frame(Opcode.BINARY, b"x")))
    assert await stream.read() == b"x"
    assert await frames(there, 1) == [Frame(Opcode.PONG, b"1")]


async def test_an_orderly_end_is_told_from_all_others() -> None:
    here, there = pipe()
    await there.write(websocket.encode(Frame(Opcode.BINARY, b"x")) + websocket.encode(websocket.encode_close()))
    stream = WebSocketStream(here)
    assert [await stream.read(), await stream.read(), await stream.read()] == [b"x", b"", b""]
    for wire, why in (
        (websocket.encode(websocket.encode_close(1011, "it broke")), "1011: it broke"),
        (websocket.encode(Frame(Opcode.CLOSE, b"\x03")), "half a code"),
        (websocket.encode(Frame(Opcode.TEXT, b"x")), "sent text"),
        (b"\xff\xff", "extension"),
    ):
        here, there = pipe()
        await there.write(wire)
        with pytest.raises(StreamBroken, match=why):
            await WebSocketStream(here).read()
    here, there = pipe()
    await there.close()
    with pytest.raises(StreamBroken, match="without closing"):
        await WebSocketStream(here).read()
