"""Over real sockets on loopback: what is asked of an API server, and what is made of its answers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from nagaya.kube.connection import Connection, Impersonation
from nagaya.kube.errors import Forbidden, ServerError, Unauthorized
from nagaya.kube.streams.port_forward import PortForward
from nagaya.kube.streams.stream import CHUNK, Stream, StreamBroken
from nagaya.kube.streams.tcp import TcpStream
from nagaya.kube.transport import NoCredentials, Unreachable
from nagaya.wire import websocket
from nagaya.wire.websocket import Frame, FrameReader, Opcode
from nagaya.world import World
from support.pod_ports import PodPorts
from support.real_certificates import Authority
from support.waiting import eventually

STATUS = b'{"kind":"Status","status":"Failure","message":"not yours","reason":"Forbidden","code":403}'
PATH = "/api/v1/namespaces/kube-system/pods/etcd-a/portforward"


class WebSocketServer:
    """The far side of a WebSocket as a stream."""

    def __init__(self, under: Stream) -> None:
        self._under = under
        self._frames = FrameReader(masked=True)

    async def read(self, limit: int = CHUNK) -> bytes:
        while True:
            data = await self._under.read()
            if not data:
                return b""
            if found := b"".join(frame.payload for frame in self._frames.feed(data)):
                return found

    async def write(self, data: bytes) -> None:
        await self._under.write(websocket.encode(Frame(Opcode.BINARY, data)))

    async def write_eof(self) -> None:
        await self._under.write(websocket.encode(websocket.encode_close()))

    async def close(self) -> None:
        await self._under.close()


Answer = Callable[["Server", str, dict[str, str], TcpStream], Awaitable[None]]


@dataclass
class Server:
    """An API server that knows port-forward only, and only as far as a test wants."""

    answer: Answer
    heads: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    open: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""
    tasks: set[asyncio.Task[None] | None] = field(default_factory=set)
    """Keeps the tasks alive: if a client has closed its connection and the task waits for a second connection, asyncio
    has only weak references to the task and to the reader that it waits for, and both can be garbage collected."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.idle.clear()
        self.tasks.add(asyncio.current_task())
        stream = TcpStream(reader, writer, "client")
        try:
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
            self.heads.append((first, headers))
            await self.answer(self, first, headers, stream)
        except (asyncio.IncompleteReadError, StreamBroken, OSError):
            pass
        finally:
            await stream.close()
            self.open -= 1
            if not self.open:
                self.idle.set()


async def any_form(server: Server, first: str, headers: dict[str, str], stream: TcpStream) -> None:
    """Accept a WebSocket or SPDY."""
    if headers["upgrade"] == "websocket":
        accept = websocket.accept_key(headers["sec-websocket-key"])
        head = f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n"
        head += f"Sec-WebSocket-Protocol: {headers['sec-websocket-protocol']}\r\n"
        under: Stream = WebSocketServer(stream)
    else:
        head = "Upgrade: SPDY/3.1\r\nConnection: Upgrade\r\nX-Stream-Protocol-Version: portforward.k8s.io\r\n"
        under = stream
    await stream.write(f"HTTP/1.1 101 Switching Protocols\r\n{head}\r\n".encode())
    await PodPorts(under).serve()


def refusing(status: int, body: bytes = b"") -> Answer:
    async def answer(server: Server, first: str, headers: dict[str, str], stream: TcpStream) -> None:
        await stream.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        await stream.read()

    return answer


async def only_spdy(server: Server, first: str, headers: dict[str, str], stream: TcpStream) -> None:
    known = headers["upgrade"] == "SPDY/3.1"
    await (any_form if known else refusing(400, b"unable to upgrade"))(server, first, headers, stream)


@asynccontextmanager
async def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server(answer)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listener.close()


def forward(connection: Connection, timeout: float = 60, **environment: str) -> PortForward:
    return PortForward(connection, world=World(), environment=environment, timeout=timeout)


async def check(way: PortForward) -> None:
    stream = await way.dial("kube-system", "etcd-a", 2379)
    try:
        await stream.write(b"hello")
        assert await stream.read() == b"hello"
    finally:
        await stream.close()


