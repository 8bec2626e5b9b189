"""Ports of pods through real API servers, and the etcd behind them as the control plane provider reaches it.

Behind the real kube-apiserver stands Kubernetes' own streaming library in the place of a kubelet. Upstream's in-memory
provider has a fake API server with a fake etcd, which upstream's own control plane provider talks to the same way.
"""

from __future__ import annotations

import asyncio
import base64
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from nagaya.kube import kubeconfig
from nagaya.kube.connection import Connection
from nagaya.kube.errors import Forbidden, NotFound, ServerError
from nagaya.kube.etcd.client import client_tls
from nagaya.kube.etcd.pool import EtcdPool, NoMember
from nagaya.kube.streams.forward import ForwardFailed
from nagaya.kube.streams.port_forward import PortForward
from nagaya.kube.streams.stream import Stream
from nagaya.kube.transport import Unreachable
from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.world import SystemClock, World
from support.etcd_cluster import EtcdCluster
from support.go_program import KUBELET_PORTS, find_program
from support.manifests.dev_cluster import CLUSTER_GROUP, DevCluster
from support.ports import free_ports
from support.real import CONTROLLERS, RealControlPlane, installed_binaries
from support.real_processes import Processes
from support.thoroughness import exhaustive
from support.upstream import UpstreamManagers
from support.upstream_client import Client, condition

STEP = 200.0


@pytest.fixture(scope="module")
def kubelet() -> Path:
    """The stand-in for a kubelet, built with the versions that go.sum pins."""
    return find_program(KUBELET_PORTS)


@pytest.fixture(scope="module")
def plane() -> Iterator[RealControlPlane]:
    with RealControlPlane(installed_binaries(), controllers=CONTROLLERS) as plane:
        yield plane


@pytest.fixture(scope="module")
def pod(plane: RealControlPlane, kubelet: Path) -> Iterator[str]:
    """A pod of kube-system on a node whose kubelet is the stand-in; its ports are those of loopback."""
    (port,) = free_ports(1)
    processes = Processes("nagaya-kubelet-")
    client = Client(plane)
    try:
        files = [f"-certificate={plane.folder / 'server.crt'}", f"-key={plane.folder / 'server.key'}"]
        processes.start("kubelet", [kubelet, f"-address=127.0.0.1:{port}", *files])
        client.until("the stand-in listens", lambda: "ready" in processes.log("kubelet").read_text())
        client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}})
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        client.patch("/api/v1/nodes/node/status", {"status": status})
        spec = {"nodeName": "node", "containers": [{"name": "etcd", "image": "etcd"}]}
        metadata = {"name": "etcd-m0", "namespace": "kube-system"}
        client.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        yield "etcd-m0"
    finally:
        client.close()
        processes.close()


@pytest.fixture(params=["WebSocket", "SPDY"])
def forward(request: pytest.FixtureRequest, plane: RealControlPlane) -> PortForward:
    made = PortForward(kubeconfig.load(plane.kubeconfig), world=World(), environment={})
    made._only_spdy = request.param == "SPDY"
    return made


@dataclass
class Echo:
    """Sends back what it gets, and ends when the other side does."""

    port: int = 0
    serving: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.serving.add(current := cast("asyncio.Task[None]", asyncio.current_task()))
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
            self.serving.discard(current)


@asynccontextmanager
async def echoing() -> AsyncIterator[Echo]:
    echo = Echo()
    server = await asyncio.start_server(echo.serve, "127.0.0.1", 0)
    echo.port = server.sockets[0].getsockname()[1]
    try:
        yield echo
    finally:
        server.close()
        # The stand-in notices the end of a session a moment after it.
        if echo.serving:
            await asyncio.wait(echo.serving, timeout=60)


async def everything(stream: Stream) -> bytes:
    parts = []
    while data := await stream.read():
        parts.append(data)
    return b"".join(parts)


@pytest.mark.long("starts the real API server that its file shares")
async def test_megabytes_pass_in_both_directions_and_each_ends_by_itself(forward: PortForward, pod: str) -> None:
    data = random.Random(1).randbytes(3_000_000)
    async with echoing() as echo, asyncio.timeout(120):
        stream = await forward.dial("kube-system", pod, echo.port)

        async def send() -> None:
            await stream.write(data)
            await stream.write_eof()

        sending = asyncio.create_task(send())
        assert await everything(stream) == data
        await sending
        await stream.close()


async def test_many_connections_share_a_session(forward: PortForward, pod: str) -> None:
    async with echoing() as echo, asyncio.timeout(120):
        session = await forward.session("kube-system", pod)
        streams = await asyncio.gather(*(session.connect(echo.port) for _ in range(20)))
        for number, stream in enumerate(streams):
            await stream.write(b"%d" % number)
        assert [await stream.read() for stream in streams] == [b"%d" % number for number in range(20)]
        await streams[0].close()
        await streams[1].write(b"still here")
        assert await streams[1].read() == b"still here"
        await session.close()


