from __future__ import annotations

import pytest

from nagaya.kube.streams import upgrade
from nagaya.kube.streams.stream import StreamBroken
from nagaya.kube.streams.upgrade import ConnectionReader, Response
from support.pipes import pipe
from support.subtest_cases import subtest_cases


async def ask(answer: bytes, piece: int = 65536) -> tuple[Response, ConnectionReader]:
    here, there = pipe(piece)
    reader = ConnectionReader(here)
    await there.write(answer)
    await there.write_eof()
    response = await upgrade.request(reader, "POST", "/api", [("host", "h"), ("upgrade", "SPDY/3.1")])
    assert await there.read() == b"POST /api HTTP/1.1\r\nhost: h\r\nupgrade: SPDY/3.1\r\n\r\n"[:piece]
    return response, reader


@pytest.mark.parametrize("piece", [1, 5, 65536])
async def test_what_follows_the_head_belongs_to_the_new_protocol(piece: int) -> None:
    response, reader = await ask(b"HTTP/1.1 101 Switching\r\nUpgrade: SPDY/3.1\r\nX: a\r\nx: b\r\n\r\nframes", piece)
    assert (response.status, response.headers) == (101, {"upgrade": "SPDY/3.1", "x": "a, b"})
    rest = b""
    while data := await reader.read():
        rest += data
    assert rest == b"frames"


@pytest.mark.parametrize("piece", [1, 65536])
async def test_a_refusal_is_read_as_a_whole(piece: int) -> None:
    response, _ = await ask(b"HTTP/1.1 403 No\r\nContent-Length: 7\r\n\r\nbecause and more", piece)
    assert (response.status, response.body) == (403, b"because")
    chunked = b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nbeca\r\n3\r\nuse\r\n0\r\n\r\n"
    assert (await ask(chunked, piece))[0].body == b"because"


async def test_information_before_the_answer_is_passed_over() -> None:
    response, _ = await ask(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
    assert (response.status, response.body) == (200, b"")


async def test_a_long_explanation_is_cut() -> None:
    answer = b"HTTP/1.1 500 No\r\nContent-Length: 10000000\r\n\r\n" + bytes(200_000)
    assert len((await ask(answer))[0].body) == 65536


@subtest_cases(
    ("answer", "why"),
    [
        (b"SSH-2.0-OpenSSH\r\n\r\n", "not answer in HTTP"),
        (b"HTTP/2 101\r\n\r\n", "not answer in HTTP"),
        (b"HTTP/1.1 xyz\r\n\r\n", "not answer in HTTP"),
        (b"HTTP/1.1 101", "hung up"),
        (b"", "hung up"),
        (b"HTTP/1.1 101 X\r\n" + b"a: b\r\n" * 20000, "more than"),
        (b"HTTP/1.1 500 X\r\nContent-Length: many\r\n\r\n", "how long"),
        (b"HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "how long"),
    ],
)
async def test_answers_of_another_form_are_refused(answer: bytes, why: str) -> None:
    with pytest.raises(StreamBroken, match=why):
        await ask(answer)


async def test_headers_cannot_smuggle_lines() -> None:
    here, _ = pipe()
    with pytest.raises(StreamBroken, match="line break"):
        await upgrade.request(ConnectionReader(here), "GET", "/", [("a", "b\r\nc: d")])
