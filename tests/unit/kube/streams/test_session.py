"""Sessions with a far side in the same process, on virtual time where time matters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nagaya.kube.streams.forward import ForwardFailed, PodSession
from nagaya.kube.streams.session import SpdySession
from nagaya.kube.streams.stream import Stream, StreamBroken
from nagaya.wire.spdy.connection import Event, Opened, Received
from support.pipes import PipeEnd, pipe
from support.pod_ports import Behave, PodPorts, echo, refuse
from support.virtual_time import VirtualLoop


@asynccontextmanager
async def session(
    behave: Behave = echo, *, piece: int = 65536, windows: bool = False, **times: float
) -> AsyncIterator[tuple[PodSession, PodPorts]]:
    here, there = pipe(piece)
    ports = PodPorts(there, behave, windows=windows)
    serving = asyncio.create_task(ports.serve())
    made = SpdySession(here, **times)
    try:
        yield PodSession(made, "kube-system/etcd-a"), ports
    finally:
        await made.close()
        await serving
        assert here.closed


async def everything(stream: Stream) -> bytes:
    parts = []
    while data := await stream.read():
        parts.append(data)
    return b"".join(parts)


@pytest.mark.parametrize("piece", [1, 7, 65536])
async def test_bytes_come_back_however_they_are_cut(piece: int) -> None:
    async with session(piece=piece) as (pod, ports):
        stream = await pod.connect(2379)
        await stream.write(b"hello")
        await stream.write(b" there")
        await stream.write_eof()
        assert await everything(stream) == b"hello there"
        assert ports.requests == [
            {"streamtype": "error", "port": "2379", "requestid": "0"},
            {"streamtype": "data", "port": "2379", "requestid": "0"},
        ]


@pytest.mark.parametrize("windows", [True, False])
async def test_more_than_all_buffers_hold_passes(windows: bool) -> None:
    data = bytes(range(256)) * 8000
    async with session(windows=windows) as (pod, _), asyncio.timeout(60):
        stream = await pod.connect(1)

        async def send() -> None:
            await stream.write(data)
            await stream.write_eof()

        async with asyncio.TaskGroup() as group:
            group.create_task(send())
            assert await everything(stream) == data


async def test_a_failure_behind_the_api_server_is_told_in_its_words() -> None:
    async with session(refuse) as (pod, _):
        stream = await pod.connect(1)
        for attempt in (stream.read(), stream.write(b"x"), stream.write_eof()):
            with pytest.raises(ForwardFailed, match="etcd-a failed: error forwarding port 1: connection refused"):
                await attempt


async def test_words_that_are_not_utf_8_are_told_as_far_as_they_can_be_read() -> None:
    async def mumble(ports: PodPorts, data: int, errors: int, event: Event) -> None:
        if isinstance(event, Opened):
            await ports.send(errors, b"no file \xff\xfe.sock\n", fin=True)
            await ports.send(data, b"", fin=True)

    async with session(mumble) as (pod, _):
        stream = await pod.connect(1)
        with pytest.raises(ForwardFailed) as failure:
            await stream.read()
        assert failure.value.words == "no file \ufffd\ufffd.sock"


async def test_a_connection_can_be_closed_while_the_others_go_on() -> None:
    async with session() as (pod, ports):
        first, second = await pod.connect(1), await pod.connect(2)
        await first.close()
        await first.close()
        with pytest.raises(StreamBroken, match="closed"):
            await first.read()
        with pytest.raises(StreamBroken, match="closed"):
            await first.write(b"x")
        await second.write(b"still here")
        assert await second.read() == b"still here"
        assert ports.resets == [3, 1]


async def test_a_reader_that_is_cancelled_loses_nothing() -> None:
    async with session() as (pod, _):
        stream = await pod.connect(1)
        reading = asyncio.create_task(stream.read())
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await stream.write(b"kept")
        assert await stream.read() == b"kept"


async def test_a_peer_that_hangs_up_ends_every_wait() -> None:
    async with session() as (pod, ports):
        stream = await pod.connect(1)
        reading = asyncio.create_task(stream.read())
        await asyncio.sleep(0)
        await ports.under.close()
        with pytest.raises(StreamBroken, match="ended the connection"):
            await reading
        with pytest.raises(StreamBroken, match="ended the connection"):
            await stream.write(b"x")
        with pytest.raises(StreamBroken, match="ended the connection"):
            await pod.connect(2)


async def test_a_peer_that_breaks_the_protocol_ends_every_wait() -> None:
    async with session() as (pod, ports):
        stream = await pod.connect(1)
        await ports.under.write(b"\x80\x02\x00\x06" + bytes(4))
        with pytest.raises(StreamBroken, match="version 2"):
            await everything(stream)
        with pytest.raises(StreamBroken, match="version 2"):
            await stream.write(b"x")


async def test_a_stream_that_the_peer_refuses() -> None:
    here, there = pipe()
    made = SpdySession(here)
    opening = asyncio.create_task(made.open({}))
    ports = PodPorts(there)
    while not ports.spdy.receive(await there.read()):
        pass
    ports.spdy.reset(1)
    await ports.flush()
    with pytest.raises(StreamBroken, match="refused a stream"):
        await opening
    await made.close()


async def test_no_streams_are_opened_with_a_peer_that_goes_away() -> None:
    async with session() as (pod, ports):
        stream = await pod.connect(1)
        ports.spdy.go_away()
        await ports.flush()
        await stream.write(b"x")
        assert await stream.read() == b"x"  # those that are open go on
        with pytest.raises(StreamBroken, match="no more streams"):
            await pod.connect(2)


async def test_who_does_not_read_makes_the_other_side_wait() -> None:
    sent = 0

    async def flood(ports: PodPorts, data: int, errors: int, event: Event) -> None:
        nonlocal sent
        if isinstance(event, Opened):
            for _ in range(200):
                await ports.send(data, bytes(32 * 1024))
                sent += 1
            await ports.send(data, b"", fin=True)

    here, there = pipe(limit=128 * 1024)
    made = SpdySession(here)
    serving = asyncio.create_task(PodPorts(there, flood).serve())
    stream = await PodSession(made, "pod").connect(1)
    for _ in range(1000):
        await asyncio.sleep(0)
    assert 5 < sent < 20
    assert len(await everything(stream)) == 200 * 32 * 1024
    await made.close()
    await serving


def on_virtual_time(test: object) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(test)  # type: ignore[arg-type] # a coroutine


def test_a_silent_peer_is_given_up_after_three_pings() -> None:
    async def run() -> None:
        here, there = pipe()
        made = SpdySession(here)
        began = asyncio.get_running_loop().time()
        with pytest.raises(StreamBroken, match="silent for 30 s"):
            await made.open({})
        assert asyncio.get_running_loop().time() - began == 30
        await made.close()
        assert there.peer.closed

    on_virtual_time(run())


def test_pings_keep_a_quiet_session_and_an_idle_timeout_ends_it() -> None:
    async def run() -> None:
        async with session() as (pod, _):
            stream = await pod.connect(1)
            await asyncio.sleep(3600)
            await stream.write(b"x")
            assert await stream.read() == b"x"
        async with session(idle_timeout=60.0) as (pod, _):
            stream = await pod.connect(1)
            await asyncio.sleep(45)
            await stream.write(b"x")
            assert await stream.read() == b"x"
            with pytest.raises(StreamBroken, match="nothing was sent or received for"):
                await stream.read()

    on_virtual_time(run())


async def test_a_write_that_is_cancelled_hurts_no_other_stream() -> None:
    async def deaf(ports: PodPorts, data: int, errors: int, event: Event) -> None:
        if isinstance(event, Received):
            await ports.send(data, b"%d" % len(event.data))

    here, there = pipe(limit=64 * 1024)
    slow = Slow(there)
    made = SpdySession(here)
    serving = asyncio.create_task(PodPorts(slow, deaf).serve())
    pod = PodSession(made, "pod")
    first, second = await pod.connect(1), await pod.connect(2)
    slow.go.clear()
    writing = asyncio.create_task(first.write(bytes(4 * 1024 * 1024)))
    for _ in range(50):
        await asyncio.sleep(0)
    assert not writing.done()
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    slow.go.set()
    await second.write(b"abc")
    assert await second.read() == b"3"
    await made.close()
    await serving


class Slow:
    """A stream that is read only while it may."""

    def __init__(self, under: PipeEnd) -> None:
        self._under = under
        self.go = asyncio.Event()
        self.go.set()

    async def read(self, limit: int = 65536) -> bytes:
        await self.go.wait()
        return await self._under.read(limit)

    async def write(self, data: bytes) -> None:
        await self._under.write(data)

    async def write_eof(self) -> None:
        await self._under.write_eof()

    async def close(self) -> None:
        await self._under.close()
