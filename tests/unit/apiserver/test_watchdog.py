"""A request that keeps the event loop busy is named in the log, whatever it awaits in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nagaya.apiserver import watchdog
from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config, bind
from nagaya.apiserver.streams.byte_stream import ByteStream
from nagaya.apiserver.watchdog import Watched
from nagaya.apiserver.web.handler import Exchange
from nagaya.apiserver.web.listener import Listener
from nagaya.apiserver.web.observer import Done
from nagaya.apiserver.web.request import Request, Response


@pytest.fixture(autouse=True)
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The real clock, as far as the watchdog sees it: stretches of work last as long as they say."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "thread_time", lambda: now[0] / 2)
    return now


def exchange(path: str = "/api/v1/pods", user: str = "alice") -> Any:
    info = SimpleNamespace(verb="create")
    return cast(Any, SimpleNamespace(info=info, request=SimpleNamespace(path=path), user=User(user), audit_id="id-1"))


async def test_a_request_that_computes_for_long_is_named(
    seconds: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        seconds[0] += 0.25
        await asyncio.sleep(0)
        return 7

    assert await Watched(work(), exchange()) == 7

    assert [record.getMessage() for record in caplog.records] == [
        "a request kept the server from serving others for 250 ms, 125 ms of them computing: "
        '"create" "/api/v1/pods" by "alice" (audit ID "id-1")'
    ]


async def test_many_short_stretches_and_long_waits_are_nothing_to_report(
    seconds: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        for _ in range(20):
            seconds[0] += watchdog.LIMIT / 2
            await asyncio.sleep(0)

    async def waiting() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def finish() -> None:
            seconds[0] += 60
            future.set_result(None)

        asyncio.get_running_loop().call_soon(finish)
        await future

    await Watched(work(), exchange())
    await Watched(waiting(), exchange())

    assert not caplog.records


async def test_names_that_clients_choose_are_escaped_and_cut(
    seconds: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        seconds[0] += 1

    await Watched(work(), exchange("/a\n2026 ERROR forged \x1b[2J\u202e" + "x" * 5000, "mallory\r\n"))

    (message,) = [record.getMessage() for record in caplog.records]
    assert message.isprintable()
    assert len(message) < 2 * 256 + 300


async def test_errors_and_cancellation_pass_through_and_are_timed(
    seconds: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        seconds[0] += 1
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await Watched(fails(), exchange())

    cleaned = []

    async def cancelled() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            seconds[0] += 1
            cleaned.append(True)

    task = asyncio.ensure_future(asyncio.wait_for(Watched(cancelled(), exchange()), None))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert cleaned == [True]
    assert len(caplog.records) == 2


async def test_the_time_limit_of_a_request_works_through_the_watchdog() -> None:
    async def work() -> None:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(3600)

    with pytest.raises(TimeoutError):
        await Watched(work(), exchange())


async def test_the_server_watches_every_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = await ApiServer.start(Config(tokens={"alice": User("alice")}))
    ticks = iter(range(10_000))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr(time, "thread_time", lambda: float(next(ticks)))

    await server.handle(Request.make("GET", "/api/v1/pods", b"", {"Authorization": "Bearer alice"}))
    await server.stop()

    (record,) = [record for record in caplog.records if record.name == watchdog.__name__]
    assert '"list" "/api/v1/pods" by "alice"' in record.getMessage()


async def test_streams_and_upgrades_are_timed_too(seconds: list[float], caplog: pytest.LogCaptureFixture) -> None:
    async def stream() -> AsyncIterator[bytes]:
        for _ in range(2):
            seconds[0] += 1
            yield b"part"
            await asyncio.sleep(0)

    class Upgrade:
        async def serve(self, stream: ByteStream) -> None:
            seconds[0] += 1

    async def serve(request: Request) -> Response:
        if request.path == "/stream":
            return Response(stream=stream(), exchange=exchange(request.path))
        return Response(101, upgrade=cast(Any, Upgrade()), exchange=exchange(request.path))

    listener = Listener(serve, bind("127.0.0.1", 0), None)
    await listener.start()
    try:
        for path in ("/stream", "/upgrade"):
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            await reader.read()
            writer.close()
    finally:
        await listener.stop()

    named = [record.getMessage().partition('"create" ')[2].split()[0] for record in caplog.records]
    assert named == ['"/stream"', '"/stream"', '"/upgrade"']


async def test_observers_of_a_request_are_timed_too(seconds: list[float], caplog: pytest.LogCaptureFixture) -> None:
    class Slow:
        def begin(self, exchange: Exchange) -> Done:
            def done(response: Response, duration: float) -> None:
                seconds[0] += 1

            return done

    server = await ApiServer.start(Config(observers=[Slow()]))
    await server.handle(Request.make("GET", "/version"))
    await server.stop()
    assert [record.getMessage().count('"/version"') for record in caplog.records] == [1]
