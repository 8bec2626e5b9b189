"""The kubelet's side of port-forward over SPDY, as clients that keep to the protocol see it, and others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.streams.byte_stream import ByteStream
from nagaya.apiserver.streams.pipe import PipeEnd, pipe
from nagaya.apiserver.streams.port_forward import PAIR_TIMEOUT, PortForwarding
from nagaya.wire.spdy.connection import Ended, Event, Received, Replied, SpdyConnection, WasReset
from support.virtual_run import run

BIG = 3_000_000
FRAME = 32 * 1024


class Shouting:
    """Port 80 says everything again, louder; nobody is at the others."""

    def __init__(self) -> None:
        self.served = 0

    async def serve(self, port: int, stream: ByteStream) -> None:
        self.served += 1
        if port != 80:
            raise ConnectionRefusedError("nobody is there")
        while data := await stream.read():
            await stream.write(data.upper())


class Client:
    """A client of the protocol, frame by frame."""

    def __init__(self, near: PipeEnd) -> None:
        self.near = near
        self.spdy = SpdyConnection(client=True)
        self.events: list[Event] = []

    async def flush(self) -> None:
        await self.near.write(self.spdy.outgoing())

    async def open(self, **headers: str) -> int:
        number = self.spdy.open(headers)
        await self.flush()
        return number

    async def pair(self, port: int, request: str = "0") -> tuple[int, int]:
        """The numbers of the error's stream and of the data's."""
        errors = await self.open(streamtype="error", port=str(port), requestid=request)
        return errors, await self.open(streamtype="data", port=str(port), requestid=request)

    async def send(self, stream: int, data: bytes, *, fin: bool = False) -> None:
        """Send bytes in frames as large as those of Kubernetes."""
        for start in range(0, len(data) or 1, FRAME):
            self.spdy.send(stream, data[start : start + FRAME], fin=fin and start + FRAME >= len(data))
        await self.flush()

    async def until(self, *wanted: Event) -> None:
        """Read until all of these have happened."""
        async with asyncio.timeout(60):
            while any(each not in self.events for each in wanted):
                data = await self.near.read()
                assert data, f"the server hung up after {self.events}"
                self.events += self.spdy.receive(data)
                await self.flush()

    def received(self, stream: int) -> bytes:
        return b"".join(each.data for each in self.events if isinstance(each, Received) and each.stream == stream)


@asynccontextmanager
async def forwarding() -> AsyncIterator[tuple[Client, Shouting, asyncio.Task[None]]]:
    near, far = pipe()
    ports = Shouting()
    task = asyncio.create_task(PortForwarding(ports, "loud_default", "uid", far).run())
    try:
        yield Client(near), ports, task
    finally:
        await near.close()
        await asyncio.wait_for(task, 60)


async def test_data_go_both_ways_and_end_in_order() -> None:
    async with forwarding() as (client, _, _):
        errors, data = await client.pair(80)
        await client.until(Replied(errors, {}), Replied(data, {}))
        await client.send(data, b"hello")
        await client.until(Received(data, b"HELLO"))
        await client.send(data, b"", fin=True)
        await client.until(Ended(data), Ended(errors))
        assert client.received(errors) == b""


async def test_the_words_of_a_failure_come_on_the_other_stream() -> None:
    async with forwarding() as (client, _, _):
        errors, data = await client.pair(81)
        await client.until(Ended(errors), WasReset(data, 5))
        assert client.received(errors) == b"error forwarding port 81 to pod loud_default, uid uid: nobody is there"


async def test_a_client_that_does_not_read_is_waited_for_and_hurts_nobody() -> None:
    async with forwarding() as (client, _, task):
        _, data = await client.pair(80)
        sending = asyncio.create_task(client.send(data, b"a" * BIG))
        await asyncio.sleep(0.1)
        assert not task.done()
        async with asyncio.timeout(60):
            while len(client.received(data)) < BIG:
                client.events += client.spdy.receive(await client.near.read())
        await sending
        assert client.received(data) == b"A" * BIG


async def test_a_client_that_asks_and_never_reads_has_to_wait() -> None:
    asked = 0

    async def ask(client: Client) -> None:
        nonlocal asked
        for _ in range(120):
            for _ in range(1000):
                client.spdy.ping()
            await client.flush()
            asked += 1

    async with forwarding() as (client, _, task):
        asking = asyncio.create_task(ask(client))
        before, unchanged = 0, 0
        while unchanged < 100 and not asking.done():
            await asyncio.sleep(0)
            before, unchanged = asked, unchanged + 1 if asked == before else 0
        assert not asking.done(), "the server went on answering"
        assert not task.done()
        asking.cancel()


@pytest.mark.parametrize(
    "headers",
    [
        {"streamtype": "data", "port": "0", "requestid": "0"},
        {"streamtype": "data", "port": "65536", "requestid": "0"},
        {"streamtype": "data", "port": "eighty", "requestid": "0"},
        {"streamtype": "data", "port": "", "requestid": "0"},
        {"streamtype": "shell", "port": "80", "requestid": "0"},
        {"requestid": "0"},
    ],
)
async def test_streams_that_make_no_sense_are_refused(headers: dict[str, str]) -> None:
    async with forwarding() as (client, ports, _):
        number = await client.open(**headers)
        await client.until(WasReset(number, 3))
        assert ports.served == 0
        _, data = await client.pair(80, "1")
        await client.send(data, b"x")
        await client.until(Received(data, b"X"))


async def test_a_third_stream_for_a_pair_is_refused() -> None:
    async with forwarding() as (client, ports, _):
        await client.open(streamtype="error", port="80", requestid="0")
        again = await client.open(streamtype="error", port="80", requestid="0")
        await client.until(WasReset(again, 3))
        data = await client.open(streamtype="data", port="80", requestid="0")
        await client.until(Replied(data, {}))
        assert ports.served == 1


async def test_old_clients_that_give_pairs_no_number_are_understood() -> None:
    async with forwarding() as (client, _, _):
        await client.open(streamtype="error", port="80")
        data = await client.open(streamtype="data", port="80")
        await client.send(data, b"x")
        await client.until(Received(data, b"X"))


def test_half_a_pair_is_given_up_after_a_while() -> None:
    async def main() -> None:
        async with forwarding() as (client, ports, _):
            number = await client.open(streamtype="error", port="80", requestid="0")
            await client.until(Replied(number, {}))
            await asyncio.sleep(PAIR_TIMEOUT + 1)
            await client.until(WasReset(number, 5))
            assert ports.served == 0

    run(main())


async def test_connections_end_with_their_client() -> None:
    async with forwarding() as (client, _, task):
        _, data = await client.pair(80)
        await client.send(data, b"x")
        await client.until(Received(data, b"X"))
        await client.near.close()
        await asyncio.wait_for(task, 60)


@given(st.binary(min_size=1, max_size=400))
def test_nonsense_never_hangs_or_fails_the_server(nonsense: bytes) -> None:
    async def main() -> None:
        near, far = pipe()
        task = asyncio.create_task(PortForwarding(Shouting(), "loud_default", "uid", far).run())
        await near.write(nonsense)
        await near.write_eof()
        await asyncio.wait_for(task, 60)

    asyncio.run(main())
