"""Where connections for objects of tenants may lead: every spelling, every way to connect, and who may allow more."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from nagaya.address_policy import ENVIRONMENT, AddressPolicy, AddressRefused, parse
from nagaya.allowed_endpoints import Publication, folder, published
from nagaya.infrastructure.proxmox.client import Trust, endpoint
from nagaya.infrastructure.proxmox.client.greeting import greeted
from nagaya.infrastructure.proxmox.client.http import HttpTransport as ProxmoxTransport
from nagaya.infrastructure.proxmox.client.transport import NotSent, Request
from nagaya.kube.http import HttpTransport
from nagaya.kube.kubeconfig import KubeconfigError, parse_text
from nagaya.kube.streams.port_forward import PortForward
from nagaya.kube.transport import Call, NoAnswer, Unreachable
from nagaya.world import World


@pytest.fixture(autouse=True)
def nothing_allowed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(ENVIRONMENT)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def refused(host: str, port: int = 8006, policy: AddressPolicy | None = None) -> bool:
    try:
        (policy or AddressPolicy()).check((host, port))
    except AddressRefused as error:
        assert f"--allow-endpoint {str(error).partition(' ')[0]}`" in str(error)
        return True
    return False


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "0.1.2.3",
        "169.254.169.254",
        "169.254.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "224.0.0.1",
        "239.1.1.1",
        "255.255.255.255",
        "240.0.0.1",
        "::1",
        "::",
        "fe80::1",
        "fe80::1%lo",
        "ff02::1",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "2001:0:7f00:1::",
        "2001:0:a00:1:0:0:80ff:fffe",
        "fe80::5efe:7f00:1",
        "2001:db8::5efe:127.0.0.1",
        "2001:db8::200:5efe:127.0.0.1",
    ],
)
def test_addresses_that_only_this_machine_reaches_are_refused(host: str) -> None:
    assert refused(host)


@pytest.mark.parametrize(
    "host",
    ["10.0.0.1", "192.168.1.1", "100.64.0.1", "8.8.8.8", "2001:db8::1", "fd12::1", "::ffff:10.0.0.1", "2002:a00:1::"],
)
def test_addresses_of_a_network_are_not(host: str) -> None:
    assert not refused(host)


def test_the_management_api_is_refused_at_each_address_of_this_machine() -> None:
    policy = AddressPolicy()
    policy.refuse("10.9.8.7", 6443)
    assert refused("10.9.8.7", 6443, policy)
    assert all(refused(each, 6443, policy) for each in ("::ffff:10.9.8.7", "64:ff9b::10.9.8.7", "2002:a09:807::1"))
    assert not refused("10.9.8.7", 6444, policy)
    policy = AddressPolicy()
    policy.refuse("0.0.0.0", 6443)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        own = probe.getsockname()[0]
    assert refused(own, 6443, policy)
    assert not refused(own, 6442, policy)
    assert not refused("192.0.2.1", 6443, policy)


@pytest.mark.parametrize(
    ("url", "address", "port"),
    [
        ("https://10.9.8.7:6443", "10.9.8.7", 6443),
        ("https://[fd00::7]", "fd00::7", 443),
        ("http://10.9.8.7/k8s", "10.9.8.7", 80),
        ("https://api.example:6443", "10.9.8.7", 6443),
    ],
)
def test_a_management_api_of_another_machine_is_refused(
    url: str, address: str, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.9.8.7", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    policy = AddressPolicy()
    policy.refuse_server(url)
    assert refused(address, port, policy)
    assert not refused(address, port + 1, policy)


def test_a_management_api_whose_name_has_no_address_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror("unknown")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    AddressPolicy().refuse_server("https://no-such-name.invalid:6443")
    assert "https://no-such-name.invalid:6443" in caplog.text


@pytest.mark.parametrize(
    ("entry", "allowed", "others"),
    [
        (
            "127.0.0.1:8006",
            [("127.0.0.1", 8006), ("::ffff:127.0.0.1", 8006)],
            [("127.0.0.1", 8007), ("127.0.0.2", 8006)],
        ),
        ("127.0.0.1", [("127.0.0.1", 1)], [("127.0.0.2", 1)]),
        ("127.0.0.0/8:80-81", [("127.9.9.9", 80), ("127.0.0.1", 81)], [("127.0.0.1", 82), ("::1", 80)]),
        ("[::1]:8006", [("::1", 8006)], [("::1", 8007)]),
        ("[fe80::]/10:1", [("fe80::1%lo", 1)], [("fe80::1", 2)]),
        ("::1", [("::1", 5)], [("127.0.0.1", 5)]),
        ("localhost:8006", [("127.0.0.1", 8006)], [("127.0.0.1", 8007)]),
    ],
)
def test_an_administrator_allows_endpoints(
    entry: str, allowed: list[tuple[str, int]], others: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    by_option = AddressPolicy()
    by_option.allow(parse(entry))
    monkeypatch.setenv(ENVIRONMENT, f" 10.0.0.1:1 , {entry}")
    for policy in (by_option, AddressPolicy()):
        assert not any(refused(*each, policy) for each in allowed)
        assert all(refused(*each, policy) for each in others)


@pytest.mark.parametrize(
    "entry",
    ["", ":80", "127.0.0.1:", "127.0.0.1:70000", "1.2.3.4:9-8", "1.2.3.4/33", "http://x", "a/8", "[::1", "256.1.1.1"],
)
def test_an_entry_that_says_nothing_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="is not HOST"):
        parse(entry)


def test_a_variable_that_cannot_be_read_allows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, "127.0.0.1:x")
    with pytest.raises(AddressRefused, match=f"{ENVIRONMENT}: '127.0.0.1:x' is not HOST"):
        AddressPolicy().check(("127.0.0.1", 1))


def test_what_a_process_publishes_is_allowed_while_it_does() -> None:
    publication = Publication()
    publication.add("127.0.0.1:8006")
    publication.add("127.0.0.10:6443")
    assert {each.stat().st_mode & 0o777 for each in (folder(), folder().parent)} == {0o700}
    assert not refused("127.0.0.1", 8006)
    assert not refused("127.0.0.10", 6443)
    assert refused("127.0.0.1", 6443)
    publication.remove("127.0.0.10:6443")
    publication.remove("127.0.0.11:6443")
    assert refused("127.0.0.10", 6443)
    publication.close()
    publication.close()
    assert refused("127.0.0.1", 8006)
    assert list(folder().iterdir()) == []


def test_what_a_process_published_that_is_gone_counts_for_nothing() -> None:
    program = (
        "import os, sys; from nagaya.allowed_endpoints import Publication; made = Publication(); "
        "made.add('127.0.0.1:8006'); print('on', flush=True); sys.stdin.read(); os._exit(1)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        assert list(published()) == ["127.0.0.1:8006"]
        assert not refused("127.0.0.1", 8006)
        process.kill()
    assert len(list(folder().iterdir())) == 1
    assert refused("127.0.0.1", 8006)
    Publication().add("127.0.0.1:9")  # the next one takes it away
    assert len(list(folder().iterdir())) == 1


@pytest.mark.parametrize("wrong", ["folder", "file", "link", "unlocked", "torn"])
def test_a_publication_that_others_could_have_written_counts_for_nothing(wrong: str, tmp_path: Path) -> None:
    folder().mkdir(parents=True, mode=0o700)
    path = folder() / "1-x"
    path.write_text("127.0.0.1:8006" if wrong == "torn" else "127.0.0.1:8006\n")
    path.chmod(0o600)
    if wrong == "link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    file = os.open(path, os.O_RDWR)
    if wrong != "unlocked":
        fcntl.flock(file, fcntl.LOCK_EX)
    if wrong == "folder":
        folder().chmod(0o777)
    if wrong == "file":
        path.chmod(0o666)
    assert list(published()) == []
    os.close(file)


def test_a_folder_that_cannot_be_written_is_told_and_harms_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder().parent.write_text("a file is in the way")
    made = Publication()
    made.add("127.0.0.1:8006")
    assert "NAGAYA_ALLOWED_ENDPOINTS=127.0.0.1:8006" in caplog.text
    made.close()


def test_a_user_without_a_home_publishes_nothing_and_needs_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    assert list(published()) == []
    made = Publication()
    made.add("127.0.0.1:8006")
    made.close()
    assert "NAGAYA_ALLOWED_ENDPOINTS=127.0.0.1:8006" in caplog.text


@asynccontextmanager
async def listening(answer: bytes = b"") -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server on loopback that must hear nothing."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(b"")
        heard.append(await reader.read(1 << 16))
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, ["127.0.0.1"], 0)
    try:
        yield server.sockets[0].getsockname()[1], heard
    finally:
        server.close()


REFUSED = "may not lead there|is not a canonical IPv4 address"
"""What the policy says, and what the HTTP library says of what the system would take for an address."""
SPELLINGS = ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "[::ffff:127.0.0.1]"]


def kubeconfig(server: str, **cluster: Any) -> bytes:
    import json

    return json.dumps(
        {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": server, "insecure-skip-tls-verify": True, **cluster}}],
            "users": [{"name": "u", "user": {"token": "secret"}}],
        }
    ).encode()


@pytest.mark.parametrize("host", SPELLINGS)
async def test_no_spelling_of_loopback_is_connected_to(host: str) -> None:
    async with listening() as (port, heard):
        proxmox = ProxmoxTransport()
        with pytest.raises(NotSent, match=REFUSED):
            await proxmox.send(endpoint(f"https://{host}:{port}"), Trust(insecure=True), Request("GET", "/api2/json"))
        await proxmox.close()
        with pytest.raises(OSError, match=REFUSED):
            await greeted(endpoint(f"https://{host}:{port}"), Trust(insecure=True))
        for scheme in ("https", "http"):
            tenant = parse_text(kubeconfig(f"{scheme}://{host}:{port}"))
            way = HttpTransport(tenant, world=World())
            with pytest.raises(NoAnswer, match=REFUSED):
                await way.send(Call("GET", "/"))
            await way.close()
            with pytest.raises(Unreachable, match=REFUSED):
                await PortForward(tenant, world=World()).dial("kube-system", "etcd", 2379)
        assert heard == []


async def test_a_name_that_resolves_differently_the_second_time_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening() as (port, heard):
        loop = asyncio.get_running_loop()
        answers = iter(["192.0.2.1"])

        async def resolve(host: str, port: int, **_: Any) -> list[Any]:
            address = next(answers, "127.0.0.1")
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        monkeypatch.setattr(loop, "getaddrinfo", resolve)
        connected: Callable[..., Any] = loop.sock_connect

        async def connect(sock: socket.socket, where: Any) -> None:
            if where[0] == "192.0.2.1":
                raise ConnectionRefusedError(111, "Connection refused")
            await connected(sock, where)

        monkeypatch.setattr(loop, "sock_connect", connect)
        for why in ("refused", "may not lead there"):
            way = HttpTransport(parse_text(kubeconfig(f"http://rebinding.example:{port}")), world=World())
            with pytest.raises(Unreachable, match=why):
                await way.send(Call("GET", "/"))
            await way.close()
        assert heard == []


async def test_neither_redirects_nor_proxies_lead_anywhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening() as (port, heard):
        for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        for scheme in ("http", "https"):
            tenant = parse_text(kubeconfig(f"{scheme}://127.0.0.2:1"))
            way = HttpTransport(tenant, world=World())
            with pytest.raises(Unreachable, match="may not lead there"):
                await way.send(Call("GET", "/"))
            await way.close()
            with pytest.raises(Unreachable, match="may not lead there"):
                await PortForward(tenant, world=World()).dial("kube-system", "etcd", 2379)
        location = f"http://127.0.0.1:{port}/"
        redirect = f"HTTP/1.1 307 X\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        async with listening(redirect) as (first, _):
            monkeypatch.setenv(ENVIRONMENT, f"127.0.0.1:{first}")
            way = HttpTransport(parse_text(kubeconfig(f"http://127.0.0.1:{first}")), world=World())
            assert (await way.send(Call("GET", "/"))).status == 307
            await way.close()
        assert heard == []


def test_a_kubeconfig_of_a_secret_names_no_proxy() -> None:
    with pytest.raises(KubeconfigError, match=r"proxy-url: .* may name no proxy"):
        parse_text(kubeconfig("https://10.0.0.1:6443", **{"proxy-url": "http://127.0.0.1:3128"}))


async def test_what_is_allowed_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
    async with listening(answer) as (port, heard):
        monkeypatch.setenv(ENVIRONMENT, f"localhost:{port}")
        way = HttpTransport(parse_text(kubeconfig(f"http://localhost:{port}")), world=World())
        assert (await way.send(Call("GET", "/"))).status == 200
        await way.close()
        assert b"authorization: Bearer secret" in heard[1].lower().replace(b"bearer", b"Bearer")