async def test_a_port_where_nobody_listens_fails_with_the_nodes_words(forward: PortForward, pod: str) -> None:
    async with asyncio.timeout(120):
        stream = await forward.dial("kube-system", pod, 1)
        with pytest.raises(ForwardFailed, match="connection refused") as caught:
            await everything(stream)
        with pytest.raises(ForwardFailed, match="connection refused"):
            await stream.write(b"x")
        assert caught.value.words.startswith("error forwarding port 1 to pod etcd-m0")
        await stream.close()


async def test_refusals_of_the_api_server_are_what_they_are_for_every_call(
    forward: PortForward, plane: RealControlPlane, pod: str
) -> None:
    with pytest.raises(NotFound, match='pods "nobody" not found'):
        await forward.dial("kube-system", "nobody", 1)
    admin = kubeconfig.load(plane.kubeconfig)
    bob = replace(admin, certificate=None, key=None, token=plane.tokens["bob"])
    with pytest.raises(Forbidden, match='User "bob" cannot create resource "pods/portforward"'):
        await PortForward(bob, world=World(), environment={}).dial("kube-system", pod, 1)


async def test_a_node_without_an_address_is_the_servers_failure(plane: RealControlPlane, pod: str) -> None:
    client = Client(plane)
    spec = {"nodeName": "elsewhere", "containers": [{"name": "c", "image": "i"}]}
    metadata = {"name": "lost", "namespace": "kube-system"}
    client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "elsewhere"}})
    client.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    client.close()
    forward = PortForward(kubeconfig.load(plane.kubeconfig), world=World(), environment={})
    with pytest.raises(ServerError, match="no preferred addresses found"):
        await forward.dial("kube-system", "lost", 1)


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    (port,) = free_ports(1)
    forward = PortForward(Connection(f"https://127.0.0.1:{port}"), world=World(), environment={})
    with pytest.raises(Unreachable, match="cannot be reached"):
        await forward.dial("kube-system", "etcd-m0", 1)


async def test_a_real_etcd_is_reached_through_the_real_api_server(forward: PortForward, pod: str) -> None:
    with EtcdCluster(1) as etcd:
        place = etcd.place("m0")
        pool = EtcdPool(forward, etcd.tls(check_name=False), port=place.client_port)
        async with await pool.first_available(["gone", "m0"]) as reached:
            assert (reached.node, reached.leads) == ("m0", True)
            assert [member.name for member in await reached.client.cluster.members()] == ["m0"]
            large = random.Random(2).randbytes(1_200_000)
            await reached.client.kv.put(b"large", large)
            found = await reached.client.kv.get(b"large")
            assert found is not None
            assert found.value == large
        with pytest.raises(NoMember, match='pods "etcd-gone" not found'):
            await pool.first_available(["gone"])


def etcd_client_tls(client: Client, cluster: DevCluster) -> tuple[bytes, bytes, bytes]:
    """The authority of a cluster's etcd, and a client certificate made with its key, as upstream makes one."""
    secret = client.get(f"/api/v1/namespaces/{cluster.namespace}/secrets/{cluster.name}-etcd")["data"]
    authority_pem, key_pem = (base64.b64decode(secret[name]) for name in ("tls.crt", "tls.key"))
    authority = CertificateAuthority.load(authority_pem, key_pem)
    issued, key = authority.issue_pair(CertificateSpec("cluster-api"), SystemClock())
    return authority_pem, certificates.to_pem(issued), keys.to_pem(key)


@pytest.mark.filterwarnings("ignore:Parsed a serial number")  # upstream's authorities have number 0
@exhaustive
async def test_upstreams_fake_etcd_answers_like_a_real_one(plane: RealControlPlane, tmp_path: Path) -> None:
    cluster = DevCluster("forwarded", "default", control_planes=3, workers=0)
    with UpstreamManagers(plane, logs=tmp_path) as managers:
        client = managers.client
        for manifest in cluster.manifests():
            client.create(manifest)
        where = f"/apis/{CLUSTER_GROUP}/v1beta2/namespaces/default/machines"

        def nodes() -> list[str]:
            machines = client.items(where)
            ready = [each for each in machines if condition(each, "Ready") == "True"]
            return sorted(each["status"]["nodeRef"]["name"] for each in ready)

        client.until("three machines are ready", lambda: len(nodes()) == 3, 2 * STEP)
        secret = client.get("/api/v1/namespaces/default/secrets/forwarded-kubeconfig")["data"]["value"]
        connection = kubeconfig.parse_text(base64.b64decode(secret).decode())
        context = client_tls(*etcd_client_tls(client, cluster), check_name=False)
        pool = EtcdPool(PortForward(connection, world=World(), environment={}), context)
        async with await pool.leader(nodes()) as leader:
            members = await leader.client.cluster.members()
            assert sorted(member.name for member in members) == nodes()
            assert await leader.client.maintenance.alarms() == ()
            heir = next(member for member in members if member.name != leader.node)
            await leader.client.maintenance.move_leader(heir.id)
        async with await pool.leader(nodes()) as leader:
            assert leader.node == heir.name
        client.delete(f"/apis/{CLUSTER_GROUP}/v1beta2/namespaces/default/clusters/forwarded")
        client.until("the Cluster is gone", lambda: not client.items(where.replace("machines", "clusters")), STEP)
