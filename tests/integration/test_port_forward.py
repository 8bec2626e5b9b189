"""Ports of pods through the embedded server: kubectl port-forward, unmodified, in both of its forms, and our client."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import yaml

from integration.conftest import Tool, _installed
from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.streams.byte_stream import ByteStream
from nagaya.apiserver.streams.forwarder import PodPorts
from nagaya.kube.errors import ApiError, BadRequest, Forbidden, NotFound
from nagaya.kube.etcd.client import EtcdClient, client_tls
from nagaya.kube.etcd.errors import EtcdError
from nagaya.kube.etcd.pool import EtcdPool, NoMember
from nagaya.kube.kubeconfig import parse_text
from nagaya.kube.streams.forward import ForwardFailed
from nagaya.kube.streams.port_forward import PortForward
from nagaya.kube.streams.stream import StreamBroken
from nagaya.pki import kubeconfig
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.key_pair import KeyPair
from nagaya.simulators.tenant.joining import JoinDelayed
from nagaya.simulators.tenant.settings import NodeSettings, TenantSettings, Timing
from nagaya.simulators.tenant.tenant import Tenant
from nagaya.world import World
from support.tenant_etcd import first, further, pool

QUICK = Timing(node_ready=0.05, pod_start=0.05, static_pod_start=0.05, etcd_catch_up=0.05)
PATIENCE = 120.0
FORMS = {"WebSocket": "true", "SPDY": "false"}


class Shouting:
    """Port 80 says everything again, louder; nobody is at the others."""

    async def serve(self, port: int, stream: ByteStream) -> None:
        if port != 80:
            raise ConnectionRefusedError("nobody is there")
        while data := await stream.read():
            await stream.write(data.upper())
        await stream.write(b"THE END")


async def shouting(namespace: str, name: str) -> PodPorts:
    if name == "away":
        raise OSError("dial tcp 172.16.0.9:10250: connect: no route to host")
    return Shouting()


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    made = await ApiServer.start(Config(forwarder=shouting))
    await made.listen()
    try:
        yield made
    finally:
        await made.stop()


@pytest.fixture
async def kubectl(server: ApiServer, tool_home: Path, tmp_path: Path) -> Tool:
    return await prepared(server, tool_home, tmp_path)


async def prepared(server: ApiServer, tool_home: Path, tmp_path: Path) -> Tool:
    """kubectl for a server that has pods."""
    path = tmp_path / "kubeconfig"
    kubeconfig.write(server.kubeconfig(), path)
    tool = Tool(_installed("kubectl"), tool_home, path, "default")
    for name, node in (("loud", "n1"), ("away", "n2"), ("homeless", "")):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "busybox"}], **({"nodeName": node} if node else {})},
        }
        await asyncio.to_thread(tool, "create", "-f", "-", input=json.dumps(pod))
        running = ("patch", "pod", name, "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Running"}}')
        await asyncio.to_thread(tool, *running)
    return tool


@asynccontextmanager
async def forwarded(tool: Tool, form: str, *arguments: str) -> AsyncIterator[tuple[int, asyncio.subprocess.Process]]:
    """The local port, and the program that has it."""
    environment = tool.variables({"KUBECTL_PORT_FORWARD_WEBSOCKETS": FORMS[form]})
    process = await asyncio.create_subprocess_exec(
        tool.program,
        "port-forward",
        "--address=127.0.0.1",
        *arguments,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE):
            line = (await process.stdout.readline()).decode()
        found = re.search(r"127\.0\.0\.1:(\d+) ->", line)
        assert found is not None, line
        yield int(found[1]), process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest.mark.parametrize("form", FORMS)
async def test_kubectl_forwards_a_port(kubectl: Tool, form: str) -> None:
    async with forwarded(kubectl, form, "pod/loud", ":80") as (port, _), asyncio.timeout(PATIENCE):
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            text = b"abc" * 200_000
            writer.write(text)
            assert await reader.readexactly(len(text)) == text.upper()
            writer.write_eof()
            assert await reader.read() == b"THE END"
            writer.close()


@pytest.mark.parametrize("form", FORMS)
async def test_kubectl_says_why_a_port_cannot_be_had(kubectl: Tool, form: str) -> None:
    async with forwarded(kubectl, form, "pod/loud", ":81") as (port, process), asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()
        assert process.stdout is not None
        said = (await process.stdout.read()).decode()
        assert "error forwarding port 81 to pod loud_default" in said
        assert "nobody is there" in said


def client(server: ApiServer, user: str = "", *, spdy: bool) -> PortForward:
    """Our client, as the administrator or as somebody who may not."""
    config = server.kubeconfig()
    if user:
        certificate, key = server.identity.authority.issue_pair(CertificateSpec(user), server.world.clock)
        pair = KeyPair.of(certificate, key)
        proof = kubeconfig.ClientCertificate(pair.certificate, pair.key)
        config = kubeconfig.build(server.url, server.identity.authority.certificate_pem, proof)
    made = PortForward(parse_text(yaml.safe_dump(config).encode(), source="a test"), world=server.world)
    made._only_spdy = spdy
    return made


@pytest.mark.parametrize("spdy", [False, True])
async def test_many_connections_share_a_session(server: ApiServer, kubectl: Tool, spdy: bool) -> None:
    session = await client(server, spdy=spdy).session("default", "loud")
    streams = [await session.connect(80) for _ in range(5)]
    refused = await session.connect(7)
    for number, stream in enumerate(streams):
        await stream.write(f"hello {number}".encode())
    for number, stream in enumerate(streams):
        assert await stream.read() == f"HELLO {number}".encode()
    with pytest.raises(ForwardFailed, match="nobody is there"):
        await refused.read()
    await streams[0].close()
    await streams[1].write(b"still here")
    assert await streams[1].read() == b"STILL HERE"
    await session.close()


async def test_who_may_not_and_what_is_not_there_is_refused(server: ApiServer, kubectl: Tool) -> None:
    with pytest.raises(Forbidden, match="cannot create resource"):
        await client(server, "nobody", spdy=False).dial("default", "loud", 80)
    with pytest.raises(NotFound, match='pods "quiet" not found'):
        await client(server, spdy=False).dial("default", "quiet", 80)
    with pytest.raises(BadRequest, match="pod homeless does not have a host assigned"):
        await client(server, spdy=False).dial("default", "homeless", 80)
    with pytest.raises(ApiError, match=r"error dialing backend: dial tcp .*: no route to host"):
        await client(server, spdy=False).dial("default", "away", 80)
    said = await asyncio.to_thread(kubectl.fails, "get", "--raw", "/api/v1/namespaces/default/pods/loud/portforward")
    assert "Upgrade request required" in said


async def test_streams_end_with_the_server(server: ApiServer, kubectl: Tool) -> None:
    stream = await client(server, spdy=False).dial("default", "loud", 80)
    await stream.write(b"a")
    assert await stream.read() == b"A"
    async with asyncio.timeout(PATIENCE):
        await server.stop()
        with pytest.raises(StreamBroken):
            await stream.read()
    await stream.close()


async def test_a_server_without_a_forwarder_has_no_such_subresource(tool_home: Path, tmp_path: Path) -> None:
    server = await ApiServer.start(Config())
    await server.listen()
    try:
        tool = await prepared(server, tool_home, tmp_path)
        assert "pods/portforward" not in await asyncio.to_thread(tool, "get", "--raw", "/api/v1")
        with pytest.raises(NotFound, match="could not find the requested resource"):
            await client(server, spdy=False).dial("default", "loud", 80)
    finally:
        await server.stop()


@pytest.fixture
async def etcd() -> CertificateAuthority:
    return CertificateAuthority.create("etcd-ca", World().clock)


async def _joined(tenant: Tenant, node: NodeSettings, authority: CertificateAuthority, voters: int) -> None:
    """Have a machine join, and wait until its etcd answers, and knows so many members that vote."""
    members = pool(tenant, authority, World().clock)

    async def votes() -> bool:
        try:
            await tenant.join(node)
            async with await members.member(node.name) as asked:
                return [each.is_learner for each in await asked.client.cluster.members()] == [False] * voters
        except (JoinDelayed, NoMember, EtcdError, ForwardFailed, StreamBroken, ApiError):
            return False

    async with asyncio.timeout(PATIENCE):
        while True:
            if await votes():
                return
            await asyncio.sleep(0.05)


@pytest.fixture
async def tenant(etcd: CertificateAuthority) -> AsyncIterator[Tenant]:
    """A simulated cluster with two control plane machines."""
    world = World()
    authority = CertificateAuthority.create("kubernetes", world.clock)
    made = await Tenant.start(TenantSettings("forwarded", authority, timing=QUICK), world)
    try:
        await _joined(made, first("cp-1", etcd), etcd, 1)
        await _joined(made, further("cp-2", etcd), etcd, 2)
        yield made
    finally:
        await made.stop()


@pytest.mark.parametrize("form", FORMS)
async def test_the_etcd_of_a_simulated_cluster_is_reached_by_kubectl_port_forward(
    tenant: Tenant, etcd: CertificateAuthority, form: str, tool_home: Path, tmp_path: Path
) -> None:
    path = tmp_path / "kubeconfig"
    kubeconfig.write(tenant.kubeconfig(), path)
    tool = Tool(_installed("kubectl"), tool_home, path, "kube-system")
    certificate, key = etcd.issue_pair(CertificateSpec("kube-apiserver-etcd-client"), World().clock)
    pair = KeyPair.of(certificate, key)
    # The name is checked here, too: members show certificates for localhost.
    context = client_tls(etcd.certificate_pem, pair.certificate, pair.key, check_name=True)
    async with (
        forwarded(tool, form, "-n", "kube-system", "pod/etcd-cp-2", ":2379") as (port, _),
        asyncio.timeout(PATIENCE),
        await EtcdClient.connect(f"https://127.0.0.1:{port}", context) as asked,
    ):
        assert sorted(each.name for each in await asked.cluster.members()) == ["cp-1", "cp-2"]


async def test_the_etcd_of_a_simulated_cluster_is_reached_over_the_network(
    tenant: Tenant, etcd: CertificateAuthority
) -> None:
    certificate, key = etcd.issue_pair(CertificateSpec("kube-apiserver-etcd-client"), World().clock)
    pair = KeyPair.of(certificate, key)
    context = client_tls(etcd.certificate_pem, pair.certificate, pair.key, check_name=False)
    connection = parse_text(yaml.safe_dump(tenant.kubeconfig()).encode(), source="a test")
    members = EtcdPool(PortForward(connection, world=World()), context)
    async with await members.leader(["cp-2", "cp-1"]) as leader:
        assert leader.node == "cp-1"
        await leader.client.maintenance.move_leader(
            next(each.id for each in await leader.client.cluster.members() if each.name == "cp-2")
        )
    async with await members.leader(["cp-1", "cp-2"]) as leader:
        assert leader.node == "cp-2"