async def until_closed(server: Server) -> None:
    async with asyncio.timeout(60):
        await server.idle.wait()


async def test_a_websocket_is_asked_for_first_and_nothing_is_left_open() -> None:
    async with serving(any_form) as server:
        connection = Connection(f"{server.url}/base", token="secret", impersonation=Impersonation("bob", groups=("a",)))
        await check(forward(connection))
        ((first, headers),) = server.heads
        assert first == f"GET /base{PATH} HTTP/1.1"
        assert headers["sec-websocket-protocol"] == "SPDY/3.1+portforward.k8s.io"
        assert headers["authorization"] == "Bearer secret"
        assert (headers["impersonate-user"], headers["impersonate-group"]) == ("bob", "a")
        assert headers["user-agent"].startswith("nagaya/")
        assert headers["host"] == server.url.removeprefix("http://")
        await until_closed(server)


async def test_spdy_is_asked_for_where_there_are_no_websockets_and_that_is_remembered() -> None:
    async with serving(only_spdy) as server:
        way = forward(Connection(server.url))
        await check(way)
        await check(way)
        assert [first.split()[0] for first, _ in server.heads] == ["GET", "POST", "POST"]
        assert server.heads[1][1]["x-stream-protocol-version"] == "portforward.k8s.io"
        assert server.heads[1][1]["content-length"] == "0"
        await until_closed(server)


async def test_a_refusal_says_what_the_server_said() -> None:
    async with serving(refusing(403, STATUS)) as server:
        with pytest.raises(Forbidden, match="not yours"):
            await forward(Connection(server.url)).dial("kube-system", "etcd-a", 1)
        await until_closed(server)
    async with serving(refusing(502, b"<h1>Bad gateway</h1>")) as server:
        with pytest.raises(ServerError, match="Bad gateway"):
            await forward(Connection(server.url)).dial("kube-system", "etcd-a", 1)


async def test_a_refusal_that_repeats_the_token_is_shown_without_it() -> None:
    token = "header.claims." + "Ab3dEf6hIj9lMnpQrtUv" * 3

    async def echo(server: Server, first: str, headers: dict[str, str], stream: TcpStream) -> None:
        await refusing(500, f"bad {headers['authorization']}".encode())(server, first, headers, stream)

    async with serving(echo) as server:
        with pytest.raises(ServerError, match=r"bad Bearer \(removed\)") as raised:
            await forward(Connection(server.url, token=token)).dial("kube-system", "etcd-a", 1)
        assert token[-20:] not in str(raised.value)


