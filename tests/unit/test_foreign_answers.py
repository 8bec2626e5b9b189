"""Answers of hostile servers: bounded in size, ratio and time, and without what was sent to prove who asks."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import logging
import ssl
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import orjson
import pytest

from nagaya.address_policy import ENVIRONMENT
from nagaya.clusters.management import NAMESPACES
from nagaya.foreign_answers import LARGEST, REMOVED, secrets
from nagaya.infrastructure.proxmox.boot import ignition, native
from nagaya.infrastructure.proxmox.client import Endpoint, Facts, Password, Token, Trust
from nagaya.infrastructure.proxmox.client.calls import Calls
from nagaya.infrastructure.proxmox.client.errors import HostUnreachable, Malformed, ProxmoxError
from nagaya.infrastructure.proxmox.client.http import HttpTransport as ProxmoxTransport
from nagaya.infrastructure.proxmox.client.transport import Answer, NoAnswer, Request, Unusable
from nagaya.infrastructure.proxmox.image import marker as image_marker
from nagaya.infrastructure.proxmox.virtual_machine import marker as virtual_machine_marker
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection
from nagaya.kube.errors import ApiError, ServerError
from nagaya.kube.http import HttpTransport
from nagaya.kube.transport import AnswerLost, AnswerUnusable, Call, NoCredentials
from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.usages import Usage
from nagaya.world import SystemClock, World
from support.proxmox_transport import Told
from support.standing_clock import StandingClock

Behave = Callable[[str, asyncio.StreamWriter], Awaitable[None]]
GET = Call("GET", "/api/v1/nodes", {}, {}, None, 20)
UUID = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
HEADER = f"PVEAPIToken=capmox@pve!capi={UUID}"
BEARER = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJuYWdheWEifQ." + "Ab3dEf6hIj9lMn-pQr_tUv" * 8


@asynccontextmanager
async def serving(behave: Behave, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await behave(head.decode(), writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()


@asynccontextmanager
async def kube(behave: Behave, *, token: str = "", sealed: bool = False) -> AsyncIterator[HttpTransport]:
    async with serving(behave) as port:
        way = HttpTransport(
            Connection(f"http://127.0.0.1:{port}", token=token, sealed=sealed), world=World(), environment={}
        )
        try:
            yield way
        finally:
            await way.close()


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    authority = CertificateAuthority.create("pve", SystemClock())
    certificate, key = authority.issue_pair(CertificateSpec("pve", (), (Usage.SERVER_AUTH,)), SystemClock())
    file: Path = tmp_path_factory.mktemp("tls") / "server.pem"
    file.write_bytes(certificates.to_pem(certificate) + keys.to_pem(key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


@asynccontextmanager
async def proxmox(behave: Behave, tls: ssl.SSLContext) -> AsyncIterator[Calls]:
    async with serving(behave, tls) as port:
        facts = Facts((Endpoint("127.0.0.1", port),), Token("capmox@pve!capi", UUID), Trust(insecure=True), "lab")
        calls = Calls(facts, ProxmoxTransport(), World())
        try:
            yield calls
        finally:
            await calls.close()


def head(headers: str = "", *, status: str = "200 OK", length: int | None = None) -> bytes:
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return f"HTTP/1.1 {status}\r\n{size}\r\n{headers}\r\n".encode()


def whole(body: bytes, headers: str = "", status: str = "200 OK") -> Behave:
    async def behave(_: str, writer: asyncio.StreamWriter) -> None:
        writer.write(head(headers, status=status, length=len(body)) + body)

    return behave


def bomb(encoding: str) -> Behave:
    """128 KiB that become 128 MiB."""
    if encoding == "gzip":
        body = gzip.compress(b" " * (1 << 27), 9)
    elif encoding == "gzip, twice":
        # Two members: each alone is a bomb.
        body = gzip.compress(b" " * (1 << 25), 9) * 4
    else:
        packer = zlib.compressobj(9, wbits=-15 if encoding == "raw" else 15)
        body = packer.compress(b" " * (1 << 27)) + packer.flush()
    return whole(body, f"Content-Encoding: {'gzip' if 'gzip' in encoding else 'deflate'}\r\n")


async def endless(_: str, writer: asyncio.StreamWriter) -> None:
    writer.write(head())
    piece = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    for _turn in range(4 * LARGEST >> 20):
        writer.write(piece)
        await writer.drain()


async def dripping(_: str, writer: asyncio.StreamWriter) -> None:
    writer.write(head())
    while True:
        writer.write(b"1\r\n \r\n")
        await writer.drain()
        await asyncio.sleep(0.02)


async def dripping_head(_: str, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nx: ")
    while True:
        writer.write(b"y")
        await writer.drain()
        await asyncio.sleep(0.02)


@pytest.fixture
def memory() -> Callable[[], int]:
    tracemalloc.start()
    tracemalloc.reset_peak()
    yield lambda: tracemalloc.get_traced_memory()[1]  # type: ignore[misc]
    tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["gzip", "gzip, twice", "deflate", "raw", "none"])
async def test_an_answer_that_grows_is_given_up_early(
    encoding: str, tls: ssl.SSLContext, memory: Callable[[], int]
) -> None:
    behave = endless if encoding == "none" else bomb(encoding)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    async with kube(behave) as way:
        with pytest.raises(AnswerUnusable, match=r"127.0.0.1:\d+: the answer .* (MiB|times)"):
            await way.send(GET)
        async with way.stream(GET) as answer:
            with pytest.raises(AnswerUnusable):
                await answer.body()
    async with proxmox(behave, tls) as calls:
        with pytest.raises(Malformed, match=r"GET /version on 127.0.0.1 failed: .*answers too much: the answer"):
            await calls.get("/version")
    assert memory() - before < 3 * LARGEST
    if encoding != "none":
        assert memory() - before < LARGEST // 2, "given up for its ratio"


async def test_what_compresses_well_is_no_bomb(tls: ssl.SSLContext) -> None:
    row = b'{"metadata":{"name":"a-machine-of-some-length","labels":{"a":"b"}},"spec":{"x":%d}},'
    body = b'{"data":[' + b"".join(row % number for number in range(100_000))[:-1] + b"]}"
    packed = gzip.compress(body, 9)
    assert len(body) > (8 << 20) > len(packed)
    async with kube(whole(packed, "Content-Encoding: gzip\r\n")) as way:
        assert (await way.send(GET)).body == body


@pytest.mark.parametrize("behave", [dripping, dripping_head])
async def test_an_answer_that_drips_is_given_up_in_time(behave: Behave, tls: ssl.SSLContext) -> None:
    async with kube(behave) as way:
        with pytest.raises(AnswerLost, match=r"did not answer within 0\.2 s"):
            await way.send(Call("GET", "/", {}, {}, None, 0.2))
    async with serving(behave, tls) as port:
        other = ProxmoxTransport()
        with pytest.raises(NoAnswer, match=r"did not answer within 0\.2 s"):
            await other.send(
                Endpoint("127.0.0.1", port), Trust(insecure=True), Request("GET", "/api2/json/version", timeout=0.2)
            )
        await other.close()


@pytest.mark.parametrize(
    "headers",
    ["x: y\r\n" * 1000, f"x: {'y' * 20_000}\r\n", f"{'x' * 20_000}: y\r\n", "x\r\n", "\x1b: y\r\n"],
    ids=["many", "long", "long name", "no colon", "escape"],
)
async def test_headers_are_bounded_and_never_repeated(headers: str, tls: ssl.SSLContext) -> None:
    behave = whole(b'{"data":1}', headers.replace("y", BEARER[:1] + "y"))
    async with kube(behave) as way:
        with pytest.raises(AnswerLost) as raised:
            await way.send(GET)
    assert len(str(raised.value)) < 400
    assert "\x1b" not in str(raised.value)
    async with proxmox(behave, tls) as calls:
        with pytest.raises(ProxmoxError) as failed:
            await calls.get("/version")
    assert len(str(failed.value)) < 600


async def test_redirects_are_not_followed(tls: ssl.SSLContext) -> None:
    asked: list[str] = []

    async def elsewhere(request: str, writer: asyncio.StreamWriter) -> None:
        asked.append(request)
        writer.write(head("Location: /other\r\n", status="302 Found", length=0))

    async with kube(elsewhere, token=BEARER) as way:
        assert (await way.send(GET)).status == 302
    async with proxmox(elsewhere, tls) as calls:
        with pytest.raises(Malformed):
            await calls.get("/version")
    assert len(asked) == 2


def encodings(secret: str) -> list[str]:
    plain = secret.encode()
    return [
        secret,
        secret.upper(),
        secret.lower(),
        quote(secret, safe=""),
        quote(quote(secret, safe=""), safe="") if "%" not in quote(secret, safe="") else secret,
        plain.hex(),
        plain.hex().upper(),
        *(base64.b64encode(b"x" * offset + plain + b"tail").decode() for offset in range(4)),
        *(base64.urlsafe_b64encode(b"x" * offset + plain + b"tail").decode() for offset in range(4)),
        f"before{secret}after",
    ]


def leaks(text: str, secret: str, run: int = 16) -> bool:
    """Whether text has so many characters of a secret in a row, in any case, plain or in base64."""
    plain = secret.encode()
    forms = [secret.lower(), plain.hex()]
    forms += [base64.b64encode(b"x" * offset + plain).decode().lower()[offset + 2 : -4] for offset in range(3)]
    lowered = text.lower()
    return any(form[at : at + run] in lowered for form in forms for at in range(max(1, len(form) - run + 1)))


def test_secrets_are_removed_in_every_form() -> None:
    known = secrets(HEADER)
    for form in [*encodings(UUID), *encodings(HEADER)]:
        assert not leaks(known.remove(f"a {form} b"), UUID), form
    for begin in range(0, 20):
        assert not leaks(known.remove(f"x{UUID[begin : begin + 16]}y"), UUID), "a part of it"
    bearer = secrets(f"Bearer {BEARER}")
    for form in encodings(BEARER):
        assert not leaks(bearer.remove(form), BEARER, 40), form
    basic = secrets(f"Basic {base64.b64encode(b'root:correct-horse-battery').decode()}")
    for form in encodings("correct-horse-battery"):
        assert not leaks(basic.remove(form), "correct-horse-battery"), form
    escaped = "".join(f"\\u{ord(char):04x}" for char in UUID)
    assert UUID not in orjson.loads(known.remove_bytes(f'{{"message":"{escaped}"}}'.encode()))["message"]


@pytest.mark.parametrize("secret", [UUID, 'quo"te\\back/slash-secret', "ünïcode-sécret-ß", "plain-secret"])
@pytest.mark.parametrize("deep", [0, 300])
def test_escapes_of_json_hide_nothing_and_stay_json(secret: str, deep: int) -> None:
    known = secrets(secret)
    words = f'a\\u0041 \\" {"x" * 5} / \n <&> \u2028 ä'
    ways = [
        "".join(f"\\u{ord(char):04x}" for char in secret),
        "".join(f"\\u{ord(char):04X}" for char in secret),
        "".join(f"\\u{ord(char):04x}" if at % 3 else json.dumps(char)[1:-1] for at, char in enumerate(secret)),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(secret)[1:-1].replace("/", "\\/"),
        "".join(f"%{byte:02X}" for byte in secret.encode()),
    ]
    for way in ways:
        nested = "[" * deep + "]" * deep or "1"
        body = f'{{"message":"{way}","words":{json.dumps(words)},"path":"a\\/b","x":{nested}}}'.encode()
        found = orjson.loads(known.remove_bytes(body))
        assert found["message"] == REMOVED, way
        assert found["words"] == words
        assert found["path"] == "a/b"


def test_half_characters_are_no_trouble() -> None:
    assert secrets(UUID).remove(f"\ud800\udcff{UUID}") == f"\ud800\udcff{REMOVED}"


def test_names_of_users_and_tokens_are_no_secrets() -> None:
    text = "UPID:pve1:00000001:00000002:66AB0000:qmclone:100:capmox@pve!capi: PVEAPIToken PVEAuthCookie PVE:root@pam:"
    known = secrets(HEADER, "PVEAuthCookie=PVE%3Aroot%40pam%3A66AB0000%3A%3A" + "k" * 40, "66AB0000:" + "z" * 43)
    assert known.remove(text) == text
    assert secrets("short").remove("short cut") == "short cut"


ECHOES: dict[str, Callable[[Request], Answer]] = {
    "message": lambda r: Answer(500, "no", orjson.dumps({"data": None, "message": f"bad {proof(r)}"})),
    "reason": lambda r: Answer(500, f"bad {proof(r)}", b""),
    "text": lambda r: Answer(502, "no", f"bad {proof(r)}".encode()),
    "parameter": lambda r: Answer(400, "no", orjson.dumps({"data": None, "errors": {proof(r): proof(r)}})),
    "split": lambda r: Answer(500, proof(r)[:40], orjson.dumps({"data": None, "message": proof(r)[40:]})),
    "privilege": lambda r: Answer(403, f"Permission check failed (/{UUID}, VM.{UUID})", b""),
    "lock": lambda r: Answer(500, f"VM is locked ({UUID})", b""),
    "type": lambda r: Answer(200, "OK", orjson.dumps({"data": {"version": {proof(r): proof(r)}}})),
    "malformed": lambda r: Answer(200, "OK", proof(r).encode()),
    "base64": lambda r: Answer(500, base64.b64encode(proof(r).encode()).decode(), b""),
    "quoted": lambda r: Answer(500, quote(proof(r)), b""),
    "escaped": lambda r: Answer(
        500, "no", b'{"data":null,"message":"' + "".join(f"\\u{ord(c):04x}" for c in proof(r)).encode() + b'"}'
    ),
    "name": lambda r: Answer(200, "OK", orjson.dumps({"data": {"version": proof(r)}})),
}


def proof(request: Request) -> str:
    return request.headers.get("authorization") or request.headers.get("cookie") or request.body.decode()


@pytest.mark.parametrize("way", ECHOES)
async def test_a_proxmox_ve_that_repeats_the_credentials_gets_them_nowhere(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    calls = Calls(
        Facts((Endpoint("a"),), Token("capmox@pve!capi", UUID), name="lab"),
        Told(lambda _, request: ECHOES[way](request)),
        World(clock=StandingClock()),
    )
    with pytest.raises(ProxmoxError) as raised:
        (await calls.record("/version")).__getitem__("release")
    error = raised.value
    caplog.set_level(logging.DEBUG)
    logging.getLogger("x").error("failed", exc_info=error)
    shown = [str(error), error.why, repr(error.evidence), *map(str, calls.trace.calls()), repr(calls.trace.calls())]
    for text in (*shown, caplog.text):
        assert not leaks(text, UUID), text


async def test_a_password_that_a_login_repeats_is_removed() -> None:
    def say(_: str, request: Request) -> Answer:
        return Answer(500, "no", orjson.dumps({"data": None, "message": request.body.decode()}))

    calls = Calls(
        Facts((Endpoint("a"),), Password("root@pam", "correct/horse battery")), Told(say), World(clock=StandingClock())
    )
    with pytest.raises(ProxmoxError) as raised:
        await calls.get("/version")
    assert REMOVED in str(raised.value)
    assert "correct" not in str(raised.value)
    assert "horse" not in str(raised.value)


async def test_what_a_connection_broke_by_is_removed_too() -> None:
    from nagaya.infrastructure.proxmox.client.transport import NotSent, ReplyLost

    for failure in (NotSent(f"bad {HEADER}"), ReplyLost(f"bad {HEADER}\r\nx"), Unusable(HEADER)):
        told = Told(lambda _, __, failure=failure: failure)  # type: ignore[misc]
        calls = Calls(Facts((Endpoint("a"),), Token("capmox@pve!capi", UUID)), told, World(clock=StandingClock()))
        with pytest.raises(ProxmoxError) as raised:
            await calls.post("/pools", {})
        assert UUID not in str(raised.value)
        assert "\r" not in str(raised.value)
        assert UUID not in repr(raised.value.__cause__)
        assert not isinstance(raised.value, HostUnreachable) or UUID not in str(calls.endpoints.dead())


def status(message: str) -> bytes:
    return orjson.dumps({"kind": "Status", "apiVersion": "v1", "code": 500, "reason": message, "message": message})


def echoing(where: str) -> Behave:
    async def behave(request: str, writer: asyncio.StreamWriter) -> None:
        proof = next(line for line in request.split("\r\n") if line.lower().startswith("authorization: "))
        said = proof.partition(": ")[2]
        if where == "body":
            writer.write(head(status="500 no", length=len(status(said))) + status(said))
        elif where == "text":
            writer.write(head(status="502 no", length=len(said)) + said.encode())
        elif where == "warning":
            writer.write(head(f'Warning: 299 - "{said}"\r\n', length=2) + b"{}")
        elif where == "header":
            writer.write(head(f"Retry-After: {said}\r\n", status="503 no", length=0))
        elif where == "chunk":
            writer.write(f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{said}\r\n".encode())
        elif where == "encoding":
            writer.write(head(f"Content-Encoding: {said}\r\nTransfer-Encoding: {said}\r\n", length=2) + b"{}")
        elif where == "junk":
            writer.write(f"HTTP/1.1 {said}\r\n\r\n".encode())
        elif where == "junk header":
            writer.write(f"HTTP/1.1 200 OK\r\n{said} \x01: {said}\r\n\r\n".encode())

    return behave


@pytest.mark.parametrize("where", ["body", "text", "warning", "header", "chunk", "encoding", "junk", "junk header"])
async def test_an_api_server_that_repeats_the_token_gets_it_nowhere(
    where: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "nagaya")
    async with kube(echoing(where), token=BEARER) as way:
        client = Client(way, world=World())
        error: BaseException | None = None
        try:
            await client.raw("POST", "/api", content={})
        except (ApiError, AnswerLost) as failure:
            error = failure
            logging.getLogger("nagaya.x").error("failed", exc_info=error)
        stream: BaseException | None = None
        try:
            async with way.stream(GET) as answer:
                await answer.body()
                assert not leaks(str(answer.headers), BEARER, 40)
        except AnswerLost as failure:
            stream = failure
    assert (error is None) == (where == "warning")
    for text in (str(error), repr(getattr(error, "status", "")), str(stream), caplog.text):
        assert not leaks(text, BEARER, 40), text


async def test_objects_of_a_tenant_lose_the_token_and_those_of_the_management_api_stay_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(ENVIRONMENT, "127.0.0.1")
    body = orjson.dumps({"data": BEARER})
    async with kube(whole(body), token=BEARER, sealed=True) as way:
        assert orjson.loads((await way.send(GET)).body) == {"data": REMOVED}
    async with kube(whole(body), token=BEARER) as way:
        assert (await way.send(GET)).body == body, "a Secret may be about the same token"


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("kind", ["object", "error", "undecodable"])
async def test_events_of_a_tenant_lose_the_token_however_they_are_cut(
    kind: str, indent: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, "127.0.0.1")
    metadata = {"name": f"a-{BEARER}", "resourceVersion": "7", "annotations": {"x": BEARER}}
    if kind == "error":
        event = {"type": "ERROR", "object": {"kind": "Status", "code": 500, "message": f"bad {BEARER}"}}
    elif kind == "object":
        event = {"type": "ADDED", "object": {"kind": "Namespace", "apiVersion": "v1", "metadata": metadata}}
    else:
        event = {"type": "ADDED", "object": {"metadata": {**metadata, "labels": BEARER}}}
    sent = json.dumps(event, indent=indent).encode() + b"\n"

    async def behave(_: str, writer: asyncio.StreamWriter) -> None:
        writer.write(head())
        for at in range(0, len(sent), 50):
            piece = sent[at : at + 50]
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")

    shown: list[str] = []
    async with kube(behave, token=BEARER, sealed=True) as way:
        client = Client(way, world=World())
        try:
            async for found in client.watch(
                NAMESPACES, resource_version="1", on_problem=lambda problem: shown.append(str(problem))
            ):
                assert found.object is not None
                shown.append(str(found.object.metadata))
        except ApiError as error:
            shown += [str(error), repr(error.status)]
    assert shown
    assert not any(leaks(text, BEARER, 40) for text in shown), shown


@pytest.mark.parametrize("token", ["a\r\nx: y", "a\nb", "ü", "a\x00b", "a\x7fb"])
async def test_a_token_that_no_header_can_hold_is_told_without_it(token: str) -> None:
    async with kube(whole(b"{}"), token=token) as way:
        with pytest.raises(NoCredentials, match="characters that no header can") as raised:
            await way.send(GET)
    assert token not in str(raised.value)


@pytest.mark.parametrize("longest", ["token", "password"])
async def test_credentials_that_take_minutes_to_look_for_are_not_used(longest: str) -> None:
    from nagaya.kube.connection import Connection
    from nagaya.kube.credentials import Credentials
    from nagaya.kube.exec_plugin import PluginFailed

    said = {"token": "x" * 20_000} if longest == "token" else {"username": "u", "password": "x" * 20_000}
    with pytest.raises(PluginFailed, match="more than 16 KiB"):
        await Credentials(Connection("https://10.0.0.1", **said), World().clock).get()


@pytest.mark.parametrize("message", ["x" * 1_000_000, "\x1b[2J\u202e\x9b", "a" * 9000], ids=["long", "controls", "cut"])
def test_what_a_server_says_is_bounded(message: str) -> None:
    from nagaya.kube.errors import from_answer
    from nagaya.kube.transport import Answer as KubeAnswer

    error = from_answer(KubeAnswer(500, {}, status(message)), GET)
    assert isinstance(error, ServerError)
    assert len(str(error)) < 9000
    assert not {"\x1b", "\u202e", "\x9b"} & set(str(error))


@pytest.mark.parametrize("code", ["1" * 5000, "-1", "1e400", "NaN"])
def test_silly_numbers_in_a_status_are_no_trouble(code: str) -> None:
    from nagaya.kube.errors import from_answer
    from nagaya.kube.transport import Answer as KubeAnswer

    body = f'{{"kind":"Status","code":{code},"details":{{"retryAfterSeconds":{code}}}}}'.encode()
    error = from_answer(KubeAnswer(503, {"retry-after": code}, body), GET)
    assert error.retry_after is None or error.retry_after >= 0


DEEP = '{"a":' * 100_000


@pytest.mark.parametrize(
    "read",
    [
        lambda: virtual_machine_marker.read(f"{virtual_machine_marker.PREFIX}{DEEP}"),
        lambda: image_marker.read(f"{image_marker.PREFIX}{DEEP}", 100),
        lambda: native.read_marker(DEEP),
        lambda: native.read_marker('{"machine":"a","digest":"b","restarts":Infinity}'),
    ],
    ids=["marker of a VM", "marker of an image", "marker in a guest", "infinite restarts"],
)
def test_json_of_others_without_end_is_no_marker(read: Callable[[], object]) -> None:
    assert read() is None


def test_ignition_without_end_is_told() -> None:
    with pytest.raises(ignition.UnusableIgnition):
        ignition._parsed(DEEP.encode())


FLOOD = b'{"data":"' + b"\\u0041" * 300_000 + b'"}\n'


def test_escapes_are_read_from_the_left_however_many_backslashes_stand_before_them() -> None:
    known = secrets(UUID)
    for backslashes in range(0, 7):
        text = "\\" * backslashes + f"\\u{ord(UUID[0]):04x}{UUID[1:]}"
        found = known.remove_bytes(f'"{text}"'.encode())
        if backslashes % 2:
            assert len(orjson.loads(found)) > len(REMOVED), "the backslash before it is an escaped one"
        else:
            assert orjson.loads(found) == "\\" * (backslashes // 2) + REMOVED
    assert known.remove_bytes(b'"' + b"\\" * 2_000_000 + b'\\/"') == b'"' + b"\\" * 2_000_000 + b'/"'


async def test_escapes_that_would_take_seconds_are_refused(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, "127.0.0.1")
    async with kube(whole(FLOOD), token=BEARER, sealed=True) as way:
        with pytest.raises(AnswerUnusable, match="escapes more than 200000 characters"):
            await way.send(GET)
        with pytest.raises(AnswerUnusable, match="escapes more than 200000 characters"):
            async for _ in Client(way, world=World()).watch(NAMESPACES, resource_version="1"):
                pass
    async with proxmox(whole(FLOOD), tls) as calls:
        with pytest.raises(Malformed, match="escapes more than 200000 characters"):
            await calls.get("/version")


async def test_answers_of_tenants_are_smaller_than_those_of_the_management_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, "127.0.0.1")
    body = b" " * (17 << 20)
    async with kube(whole(body)) as way:
        assert len((await way.send(GET)).body) == len(body)
    async with kube(whole(body), sealed=True) as way:
        with pytest.raises(AnswerUnusable, match="more than 16 MiB"):
            await way.send(GET)


async def test_rows_without_end_are_refused(tls: ssl.SSLContext) -> None:
    async with proxmox(whole(b'{"data":[' + b"{}," * 200_000 + b"{}]}"), tls) as calls:
        with pytest.raises(Malformed, match="200001 rows are more than 100000"):
            await calls.rows("/cluster/resources")
