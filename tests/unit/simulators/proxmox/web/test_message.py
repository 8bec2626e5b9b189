from __future__ import annotations

import gzip
from datetime import UTC, datetime

import pytest

from nagaya.simulators.proxmox.request import Answer
from nagaya.simulators.proxmox.web.message import Malformed, parse, written

NOW = datetime(2026, 11, 15, 23, 6, 47, tzinfo=UTC)


def test_an_answer_is_written_byte_for_byte_like_pves() -> None:
    moved = Answer(301, "Moved Permanently", None, b"Moved Permanently", {"Location": "https://127.0.0.1:8006/x"})
    assert written(moved, NOW, version="HTTP/1.1", keep_alive=True, compress=False) == (
        b"HTTP/1.1 301 Moved Permanently\r\n"
        b"Cache-Control: max-age=0\r\n"
        b"Connection: Keep-Alive\r\n"
        b"Date: Sun, 15 Nov 2026 23:06:47 GMT\r\n"
        b"Pragma: no-cache\r\n"
        b"Location: https://127.0.0.1:8006/x\r\n"
        b"Server: pve-api-daemon/3.0\r\n"
        b"Content-Length: 17\r\n"
        b"Expires: Sun, 15 Nov 2026 23:06:47 GMT\r\n"
        b"\r\n"
        b"Moved Permanently"
    )


def test_an_answer_without_a_body_says_neither_type_nor_length() -> None:
    text = written(Answer(401, "No ticket"), NOW, version="HTTP/1.1", keep_alive=False, compress=True)
    assert text.startswith(b"HTTP/1.1 401 No ticket\r\n")
    assert text.endswith(b"\r\n\r\n")
    assert b"Content-" not in text
    assert b"Connection: close" in text


def test_only_long_bodies_are_compressed() -> None:
    long, short = Answer(200, "OK", "application/json", b"x" * 1025), Answer(200, "OK", "application/json", b"x" * 1024)
    text = written(long, NOW, version="HTTP/1.1", keep_alive=True, compress=True)
    assert b"Content-Encoding: gzip" in text
    assert gzip.decompress(text.partition(b"\r\n\r\n")[2]) == long.body
    assert b"gzip" not in written(short, NOW, version="HTTP/1.1", keep_alive=True, compress=True)
    assert b"gzip" not in written(long, NOW, version="HTTP/1.1", keep_alive=True, compress=False)


def test_a_reason_in_latin_letters_is_written_in_one_byte_each() -> None:
    text = written(Answer(500, "für"), NOW, version="HTTP/1.1", keep_alive=False, compress=False)
    assert text.startswith(b"HTTP/1.1 500 f\xfcr\r\n")


def test_a_head_is_understood() -> None:
    head = parse(b"\r\nGET /a%20b?c=1#d HTTP/1.1\r\nHost: x\r\nX-Long: one\r\n two\r\nA: 1\r\na: 2")
    assert (head.method, head.path, head.query) == ("GET", "/a%20b", "c=1")
    assert head.headers == {"host": "x", "x-long": "one two", "a": "1, 2"}
    assert head.keeps_alive
    assert head.length == 0


@pytest.mark.parametrize(
    ("head", "keeps"),
    [
        (b"GET / HTTP/1.0", False),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive", True),
        (b"GET / HTTP/1.1\r\nConnection: Close", False),
    ],
)
def test_connections_are_kept_as_the_client_wishes(head: bytes, keeps: bool) -> None:
    assert parse(head).keeps_alive is keeps


@pytest.mark.parametrize(
    ("head", "status", "reason"),
    [
        (b"garbage", 400, "bad request"),
        (b"GET / HTTP/2.0", 506, "http protocol version 2.0 not supported"),
        (b"GET user@host/ HTTP/1.1", 400, "invalid url"),
        (b"GET / HTTP/1.1\r\n:x", 506, "unable to parse request header"),
    ],
)
def test_what_is_no_request_is_refused(head: bytes, status: int, reason: str) -> None:
    with pytest.raises(Malformed) as failure:
        parse(head)
    assert (failure.value.status, failure.value.reason) == (status, reason)