async def test_new_credentials_are_tried_once_after_a_401(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    async def answer(server: Server, first: str, headers: dict[str, str], stream: TcpStream) -> None:
        if headers["authorization"] == "Bearer new":
            await any_form(server, first, headers, stream)
        else:
            token.write_text("new")
            await refusing(401)(server, first, headers, stream)

    async with serving(answer) as server:
        await check(forward(Connection(server.url, token_file=token)))
        assert len(server.heads) == 2
    async with serving(refusing(401)) as server:
        with pytest.raises(Unauthorized):
            await check(forward(Connection(server.url, token="wrong")))
        assert len(server.heads) == 1


async def test_credentials_that_cannot_be_had_are_no_fault_of_the_server(tmp_path: Path) -> None:
    with pytest.raises(NoCredentials, match="no credentials"):
        await check(forward(Connection("http://127.0.0.1:1", token_file=tmp_path / "missing")))
    with pytest.raises(NoCredentials, match="must be PEM"):
        async with serving(any_form) as server:
            await check(forward(Connection(server.url.replace("http:", "https:"), authority=b"nonsense")))


async def test_tls_with_client_certificates(tmp_path: Path) -> None:
    authority = Authority("ca")
    pair, client = authority.server("api", ("api.example",)), authority.client("admin")
    file = tmp_path / "server.pem"
    file.write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.pair.certificate.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(file)
    async with serving(any_form, context) as server:
        good = Connection(
            server.url,
            authority=authority.pair.certificate,
            certificate=client.certificate,
            key=client.key,
            tls_server_name="api.example",
        )
        await check(forward(good))
        with pytest.raises(Unreachable, match="not trusted: IP address mismatch"):
            await check(forward(replace(good, tls_server_name="")))
        with pytest.raises(Unreachable, match="not trusted"):
            await check(forward(replace(good, authority=Authority("other").pair.certificate)))
        await check(forward(replace(good, authority=None, tls_server_name="", insecure=True)))
        # With TLS 1.3 the server's verdict on the client comes after the handshake.
        with pytest.raises(Unreachable, match="cannot be asked"):
            await check(forward(replace(good, certificate=None, key=None)))


async def test_a_proxy_is_asked_for_a_tunnel() -> None:
    async def tunnel(server: Server, first: str, headers: dict[str, str], stream: TcpStream) -> None:
        if "proxy-authorization" not in headers:
            await refusing(407)(server, first, headers, stream)
            return
        host, _, port = first.split()[1].partition(":")
        there = await TcpStream.connect(host, int(port))
        await stream.write(b"HTTP/1.1 200 Connected\r\n\r\n")

        async def copy(source: TcpStream, target: TcpStream) -> None:
            while data := await source.read():
                await target.write(data)
            await target.write_eof()

        await asyncio.gather(copy(stream, there), copy(there, stream), return_exceptions=True)
        await there.close()

    async with serving(any_form) as server, serving(tunnel) as proxy:
        address = proxy.url.removeprefix("http://")
        await check(forward(Connection(server.url, proxy=f"http://user:word@{address}")))
        assert proxy.heads[0][0] == f"CONNECT {server.url.removeprefix('http://')} HTTP/1.1"
        with pytest.raises(Unreachable, match="the proxy before it answered 407"):
            await check(forward(Connection(server.url, proxy=proxy.url)))
        await until_closed(proxy)


async def test_a_server_that_never_answers_is_given_up() -> None:
    async def hang(server: Server, first: str, headers: dict[str, str], stream: TcpStream) -> None:
        await stream.read()

    async with serving(hang) as server:
        with pytest.raises(Unreachable, match=r"gave no stream within 0\.2 s"):
            await check(forward(Connection(server.url), timeout=0.2))
        await until_closed(server)


async def test_a_dial_that_is_cancelled_leaves_nothing_behind() -> None:
    begun = asyncio.Event()

    async def half(server: Server, first: str, headers: dict[str, str], stream: TcpStream) -> None:
        head = "HTTP/1.1 101 X\r\nUpgrade: SPDY/3.1\r\n\r\n" if first.startswith("POST") else "HTTP/1.1 400 X\r\n\r\n"
        await stream.write(head.encode())
        while await stream.read():
            begun.set()

    async with serving(half) as server:
        dialing = asyncio.create_task(check(forward(Connection(server.url))))
        async with asyncio.timeout(60):
            await begun.wait()
        await eventually(lambda: server.open == 1)
        dialing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dialing
        await until_closed(server)


async def test_a_server_that_switches_to_something_else_is_refused() -> None:
    async def wrong(server: Server, first: str, headers: dict[str, str], stream: TcpStream) -> None:
        await stream.write(b"HTTP/1.1 101 X\r\nUpgrade: chess\r\nSec-WebSocket-Accept: guess\r\n\r\n")
        await stream.read()

    async with serving(wrong) as server:
        with pytest.raises(StreamBroken, match="another protocol"):
            await check(forward(Connection(server.url)))
        await until_closed(server)


async def test_hostile_names_stay_within_their_place() -> None:
    async with serving(refusing(404)) as server:
        with pytest.raises(Exception, match="404"):
            await forward(Connection(server.url)).dial("a/../b", "c?d#e f\r\n", 1)
        assert server.heads[0][0] == ("GET /api/v1/namespaces/a%2F..%2Fb/pods/c%3Fd%23e%20f%0D%0A/portforward HTTP/1.1")
