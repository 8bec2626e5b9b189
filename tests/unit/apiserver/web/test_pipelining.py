"""Requests that follow one another on a connection, cut into packets at random, keep their order and their bodies."""

from __future__ import annotations

import asyncio
import random
import re
import socket
from collections.abc import Callable

import pytest
import uvloop

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.web.listener import Listener
from nagaya.apiserver.web.request import Request, Response, text
from support.thoroughness import exhaustive
from support.waiting import eventually

pytestmark = pytest.mark.slow

PATIENCE = 60
SIZES = (0, 0, 1, 10, 1000, 17_000, 70_000, 200_000)
PACKETS = (1, 7, 100, 2000, 16_384, 16_385, 100_000, 300_000)


async def serve(request: Request) -> Response:
    assert request.source is not None
    request.source.identify(User("somebody"))
    request.body = await request.source.read()
    if request.path.endswith("slow"):
        await asyncio.sleep(0.001)
    return text(f"{request.path} {len(request.body)} {sum(request.body) % 997}")


def conversation(choose: random.Random) -> tuple[bytes, list[str]]:
    """Requests as they are sent, and the answers that are due."""
    sent, due = b"", []
    for number in range(choose.randint(1, 60)):
        body = bytes([choose.randrange(256)]) * choose.choice(SIZES)
        path = choose.choice(("/a{}", "/b{}slow")).format(number)
        size = choose.choice((1, 20, 3000))
        headers = b"".join(b"X-%d: %b\r\n" % (each, b"y" * size) for each in range(choose.choice((0, 1, 2, 10))))
        head = b" %b HTTP/1.1\r\nHost: h\r\n%b" % (path.encode(), headers)
        if not body and choose.random() < 0.7:
            sent += b"GET" + head + b"\r\n"
        elif choose.random() < 0.5:
            sent += b"POST" + head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        else:
            step = choose.choice((3000, 60_000))
            parts = [body[start : start + step] for start in range(0, len(body), step)]
            chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
            sent += b"POST" + head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
        due.append(f"{path} {len(body)} {sum(body) % 997}")
    return sent, due


async def send(writer: asyncio.StreamWriter, sent: bytes, choose: random.Random) -> None:
    while sent:
        size = choose.choice(PACKETS)
        writer.write(sent[:size])
        sent = sent[size:]
        if choose.random() < 0.3:
            await asyncio.sleep(choose.choice((0, 0.001)))
        await writer.drain()


async def converse(choose: random.Random) -> None:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    listener = Listener(serve, sock, None)
    await listener.start()
    for _ in range(6):
        sent, due = conversation(choose)
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        sending = asyncio.create_task(send(writer, sent, choose))
        for expected in due:
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: (\d+)", head)
                assert length is not None
                assert (await reader.readexactly(int(length[1]))).decode() == expected
        await sending
        writer.close()
    await eventually(lambda: listener.gate.total == 0)
    assert listener.bytes_in_flight == 0
    await listener.stop()


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=exhaustive) for seed in range(2, 12))])
def test_answers_are_in_order_however_requests_are_cut(
    seed: int, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(converse(random.Random(seed)))
