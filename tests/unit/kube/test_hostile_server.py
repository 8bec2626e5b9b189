"""API servers and etcds that answer anything: lists without end, strange objects, watches that never pause."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection

from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model
from nagaya.api.untyped import Untyped
from nagaya.kube.cache.reflector import Reflector
from nagaya.kube.cache.store import Store
from nagaya.kube.client import LARGEST_LIST, LARGEST_PAGE, MOST_REPEATED, PAGE, Client, Undecodable
from nagaya.kube.decoding import LARGEST_OBJECT, ServerVersion, read_document
from nagaya.kube.errors import ApiError
from nagaya.kube.etcd.client import EtcdClient
from nagaya.kube.etcd.errors import EtcdError
from nagaya.kube.exec_plugin import API_VERSIONS, ExecCredentials, ExecPlugin, PluginFailed
from nagaya.kube.lines import LONGEST, LineTooLong, lines
from nagaya.kube.streams.session import SpdySession
from nagaya.kube.streams.stream import StreamBroken
from nagaya.kube.transport import Answer, AnswerLost, AnswerUnusable, Call, NoAnswer
from nagaya.wire.malformed import Malformed
from nagaya.wire.spdy.frames import FrameWriter, Ping, Settings, SynReply
from nagaya.wire.spdy.headers import HeaderCompressor, HeaderDecompressor
from nagaya.world import World
from support.pipes import pipe
from support.standing_clock import StandingClock
from support.transports import Scripted, says
from support.virtual_run import run, virtual_world


class CraneSpec(Model):
    reach: int = 0
    names: list[str] = msgspec.field(default_factory=list)


class Crane(Resource):
    spec: CraneSpec


CRANES = Kind("dock.example.com", "v1", "Crane", "cranes", Crane)
CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", Untyped)
OURS = (ApiError, NoAnswer, Undecodable)


def crane(name: Any = "a", version: Any = "5", **spec: Any) -> dict[str, Any]:
    metadata = {"namespace": "n", "name": name, "resourceVersion": version, "uid": "u", "labels": {"a": "b"}}
    return {"apiVersion": "dock.example.com/v1", "kind": "Crane", "metadata": metadata, "spec": {"reach": 1, **spec}}


def page(*items: Any, version: Any = "9", rest: Any = "") -> dict[str, Any]:
    return {"metadata": {"resourceVersion": version, "continue": rest}, "items": list(items)}


def event(kind: str, content: Any) -> bytes:
    return json.dumps({"type": kind, "object": content}).encode() + b"\n"


class Endless(Scripted):
    """Answers each call by the next of an iterator, which may have no end."""

    def __init__(self, answers: Iterator[Any], chunks: Iterable[bytes | Exception] = ()) -> None:
        super().__init__(chunks=chunks)
        self.answers = answers

    async def send(self, call: Call) -> Answer:
        self.calls.append(call)
        await asyncio.sleep(0)
        said = next(self.answers)
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Answer) else says(200, said)


def client(transport: Scripted) -> Client:
    return Client(transport, world=virtual_world())


async def test_a_list_whose_pages_repeat_is_given_up() -> None:
    for rests in (["x"], ["x", "y"], ["a", "b", "c"]):
        way = Endless(page(crane(), rest=rest) for rest in itertools.cycle(rests))
        with pytest.raises(AnswerLost, match=r"the list of cranes.* does not end"):
            await client(way).list(CRANES)
        assert len(way.calls) <= 4 * (len(rests) + 1)


async def test_a_list_whose_pages_never_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nagaya.kube.client.MOST_PAGES", 50)
    way = Endless(page(rest=str(number)) for number in itertools.count(1))
    with pytest.raises(AnswerLost, match="does not end"):
        await client(way).list(CRANES)
    monkeypatch.setattr("nagaya.kube.client.LARGEST_LIST", 10_000)
    way = Endless(page(crane(names=["x" * 1000]), rest=str(number)) for number in itertools.count(1))
    with pytest.raises(AnswerLost, match="does not end"):
        await client(way).list(CRANES)
    assert len(way.calls) < 20
    assert LARGEST_LIST == 1 << 30


@pytest.mark.parametrize("kind", [CRANES, CONFIG_MAPS], ids=str)
async def test_small_objects_without_end_are_not_decoded(
    kind: Kind[Any],
) -> None:
    body = b'{"metadata":{"resourceVersion":"9"},"items":[' + b"{}," * 1_000_000 + b"{}]}"
    way = Endless(Answer(200, {}, body) for _ in itertools.count())
    with pytest.raises(Undecodable, match="1000001 items are more than 1000"):
        await client(way).list(kind, on_problem=lambda _: None)
    assert len(way.calls) == 1
    way = Endless(page(*[crane()] * 20, rest=str(number)) for number in itertools.count(1))
    with pytest.raises(AnswerLost, match="does not end"):
        await Client(way, world=virtual_world(), most_objects=50).list(CRANES)
    assert len(way.calls) == 3


def test_a_watch_that_tells_of_ever_more_objects_fills_no_memory() -> None:
    told = [event("MODIFIED", crane(f"crane-{number}", version=str(number))) for number in range(10, 1000)]

    async def main() -> tuple[int, str]:
        way = Endless((page() for _ in itertools.count()), chunks=told)
        store: Store[Crane] = Store(lambda _: None)
        world = virtual_world()
        reflector = Reflector(Client(way, world=world, most_objects=50), CRANES, store, world)
        task = asyncio.create_task(reflector.run())
        await asyncio.sleep(0.5)  # of virtual time, before the next attempt
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return len(store), reflector.problem

    kept, problem = run(main())
    assert kept == 51
    assert "the server tells of more than 50 objects" in problem


async def test_an_object_that_no_etcd_takes_is_not_decoded() -> None:
    body = b'{"metadata":{"name":"a"},"data":[' + b"[]," * (LARGEST_OBJECT // 3) + b"[]]}"
    for kind in (CRANES, CONFIG_MAPS):
        with pytest.raises(Undecodable, match="more than 8 MiB"):
            await client(Endless(iter([Answer(200, {}, body)]))).get(kind, "n", "a")
    with pytest.raises(AnswerUnusable, match="more than 8 MiB"):
        read_document(ServerVersion, "/version", body)


async def test_a_page_of_large_objects_is_asked_for_in_smaller_ones() -> None:
    large = page(crane(names=["x" * LARGEST_PAGE]))
    way = Endless(iter([large, page(crane("a"))]))
    assert len((await client(way).list(CRANES)).items) == 1
    assert [each.query["limit"] for each in way.calls] == [str(PAGE), "50"]


async def test_pages_that_are_too_large_are_asked_for_in_smaller_ones() -> None:
    call = Call("GET", "/")

    def answers() -> Iterator[Any]:
        yield AnswerUnusable(call, "too large")
        yield page(crane("a"), rest="2")
        yield AnswerUnusable(call, "too large")
        yield page(crane("a"), rest="2")
        yield page(crane("b"))

    way = Endless(answers())
    found = await client(way).list(CRANES)
    assert [each.metadata.name for each in found.items] == ["a", "b"]
    assert [each.query["limit"] for each in way.calls] == [str(PAGE), "50", "50", "5", "5"]
    hopeless = Endless(AnswerUnusable(call, "too large") for _ in itertools.count())
    with pytest.raises(AnswerUnusable):
        await client(hopeless).list(CRANES)
    assert [each.query["limit"] for each in hopeless.calls] == [str(PAGE), "50", "5", "1"], "each is asked for once"


STRANGE: list[Any] = [
    None, True, 0, -1, 10**30, 1.5, "", "x", "x" * 100_000, "\x1b[2J", "9" * 5000, "-1", "1e3", "\u0663", [], {}, [[]],
    [None], {"x": None}, [{}], "\ud83d\ude00",
]  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(data, dict):
        for name, value in data.items():
            yield from places(value, (*path, name))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from places(value, (*path, number))


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = json.loads(json.dumps(data))
    part = copy
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return copy


def raw(value: Any) -> bytes:
    return json.dumps(value).encode()


BROKEN = [
    b"", b"null", b"[" * 100_000, b'{"items":' + b"[" * 100_000, b'{"a":' * 100_000, b'{"metadata":NaN}', b"\xff",
    b'{"metadata":{"resourceVersion":"\\ud800"},"items":[]}', b'{"metadata":{"resourceVersion":"\xff"},"items":[]}',
    b'{"items":[{"metadata":{"name":"a","annotations":{"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}}}]}",
    b'{"items":[{"spec":{"reach":' + b"9" * 6000 + b"}}]}", b'{"items":[' + b"1," * 100_000 + b"1]}",
    b'{"type":"ERROR","object":' + b"[" * 50_000 + b"]" * 50_000 + b"}", b'{"type":"ERROR","object":1}',
    b'{"type":"BOOKMARK","object":1}', b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"x"}}}',
    b'{"type":"BOOKMARK","object":{"metadata":' + b"[" * 50_000 + b"]" * 50_000 + b"}}",
    b'{"type":"ODD","object":{"metadata":{"name":"a"}}}', b'{"type":1,"object":{}}', b'{"type":"ADDED"}',
]  # fmt: skip


def bodies() -> Iterator[bytes]:
    yield from BROKEN
    for whole in (page(crane(), crane("b")), {"type": "ADDED", "object": crane()}, crane()):
        for path in places(whole):
            for value in STRANGE:
                yield raw(changed(whole, path, value))


@pytest.mark.parametrize("kind", [CRANES, CONFIG_MAPS], ids=["typed", "untyped"])
async def test_strange_answers_raise_our_own_errors_only(kind: Kind[Any]) -> None:
    many = list(bodies())
    assert len(many) > 500
    for body in random.Random(1).sample(many, 400) + BROKEN:
        asks = (
            lambda way: client(way).get(kind, "n", "a"),
            lambda way: client(way).list(kind),
            lambda way: client(way).scale(kind, "n", "a"),
            lambda way: client(way).delete(kind, "n", "a"),
            follow(kind),
        )
        for ask in asks:
            way = Endless(itertools.repeat(Answer(200, {}, body)), [body.replace(b"\n", b"") + b"\n"])
            way.said = [Answer(200, {}, b"")]
            try:
                await ask(way)
            except OURS as error:
                assert len(str(error)) < 10_000
                assert "\x1b" not in str(error)
            except Exception as error:
                raise AssertionError(f"{body[:200]!r}: {type(error).__name__}: {error}") from error


def follow(kind: Kind[Any]) -> Any:
    async def watch(way: Scripted) -> None:
        async for found in client(way).watch(kind, resource_version="1"):
            int(found.resource_version or 0)

    return watch


def test_a_reflector_outlives_strange_answers_and_never_asks_hot(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "nagaya")
    many = random.Random(2).sample(list(bodies()), 150) + BROKEN

    async def main() -> int:
        way = Endless(itertools.cycle(Answer(200, {}, body) for body in many))
        way.said = [Answer(200, {}, b"")]
        world = virtual_world()
        reflector = Reflector(Client(way, world=world), CRANES, Store(lambda _: None), world)
        task = asyncio.create_task(reflector.run())
        await asyncio.sleep(600)
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return len(way.calls)

    assert run(main()) < 600, "at most one call a second"
    assert "Traceback" not in caplog.text
    assert max(len(each.getMessage()) for each in caplog.records) < 10_000


async def gather(following: Client, told: list[Any], **more: Any) -> None:
    async for found in following.watch(CRANES, resource_version="1", **more):
        told.append(found)  # noqa: PERF401 -- what came before an error counts too


async def test_a_watch_that_repeats_itself_is_given_up() -> None:
    again = itertools.chain([event("ADDED", crane())], itertools.repeat(event("MODIFIED", crane())))
    way = Scripted(says(200), chunks=again)
    told: list[Any] = []
    with pytest.raises(AnswerLost, match="repeats what it has told up to version 5"):
        await gather(client(way), told)
    assert len(told) <= MOST_REPEATED + 2


async def test_versions_that_go_back_and_forth_are_repetition_too() -> None:
    versions = itertools.cycle(["7", "6", "5", "6"])
    way = Scripted(says(200), chunks=(event("MODIFIED", crane(version=each)) for each in versions))
    with pytest.raises(AnswerLost, match="repeats"):
        await gather(client(way), [])


async def test_a_watch_that_never_ends_is_ended() -> None:
    clock = StandingClock()
    begin = clock.seconds

    def chunks() -> Iterator[bytes]:
        while True:
            clock.seconds += 1
            yield b"x"

    way = Scripted(says(200), chunks=chunks())
    with pytest.raises(AnswerLost, match="did not end the watch when it should have"):
        await gather(Client(way, world=World(clock=clock)), [], timeout=60)
    assert clock.seconds - begin < 200


@pytest.mark.parametrize("begin", [b"x", b"{\n"], ids=["line", "indented"])
async def test_a_line_that_does_not_end_is_given_up(begin: bytes) -> None:
    async def chunks() -> Any:
        yield begin
        for _ in range(2 * LONGEST >> 20):
            yield b" " * (1 << 20)

    with pytest.raises(LineTooLong, match="16 MiB"):
        async for _ in lines(chunks()):
            pass
    way = Scripted(says(200), chunks=[begin, b" " * (LONGEST + 1), event("ADDED", crane())])
    with pytest.raises(AnswerUnusable):
        await gather(client(way), [])


def program(folder: Path, code: str) -> ExecCredentials:
    path = folder / "login"
    path.write_text(f"#!{sys.executable} -S\nimport sys\n{code}\n")
    path.chmod(0o755)
    return ExecCredentials(ExecPlugin(API_VERSIONS[0], str(path), interactive_mode="Never"), StandingClock())


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("while True: sys.stdout.write('x' * 65536)", "printed more than 1 MiB"),
        ("sys.stdout.write('[' * 500000)", "not JSON"),
        ("sys.stdout.buffer.write(b'\\xff\\xfe')", "not JSON"),
        (
            "sys.stdout.write('{\"kind\":\"ExecCredential\",\"apiVersion\":\"' + 'x' * 900000 + '\"}')",
            "make them equal",
        ),
    ],
)  # fmt: skip
async def test_a_credential_plugin_cannot_fill_the_memory(tmp_path: Path, code: str, why: str) -> None:
    with pytest.raises(PluginFailed, match=why) as raised:
        await program(tmp_path, code).get()
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize("token", ["a\\r\\nx: y", "a\\u0000", "\\u00fc", "a\\u007f"])
async def test_a_token_of_a_plugin_fits_into_a_header(tmp_path: Path, token: str) -> None:
    said = f'{{"kind":"ExecCredential","apiVersion":"{API_VERSIONS[0]}","status":{{"token":"{token}"}}}}'
    with pytest.raises(PluginFailed, match="no header can hold"):
        await program(tmp_path, f"sys.stdout.write({said!r})").get()


async def test_a_peer_that_pings_and_never_reads_is_left() -> None:
    here, there = pipe(limit=1 << 16)
    session = SpdySession(here)
    writer = FrameWriter()
    flood = b"".join(writer.encode(Ping(2 * number)) for number in range(20_000))

    async def pour() -> None:
        try:
            while True:
                await there.write(flood)
        except StreamBroken:
            pass

    pouring = asyncio.create_task(pour())
    async with asyncio.timeout(30):
        with pytest.raises(StreamBroken, match="pings without end"):
            await session.open({"a": "b"})
    pouring.cancel()
    await session.close()
    await there.close()
    await asyncio.gather(pouring, return_exceptions=True)


def test_headers_of_spdy_do_not_unfold() -> None:
    packer = HeaderCompressor()
    with pytest.raises(Malformed, match="more than"):
        HeaderDecompressor().decode(packer.encode({"x": "y" * 1_000_000}))
    assert isinstance(SynReply(1, {}), SynReply)
    assert isinstance(Settings(), Settings)


async def etcd_over(send: Any) -> tuple[BaseException, int]:
    """What a call to an etcd raises that sends these bytes, and how much it sent."""
    here, there = pipe(limit=1 << 16)
    sent = 0

    async def pour() -> None:
        nonlocal sent
        server = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        server.initiate_connection()
        try:
            await there.write(server.data_to_send())
            for piece in send(server):
                await there.write(piece)
                sent += len(piece)
            await asyncio.sleep(3600)
        except StreamBroken:
            pass

    pouring = asyncio.create_task(pour())
    client = await EtcdClient.over(here, None, "etcd-a")
    try:
        async with asyncio.timeout(60):
            with pytest.raises(EtcdError) as raised:
                await client.maintenance.status()
    finally:
        pouring.cancel()
        await client.close()
        await there.close()
        await asyncio.gather(pouring, return_exceptions=True)
    return raised.value, sent


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def pings(_: Any) -> Iterator[bytes]:
    while True:
        yield frame(6, 0, 0, b"12345678") * 1000


def settings(_: Any) -> Iterator[bytes]:
    while True:
        yield frame(4, 0, 0, b"\x00\x03\x00\x00\x00\x64") * 1000


def continuations(_: Any) -> Iterator[bytes]:
    yield frame(1, 0, 1, b"\x88")
    while True:
        yield frame(9, 0, 1, b"\x00\x01a\x01b" * 3000)


def many_headers(_: Any) -> Iterator[bytes]:
    yield frame(1, 0, 1, b"\x88" + b"\x00\x01a\x01b" * 3000)
    for _turn in range(40):
        yield frame(9, 0, 1, b"\x00\x01a\x01b" * 3000)
    yield frame(9, 4, 1, b"\x00\x01a\x01b")


def bad_status(_: Any) -> Iterator[bytes]:
    yield frame(1, 5, 1, b"\x08\x05" + b"\xd9\xa3\xd9\xa3x")


def bad_text(_: Any) -> Iterator[bytes]:
    yield frame(1, 5, 1, b"\x88\x00\x01a\x01\xff")


def farewell(_: Any) -> Iterator[bytes]:
    yield frame(7, 0, 0, b"\x00\x00\x00\x00\x00\x00\x00\x00" + b"\x1b[2J\n" * 2000)


def huge_message(_: Any) -> Iterator[bytes]:
    head = b"\x88\x00\x0ccontent-type\x10application/grpc"
    yield frame(1, 4, 1, head)
    yield frame(0, 0, 1, b"\x00\xff\xff\xff\xff" + b"x" * 100)


@pytest.mark.parametrize(
    "send", [pings, settings, continuations, many_headers, bad_status, bad_text, farewell, huge_message]
)
async def test_an_etcd_that_floods_is_left(send: Any, caplog: pytest.LogCaptureFixture) -> None:
    error, sent = await etcd_over(send)
    assert len(str(error)) < 1000
    assert "unexpected" not in str(error)
    assert not {"\x1b", "\n"} & set(str(error))
    assert sent < 64 << 20
    assert "Traceback" not in caplog.text
