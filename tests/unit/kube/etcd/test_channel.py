"""The gRPC client with a server in the same process, on virtual time where time matters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from h2.errors import ErrorCodes

from nagaya.kube.etcd.client import EtcdClient
from nagaya.kube.etcd.errors import (
    Cancelled,
    Compacted,
    ConnectionLost,
    DeadlineExceeded,
    EtcdError,
    LeaseNotFound,
    NotLeader,
    ResourceExhausted,
    Unavailable,
)
from nagaya.wire import grpc, protobuf
from nagaya.wire.etcd.cluster import Member, MembersResponse
from nagaya.wire.etcd.header import ResponseHeader
from nagaya.wire.etcd.kv import KeyValue, PutRequest, PutResponse, RangeResponse
from nagaya.wire.etcd.lease import LeaseKeepAliveResponse
from nagaya.wire.etcd.maintenance import SnapshotResponse, StatusResponse
from nagaya.wire.etcd.watch import Event, WatchRequest, WatchResponse
from support.grpc_server import GrpcServer, Handle
from support.pipes import pipe
from support.virtual_time import VirtualLoop

STATUS = StatusResponse(ResponseHeader(member_id=2**64 - 1), leader=2**63, version="3.7.3")


@asynccontextmanager
async def asking(
    handle: Handle, *, piece: int = 65536, limit: int = 1 << 20
) -> AsyncIterator[tuple[EtcdClient, GrpcServer]]:
    here, there = pipe(piece, limit)
    server = GrpcServer(there, handle)
    serving = asyncio.create_task(server.serve())
    client = await EtcdClient.over(here, None, "etcd-a")
    try:
        yield client, server
    finally:
        await client.close()
        await serving
        assert here.closed


async def status(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
    await server.answer(stream, STATUS)


async def silence(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
    pass


def on_virtual_time(test: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(test)


@pytest.mark.parametrize("piece", [1, 10, 65536])
async def test_an_answer_is_read_however_it_is_cut(piece: int) -> None:
    async with asking(status, piece=piece) as (client, server):
        assert await client.maintenance.status() == STATUS
        headers = server.headers[1]
        assert headers[":path"] == "/etcdserverpb.Maintenance/Status"
        assert headers[":authority"] == "etcd-a"
        assert headers["te"] == "trailers"
        assert grpc.decode_timeout(headers["grpc-timeout"]) == pytest.approx(15)
        assert server.resets == []


async def test_refusals_become_errors_of_their_own_class() -> None:
    cases = [
        (9, "etcdserver: not leader", NotLeader),
        (11, "etcdserver: mvcc: required revision has been compacted", Compacted),
        (8, "etcdserver: too many requests", ResourceExhausted),
        (14, "etcdserver: request timed out", Unavailable),
        (13, "ü 100%", EtcdError),
        (99, "", EtcdError),
    ]

    async def refuse(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        code, words, _ = cases[stream // 2]
        if stream % 4 == 1:
            await server.refuse(stream, code, words)
        else:
            await server.head(stream)
            await server.trailers(stream, code, words)

    async with asking(refuse) as (client, _):
        for _, words, kind in cases:
            with pytest.raises(EtcdError) as caught:
                await client.maintenance.status()
            assert type(caught.value) is kind
            assert caught.value.words == (words or "no explanation was given")
            assert str(caught.value).startswith("etcd: Maintenance/Status: ")


async def test_answers_that_are_not_grpc() -> None:
    async def page(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        status, kind = [("503", "text/html"), ("200", "application/grpc"), ("200", "application/grpc")][stream // 2]
        server.http.send_headers(stream, [(":status", status), ("content-type", kind)])
        if stream == 5:
            server.http.send_data(stream, grpc.frame(b"abc")[:-1])
            await server.trailers(stream)
        else:
            server.http.send_data(stream, b"", end_stream=True)
        await server.flush()

    async with asking(page) as (client, _):
        with pytest.raises(Unavailable, match="HTTP status 503"):
            await client.maintenance.status()
        with pytest.raises(EtcdError, match="without a status"):
            await client.maintenance.status()
        with pytest.raises(EtcdError, match="within a message"):
            await client.maintenance.status()


async def test_answers_that_are_not_protobuf_or_not_one() -> None:
    async def odd(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        await server.head(stream)
        for _ in range(stream // 2):
            server.http.send_data(stream, grpc.frame(b"\xff"))
        await server.trailers(stream)

    async with asking(odd) as (client, _):
        with pytest.raises(EtcdError, match="not exactly one"):
            await client.maintenance.status()
        with pytest.raises(EtcdError, match="ends within a number"):
            await client.maintenance.status()
        with pytest.raises(EtcdError, match="not exactly one"):
            await client.maintenance.status()


async def test_a_call_that_the_server_resets() -> None:
    async def reset(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        codes = [ErrorCodes.REFUSED_STREAM, ErrorCodes.CANCEL, ErrorCodes.INTERNAL_ERROR]
        server.http.reset_stream(stream, codes[stream // 2])
        await server.flush()

    async with asking(reset) as (client, _):
        for kind in (Unavailable, Cancelled, EtcdError):
            with pytest.raises(kind, match="reset the call"):
                await client.maintenance.status()


async def test_a_message_larger_than_every_window_passes_both_ways() -> None:
    large = bytes(range(256)) * 20_000

    async def answer(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        if path.endswith("Put"):
            assert protobuf.decode(PutRequest, message).value == large
            await server.answer(stream, PutResponse())
        else:
            await server.head(stream)
            await server.message(stream, RangeResponse(kvs=(KeyValue(b"k", value=large),)))
            while server._waiting:
                for event in server.http.receive_data(await server.under.read()):
                    await server._take(event)
                await server.flush()
            await server.trailers(stream)

    async with asking(answer) as (client, _), asyncio.timeout(20):
        await client.kv.put(b"k", large)
        found = await client.kv.get(b"k")
        assert found is not None
        assert found.value == large


async def test_calls_go_side_by_side_and_a_cancelled_one_is_reset() -> None:
    async def some(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        if stream != 3:
            await server.answer(stream, STATUS)

    async with asking(some) as (client, server):
        tasks = [asyncio.create_task(client.maintenance.status()) for _ in range(5)]
        await asyncio.wait([tasks[0], *tasks[2:]])
        tasks[1].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(each) for each in results] == [StatusResponse, asyncio.CancelledError] + [StatusResponse] * 3
        assert await client.maintenance.status() == STATUS
        assert server.resets == [3]


async def test_a_connection_that_breaks_ends_every_call_and_all_that_follow() -> None:
    async def hang_up(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        if stream == 5:
            await server.under.close()

    async with asking(hang_up) as (client, _):
        waiting = [asyncio.create_task(client.maintenance.status()) for _ in range(3)]
        for each in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(each, ConnectionLost)
            assert each.sent
        assert client.broken is not None
        with pytest.raises(ConnectionLost) as caught:
            await client.maintenance.status()
        assert not caught.value.sent


async def test_a_server_that_goes_away_or_talks_nonsense() -> None:
    async def away(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        server.http.close_connection(ErrorCodes.ENHANCE_YOUR_CALM, b"too_many_pings")
        await server.flush()

    async with asking(away) as (client, _):
        with pytest.raises(ConnectionLost, match="too_many_pings"):
            await client.maintenance.status()

    async def nonsense(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        await server.under.write(bytes(9))  # data for stream 0

    async with asking(nonsense) as (client, _):
        with pytest.raises(ConnectionLost, match="broke HTTP/2"):
            await client.maintenance.status()
    for piece in (1, 65536):
        here, there = pipe(piece)
        await there.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        async with await EtcdClient.over(here, None, "etcd-a") as client:
            with pytest.raises(ConnectionLost, match="does not speak HTTP/2"):
                await client.maintenance.status()


def test_the_deadline_of_a_call_and_the_patience_of_the_channel() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        async with asking(silence) as (client, server):
            began = loop.time()
            with pytest.raises(DeadlineExceeded, match="within 15 s"):
                await client.maintenance.status()
            assert loop.time() - began == 15
            assert client.broken is None  # pings were answered
            assert server.pings == 1
            await asyncio.sleep(1)
            assert server.resets == [1]
            await asyncio.sleep(3600)
            assert server.pings == 1  # none while nothing is asked
            with pytest.raises(DeadlineExceeded):
                await client.maintenance.status(timeout=100)
            assert client.broken is None
        here, there = pipe()
        async with await EtcdClient.over(here, None, "etcd-a", timeout=100) as client:
            await asyncio.sleep(1000)
            began = loop.time()
            with pytest.raises(ConnectionLost, match="silent for"):
                await client.maintenance.status()
            assert 20 <= loop.time() - began <= 30
        assert there.peer.closed

    on_virtual_time(run())


async def test_a_snapshot_comes_in_pieces_and_must_be_whole() -> None:
    async def pieces(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        await server.head(stream)
        await server.message(stream, SnapshotResponse(remaining_bytes=3, blob=b"abc"))
        if stream == 1:
            await server.message(stream, SnapshotResponse(remaining_bytes=0, blob=b"def"))
        await server.trailers(stream)

    async with asking(pieces) as (client, _):
        assert [piece async for piece in client.maintenance.snapshot()] == [b"abc", b"def"]
        with pytest.raises(EtcdError, match="3 bytes too early"):
            assert [piece async for piece in client.maintenance.snapshot()]


async def test_who_does_not_take_a_stream_makes_the_server_wait() -> None:
    async def flood(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        await server.head(stream)
        for remaining in reversed(range(40)):
            await server.message(stream, SnapshotResponse(remaining_bytes=remaining, blob=bytes(100_000)))

    async with asking(flood) as (client, server), asyncio.timeout(20):
        snapshot = client.maintenance.snapshot()
        assert len(await anext(snapshot)) == 100_000
        for _ in range(200):
            await asyncio.sleep(0)
        assert len(server._waiting[1]) > 1_000_000
        for _ in range(39):
            assert len(await anext(snapshot)) == 100_000
        assert server._waiting == {}
        await snapshot.aclose()


def test_a_call_that_is_given_up_gives_its_window_back() -> None:
    calls, pieces, size = 25, 10, 100_000  # so many pieces fit into the window of one call

    async def answer(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        if path.endswith("Status"):
            await server.answer(stream, STATUS)
            return
        await server.head(stream)
        for remaining in reversed(range(pieces)):
            await server.message(stream, SnapshotResponse(remaining_bytes=remaining * size, blob=bytes(size)))

    async def run() -> None:
        async with asking(answer) as (client, server):
            assert await client.maintenance.status() == STATUS
            # The first piece is taken, and with it perhaps a part of the second.
            assert calls * (pieces - 2) * size > server.http.outbound_flow_control_window
            for _ in range(calls):
                snapshot = client.maintenance.snapshot()
                assert len(await anext(snapshot)) == size
                await asyncio.sleep(1)  # virtual time: the remaining pieces arrive and stay unread
                await snapshot.aclose()
            assert await client.maintenance.status() == STATUS
            assert client.broken is None

    on_virtual_time(run())


async def test_a_watch_is_created_told_and_ended() -> None:
    async def watching(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        request = protobuf.decode(WatchRequest, message)
        if request.create is not None:
            await server.head(stream)
            await server.message(stream, WatchResponse(created=True, watch_id=5))
            if request.create.start_revision == 1:
                await server.message(stream, WatchResponse(canceled=True, compact_revision=7))
            elif request.create.start_revision == 2:
                await server.message(stream, WatchResponse(canceled=True, cancel_reason="permission denied"))
            else:
                await server.message(stream, WatchResponse(watch_id=5, events=(Event(kv=KeyValue(b"a")),)))
        elif request.cancel is not None:
            assert request.cancel.watch_id == 5
            await server.message(stream, WatchResponse(canceled=True, watch_id=5))

    async with asking(watching) as (client, server):
        async with client.watch(b"a", b"b") as watch:
            assert (await anext(watch)).events == (Event(kv=KeyValue(b"a")),)
            await watch.cancel()
            assert [each async for each in watch] == []
        async with client.watch(b"a", start_revision=1) as watch:
            with pytest.raises(Compacted):
                await anext(watch)
        async with client.watch(b"a", start_revision=2) as watch:
            with pytest.raises(Cancelled, match="permission denied"):
                await anext(watch)
        await asyncio.sleep(0.01)
        assert server.resets == [1, 3, 5]


async def test_a_lease_that_is_gone_cannot_be_kept_alive() -> None:
    async def keep(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        await server.head(stream)
        await server.message(stream, LeaseKeepAliveResponse(id=1, ttl=0 if stream == 1 else 30))

    async with asking(keep) as (client, _):
        with pytest.raises(LeaseNotFound):
            await client.leases.keep_alive(1)
        assert await client.leases.keep_alive(1) == 30


async def test_prefixes_cannot_be_empty_by_mistake() -> None:
    async with asking(silence) as (client, server):
        with pytest.raises(ValueError, match="every key"):
            await client.kv.delete_prefix(b"")
        with pytest.raises(ValueError, match="every key"):
            await client.auth.grant_prefix("role", b"")
        assert server.headers == {}


async def test_large_ids_stay_whole() -> None:
    async def members(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        await server.answer(stream, MembersResponse(members=(Member(id=2**64 - 1), Member(id=2**63))))

    async with asking(members) as (client, _):
        assert [member.id for member in await client.cluster.members()] == [2**64 - 1, 2**63]
