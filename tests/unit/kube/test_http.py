"""Over real sockets on loopback: what a transport makes of servers that misbehave."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nagaya.kube.connection import Connection, Impersonation
from nagaya.kube.exec_plugin import ExecPlugin
from nagaya.kube.http import HttpTransport
from nagaya.kube.transport import AnswerLost, Call, NoCredentials, StreamAnswer, Unreachable
from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.usages import Usage
from nagaya.world import SystemClock, World

Behave = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """Reads requests and does with each what the test wants."""

    behave: Behave
    heads: list[str] = field(default_factory=list)
    connections: int = 0
    url: str = ""
    tls: ssl.SSLContext | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heads.append(head.decode())
                await self.behave(head, reader, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def header(self, name: str, number: int = -1) -> list[str]:
        lines = (line.partition(": ") for line in self.heads[number].split("\r\n"))
        return [value for key, _, value in lines if key.lower() == name]


def answering(status: int = 200, body: bytes = b"{}", **headers: str) -> Behave:
    async def behave(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{lines}\r\n".encode() + body)

    return behave


@asynccontextmanager
async def serving(behave: Behave, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server(behave, tls=tls)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listener.close()


@asynccontextmanager
async def transport(connection: Connection, **environment: str) -> AsyncIterator[HttpTransport]:
    made = HttpTransport(connection, world=World(), environment={"PATH": "/usr/bin:/bin", **environment})
    try:
        yield made
    finally:
        await made.close()


def get(path: str = "/version", timeout: float | None = 60) -> Call:
    return Call("GET", path, {}, {"accept": "application/json"}, None, timeout)


async def read(answer: StreamAnswer) -> bytes:
    return b"".join([chunk async for chunk in answer])


POST = Call("POST", "/api/v1/namespaces", {"fieldManager": "x y"}, {"content-type": "application/json"}, b"{}", 60)


async def test_connections_are_used_again() -> None:
    async with serving(answering(body=b'{"a":1}')) as server, transport(Connection(server.url)) as way:
        for _ in range(3):
            answer = await way.send(get())
        assert (answer.status, answer.body) == (200, b'{"a":1}')
        assert server.connections == 1
        assert server.header("user-agent")[0].startswith("nagaya/")


async def test_paths_and_queries_are_escaped() -> None:
    async with serving(answering()) as server, transport(Connection(f"{server.url}/base")) as way:
        await way.send(Call("GET", "/api/v1/nodes/system:x y", {"labelSelector": "a in (b,c)", "x": "ü&="}))
        assert server.heads[0].startswith(
            "GET /base/api/v1/nodes/system:x%20y?labelSelector=a+in+%28b%2Cc%29&x=%C3%BC%26%3D "
        )


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with serving(answering()) as server:
        url = server.url
    async with transport(Connection(url)) as way:
        with pytest.raises(Unreachable, match="cannot be reached"):
            await way.send(POST)


async def test_a_connection_that_breaks_after_the_request_may_have_had_its_effect() -> None:
    async def behave(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with serving(behave) as server, transport(Connection(server.url)) as way:
        with pytest.raises(AnswerLost, match="POST /api/v1/namespaces: "):
            await way.send(POST)
        assert len(server.heads) == 1


async def test_a_server_that_does_not_answer_in_time_may_still_do_it() -> None:
    async def behave(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with serving(behave) as server, transport(Connection(server.url)) as way:
        with pytest.raises(AnswerLost, match=r"did not answer within 0\.05 s"):
            await way.send(get(timeout=0.05))
        with pytest.raises(AnswerLost, match=r"did not answer within 0\.05 s"):
            async with way.stream(get(timeout=0.05)):
                pass


async def test_an_answer_that_is_cut_off_is_lost() -> None:
    async def behave(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        await writer.drain()
        writer.close()

    async with serving(behave) as server, transport(Connection(server.url)) as way:
        with pytest.raises(AnswerLost, match="broke"):
            await way.send(get())


def chunked(*parts: bytes, end: bool = True, pause: float = 0) -> Behave:
    async def behave(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in parts:
            writer.write(b"%x\r\n%s\r\n" % (len(part), part))
            await writer.drain()
        await asyncio.sleep(pause)
        if end:
            writer.write(b"0\r\n\r\n")
        else:
            writer.close()

    return behave


async def test_a_stream_ends_quietly_when_the_server_ends_it() -> None:
    big = b"x" * 3_000_000
    async with (
        serving(chunked(b"one", big)) as server,
        transport(Connection(server.url)) as way,
        way.stream(get()) as answer,
    ):
        assert answer.status == 200
        assert await read(answer) == b"one" + big


async def test_a_stream_that_breaks_says_so() -> None:
    async with (
        serving(chunked(b"one", end=False)) as server,
        transport(Connection(server.url)) as way,
        way.stream(get()) as answer,
    ):
        with pytest.raises(AnswerLost, match="broke"):
            await read(answer)


async def test_a_stream_that_falls_silent_is_given_up() -> None:
    async with serving(chunked(b"one", pause=30)) as server, transport(Connection(server.url)) as way:
        call = Call("GET", "/watch", timeout=5, silence=0.1)
        async with way.stream(call) as answer:
            with pytest.raises(AnswerLost, match=r"was silent for 0\.1 s"):
                await read(answer)


async def test_leaving_a_stream_closes_its_connection() -> None:
    gone = asyncio.Event()

    async def behave(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        await reader.read()
        gone.set()

    async with serving(behave) as server, transport(Connection(server.url)) as way:
        async with way.stream(get()) as answer:
            async for _ in answer:
                break
        async with asyncio.timeout(60):
            await gone.wait()


async def test_redirects_are_not_followed() -> None:
    elsewhere = answering(302, Location="http://127.0.0.1:1/")
    async with serving(elsewhere) as server, transport(Connection(server.url, token="t")) as way:
        assert (await way.send(get())).status == 302


async def test_compressed_answers_are_read() -> None:
    body = gzip.compress(b'{"big": true}')
    async with serving(answering(body=body, Content_Encoding="gzip")) as server:
        async with transport(Connection(server.url)) as way:
            assert (await way.send(get())).body == b'{"big": true}'
            assert server.header("accept-encoding") == ["gzip"]
        async with transport(Connection(server.url, compression=False)) as way:
            await way.send(get())
            assert server.header("accept-encoding") == ["identity"]


async def test_all_warnings_arrive() -> None:
    async def behave(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nWarning: 299 - "a"\r\nWarning: 299 - "b"\r\n\r\n')

    async with serving(behave) as server, transport(Connection(server.url)) as way:
        assert (await way.send(get())).headers["warning"] == '299 - "a", 299 - "b"'


@pytest.mark.parametrize(
    ("more", "sent"),
    [({"token": "t"}, "Bearer t"), ({"username": "u", "password": "p"}, "Basic dTpw")],
)
async def test_proof_is_sent_with_every_call(more: dict[str, str], sent: str) -> None:
    async with serving(answering()) as server, transport(Connection(server.url, **more)) as way:  # type: ignore[arg-type]  # fields by name
        await way.send(get())
        assert server.header("authorization") == [sent]


async def test_impersonation_is_sent() -> None:
    assumed = Impersonation("jane", "7", ("a", "b"), (("Scopes/X", "y"),))
    async with serving(answering()) as server, transport(Connection(server.url, impersonation=assumed)) as way:
        await way.send(get())
        assert server.header("impersonate-user") == ["jane"]
        assert server.header("impersonate-uid") == ["7"]
        assert server.header("impersonate-group") == ["a", "b"]
        assert server.header("impersonate-extra-scopes%2fx") == ["y"]


async def test_a_token_file_is_read_again_after_a_refusal(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")

    async def behave(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answering(200 if b"Bearer new" in head else 401)(head, reader, writer)

    async with serving(behave) as server, transport(Connection(server.url, token_file=file)) as way:
        assert (await way.send(get())).status == 401
        assert len(server.heads) == 1  # the file says the same: there is nothing to try
        file.write_text("new\n")
        assert (await way.send(POST)).status == 200
        async with way.stream(get()) as answer:
            assert answer.status == 200


async def test_a_missing_token_file_is_named(tmp_path: Path) -> None:
    async with transport(Connection("http://127.0.0.1:1", token_file=tmp_path / "token")) as way:
        with pytest.raises(NoCredentials, match=r"no credentials for .*token"):
            await way.send(get())


def plugin(folder: Path, token: str) -> ExecPlugin:
    program = folder / "login"
    version = "client.authentication.k8s.io/v1"
    credential = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": {"token": token}})
    program.write_text(f"#!/bin/sh\necho run >> {folder}/runs\necho '{credential}'\n")
    program.chmod(0o755)
    return ExecPlugin(version, str(program), interactive_mode="Never")


async def test_a_plugin_logs_in_again_after_a_refusal(tmp_path: Path) -> None:
    async def behave(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answering(200 if b"Bearer new" in head else 401)(head, reader, writer)

    async with serving(behave) as server, transport(Connection(server.url, plugin=plugin(tmp_path, "old"))) as way:
        assert (await way.send(get())).status == 401
        plugin(tmp_path, "new")
        assert (await way.send(get())).status == 200
        assert (await way.send(get())).status == 200
        assert len((tmp_path / "runs").read_text().split()) == 3


async def test_no_secret_is_in_what_is_told() -> None:
    secret = "very-secret"
    connection = Connection("http://127.0.0.1:1", token=secret, proxy=f"http://me:{secret}@127.0.0.1:1")
    async with transport(connection) as way:
        with pytest.raises(Unreachable) as caught:
            await way.send(Call("POST", "/", {}, {"x": secret}, secret.encode(), 60))
        assert secret not in f"{caught.value!r} {caught.value} {caught.value.call!r} {way.connection!r}"


async def test_a_proxy_is_asked_for_a_tunnel() -> None:
    async def behave(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answering(407)(head, reader, writer)

    async with serving(behave) as server:
        connection = Connection("https://api.example.com:6443", proxy=server.url.replace("//", "//me:pass@"))
        async with transport(connection) as way:
            with pytest.raises(Unreachable, match=r"the proxy before https://api\.example\.com:6443 answered 407"):
                await way.send(POST)
        assert server.heads[0].startswith("CONNECT api.example.com:6443 ")
        assert server.header("proxy-authorization") == ["Basic bWU6cGFzcw=="]
        assert server.header("authorization") == []


@dataclass
class Pki:
    authority: CertificateAuthority
    serving: ssl.SSLContext

    def client(self, name: str) -> tuple[bytes, bytes]:
        certificate, key = self.authority.issue_pair(CertificateSpec(name), SystemClock())
        return certificates.to_pem(certificate), keys.to_pem(key)


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    authority = CertificateAuthority.create("test", SystemClock())
    spec = CertificateSpec("server", (), (Usage.SERVER_AUTH,), ("api.internal",), ())
    certificate, key = authority.issue_pair(spec, SystemClock())
    file = tmp_path / "server.pem"
    file.write_bytes(certificates.to_pem(certificate) + keys.to_pem(key))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.certificate_pem.decode())
    context.load_cert_chain(file)
    context.verify_mode = ssl.CERT_OPTIONAL
    return Pki(authority, context)


def shown(server: Server, names: list[str]) -> Behave:
    async def behave(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        certificate = writer.get_extra_info("ssl_object").getpeercert() or {"subject": ()}
        names.append(dict(part[0] for part in certificate["subject"]).get("commonName", ""))
        await answering()(head, reader, writer)

    return behave


async def test_the_server_is_verified(pki: Pki) -> None:
    authority = pki.authority.certificate_pem
    async with serving(answering(), pki.serving) as server:
        for connection, problem in (
            (Connection(server.url), "self.signed|unable to get local issuer"),
            (Connection(server.url, authority=authority), "127.0.0.1"),
            (Connection(server.url, authority=authority, tls_server_name="other"), "other"),
        ):
            async with transport(connection) as way:
                with pytest.raises(Unreachable, match=problem):
                    await way.send(get())
        for connection in (
            Connection(server.url, authority=authority, tls_server_name="api.internal"),
            Connection(server.url, insecure=True),
        ):
            async with transport(connection) as way:
                assert (await way.send(get())).status == 200


async def test_tls_goes_through_a_proxy_and_ends_at_the_server(pki: Pki) -> None:
    async with serving(answering(body=b"through"), pki.serving) as server:
        host, _, port = server.url.removeprefix("https://").partition(":")

        async def tunnel(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there, back = await asyncio.open_connection(host, int(port))
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            await asyncio.gather(pump(reader, back), pump(there, writer))

        async with serving(tunnel) as proxy:
            connection = Connection(
                "https://api.internal:6443", authority=pki.authority.certificate_pem, token="t", proxy=proxy.url
            )
            async with transport(connection) as way:
                for _ in range(2):
                    assert (await way.send(get())).body == b"through"
            assert [head.split()[:2] for head in proxy.heads] == [["CONNECT", "api.internal:6443"]]
            assert proxy.header("authorization") == []
            assert server.header("authorization") == ["Bearer t"]


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def test_a_new_certificate_is_shown_on_new_connections(pki: Pki, tmp_path: Path) -> None:
    names: list[str] = []
    certificate, key = tmp_path / "me.crt", tmp_path / "me.key"

    def renew(name: str) -> None:
        for file, content in zip((certificate, key), pki.client(name), strict=True):
            file.write_bytes(content)

    renew("old")
    async with serving(answering(), pki.serving) as server:
        server.behave = shown(server, names)
        connection = Connection(
            server.url,
            authority=pki.authority.certificate_pem,
            certificate=certificate,
            key=key,
            tls_server_name="api.internal",
        )
        async with transport(connection) as way:
            await way.send(get())
            renew("new")
            await way.send(get())
            way._credentials._read_at = float("-inf")  # a minute later
            await way.send(get())
            assert names == ["old", "old", "new"]


async def test_certificates_of_no_use_are_explained(pki: Pki) -> None:
    _, key = pki.client("a")
    certificate, _ = pki.client("b")
    for connection, problem in (
        (Connection("https://127.0.0.1:1", authority=b"nonsense"), "certificate authority .* must be PEM"),
        (Connection("https://127.0.0.1:1", certificate=certificate, key=key), "belong together"),
    ):
        async with transport(connection) as way:
            with pytest.raises(NoCredentials, match=problem):
                await way.send(get())


async def test_a_closed_transport_takes_no_calls() -> None:
    way = HttpTransport(Connection("http://127.0.0.1:1"), world=World(), environment={})
    await way.close()
    with pytest.raises(Unreachable, match="has been closed"):
        await way.send(get())
