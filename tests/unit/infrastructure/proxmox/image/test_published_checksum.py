from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web as http

from nagaya.infrastructure.proxmox.image.checksum import checksum
from nagaya.infrastructure.proxmox.image.published_checksum import Fetch, Unpublished, fetch, published_checksum
from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.usages import Usage
from nagaya.world import SystemClock

URL = "https://images.example/trixie/latest/debian-13-generic-amd64.qcow2"
SHA = "ab" * 64


def web(**texts: str) -> Fetch:
    async def answer(address: str) -> str | None:
        server, _, name = address.rpartition("/")
        assert server == "https://images.example/trixie/latest"
        return texts.get(name)

    return answer


async def test_the_checksum_is_read_from_the_list_beside_the_image() -> None:
    found = await published_checksum(URL, web(SHA512SUMS=f"{SHA}  debian-13-generic-amd64.qcow2\n"))
    assert found == checksum(SHA)


async def test_the_next_list_is_tried_when_one_is_not_there() -> None:
    found = await published_checksum(URL, web(SHA256SUMS=f"{SHA[:64]} *debian-13-generic-amd64.qcow2\n"))
    assert found.algorithm == "sha256"


async def test_without_a_line_for_the_image_a_checksum_is_asked_for() -> None:
    with pytest.raises(Unpublished, match=r"SHA512SUMS has no line for .*SHA256SUMS does not exist.*--checksum"):
        await published_checksum(URL, web(SHA512SUMS=f"{SHA}  other.qcow2\n"))


async def test_a_list_that_anybody_could_change_is_not_read() -> None:
    with pytest.raises(Unpublished, match="not read by https"):
        await published_checksum(URL.replace("https", "http"), web())


async def test_a_server_that_does_not_answer_is_told_with_the_remedy() -> None:
    with pytest.raises(Unpublished, match=r"127\.0\.0\.1:1/SHA512SUMS cannot be read: .*--checksum"):
        await fetch("https://127.0.0.1:1/SHA512SUMS")


@dataclass
class Server:
    """The same files by https and by http, or a status, or the way to another file."""

    secure: str = ""
    plain: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)

    async def answer(self, request: http.Request) -> http.Response:
        name = request.path
        if name in self.redirects:
            return http.Response(status=302, headers={"Location": self.redirects[name]})
        if name in self.statuses:
            return http.Response(status=self.statuses[name], text="not what was asked for")
        return http.Response(text=self.texts[name])


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    authority = CertificateAuthority.create("test", SystemClock())
    spec = CertificateSpec("images", (), (Usage.SERVER_AUTH,), (), ("127.0.0.1",))
    certificate, key = authority.issue_pair(spec, SystemClock())
    pair = tmp_path / "server.pem"
    pair.write_bytes(certificates.to_pem(certificate) + keys.to_pem(key))
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(pair)
    trusting = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    session = aiohttp.ClientSession

    def trusting_session(**options: Any) -> aiohttp.ClientSession:
        return session(connector=aiohttp.TCPConnector(ssl=trusting), **options)

    monkeypatch.setattr(aiohttp, "ClientSession", trusting_session)
    monkeypatch.setenv("no_proxy", "*")
    made = Server()
    application = http.Application()
    application.router.add_route("GET", "/{path:.*}", made.answer)
    runner = http.AppRunner(application)
    await runner.setup()
    await http.TCPSite(runner, "127.0.0.1", 0, ssl_context=serving).start()
    await http.TCPSite(runner, "127.0.0.1", 0).start()
    (_, secure), (_, plain) = runner.addresses
    made.secure, made.plain = f"https://127.0.0.1:{secure}", f"http://127.0.0.1:{plain}"
    yield made
    await runner.cleanup()


async def test_a_list_is_read_by_https(server: Server) -> None:
    server.texts = {"/SHA512SUMS": f"{SHA}  a.qcow2\n"}
    assert await fetch(f"{server.secure}/SHA512SUMS") == f"{SHA}  a.qcow2\n"


async def test_a_list_that_is_elsewhere_by_https_is_read_there(server: Server) -> None:
    server.redirects = {"/latest/SHA512SUMS": f"{server.secure}/20300101/SHA512SUMS"}
    server.texts = {"/20300101/SHA512SUMS": f"{SHA}  a.qcow2\n"}
    assert await fetch(f"{server.secure}/latest/SHA512SUMS") == f"{SHA}  a.qcow2\n"


async def test_a_list_that_leads_away_from_https_is_refused(server: Server) -> None:
    server.redirects = {"/latest/SHA512SUMS": f"{server.plain}/20300101/SHA512SUMS"}
    server.texts = {"/20300101/SHA512SUMS": f"{SHA}  a.qcow2\n"}
    address = f"{server.secure}/latest/SHA512SUMS"
    with pytest.raises(Unpublished) as refusal:
        await fetch(address)
    assert str(refusal.value) == f"{address} leads away from https: give the checksum with --checksum."


@pytest.mark.parametrize("status", [403, 404, 410])
async def test_a_list_that_is_not_there_is_none(server: Server, status: int) -> None:
    server.statuses = {"/SHA512SUMS": status}
    assert await fetch(f"{server.secure}/SHA512SUMS") is None


@pytest.mark.parametrize(
    ("status", "answer"), [(401, "401 Unauthorized"), (500, "500 Internal Server Error"), (202, "202 Accepted")]
)
async def test_what_a_server_answers_in_place_of_a_list_is_told(server: Server, status: int, answer: str) -> None:
    server.statuses = {"/SHA512SUMS": status}
    address = f"{server.secure}/SHA512SUMS"
    with pytest.raises(Unpublished) as refusal:
        await fetch(address)
    assert str(refusal.value).startswith(f"{address} cannot be read: the server answered {answer}")
    assert str(refusal.value).endswith(". Try again, or give --checksum.")
