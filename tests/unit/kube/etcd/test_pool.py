from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nagaya.kube.errors import NotFound
from nagaya.kube.etcd.client import EtcdClient, client_tls
from nagaya.kube.etcd.errors import ConnectionLost, NoLeader
from nagaya.kube.etcd.pool import EtcdPool, NoMember
from nagaya.kube.streams.forward import ForwardFailed
from nagaya.kube.streams.stream import Stream
from nagaya.kube.streams.tcp import TcpStream
from nagaya.kube.transport import Call
from nagaya.wire.etcd.cluster import Member, MembersResponse
from nagaya.wire.etcd.header import ResponseHeader
from nagaya.wire.etcd.maintenance import StatusResponse
from support.grpc_server import GrpcServer
from support.real_certificates import Authority

AUTHORITY = Authority("etcd-ca")
IDS = {"a": 1, "b": 2**64 - 1, "c": 3}


class Pods:
    """Members in pods, each served over TLS on loopback."""

    def __init__(self, leader: str) -> None:
        self.leader = leader
        self.dialed: list[str] = []
        self.ports: dict[str, int] = {}
        self.open = 0
        self.broken: dict[str, Exception] = {}

    async def dial(self, namespace: str, name: str, port: int) -> Stream:
        assert (namespace, port) == ("kube-system", 2379)
        self.dialed.append(name)
        if name in self.broken:
            raise self.broken[name]
        if name not in self.ports:
            raise NotFound(Call("POST", "/portforward"), 404, {"message": f'pods "{name}" not found'})
        return await TcpStream.connect("127.0.0.1", self.ports[name])

    async def handle(self, node: str, server: GrpcServer, stream: int, path: str) -> None:
        if path.endswith("MemberList"):
            members = tuple(Member(id=number, name=name) for name, number in IDS.items())
            await server.answer(stream, MembersResponse(members=members))
        else:
            leader = IDS.get(self.leader, 0)
            await server.answer(stream, StatusResponse(ResponseHeader(member_id=IDS[node]), leader=leader))


@asynccontextmanager
async def pods(context: ssl.SSLContext, leader: str = "b") -> AsyncIterator[Pods]:
    made = Pods(leader)
    listeners = []
    for node in ("a", "b"):

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, node: str = node) -> None:
            made.open += 1

            async def handle(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
                await made.handle(node, server, stream, path)

            await GrpcServer(TcpStream(reader, writer, "client"), handle).serve()
            made.open -= 1

        listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        listeners.append(listener)
        made.ports[f"etcd-{node}"] = listener.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        for listener in listeners:
            listener.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    pair = AUTHORITY.server("etcd", ("127.0.0.1",))
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    file.write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=AUTHORITY.pair.certificate.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(file)
    return context


def trust() -> ssl.SSLContext:
    client = AUTHORITY.client("root")
    return client_tls(AUTHORITY.pair.certificate, client.certificate, client.key, check_name=False)


async def test_the_first_member_that_answers_is_taken(served: ssl.SSLContext) -> None:
    async with pods(served) as made:
        made.broken["etcd-a"] = ForwardFailed("kube-system/etcd-a", 2379, "connection refused")
        pool = EtcdPool(made, trust())
        async with await pool.first_available(["gone", "a", "b"]) as reached:
            assert (reached.node, reached.leads, reached.status.leader) == ("b", True, 2**64 - 1)
        assert made.dialed == ["etcd-gone", "etcd-a", "etcd-b"]


async def test_if_none_answers_each_says_why(served: ssl.SSLContext) -> None:
    async with pods(served) as made:
        made.broken["etcd-a"] = ForwardFailed("kube-system/etcd-a", 2379, "connection refused")
        with pytest.raises(NoMember, match=r"gone: .*not found.*; a: .*connection refused") as caught:
            await EtcdPool(made, trust()).first_available(["gone", "a"])
        assert [node for node, _ in caught.value.failures] == ["gone", "a"]
        with pytest.raises(ValueError, match="no nodes"):
            await EtcdPool(made, trust()).first_available([])


async def test_the_leader_is_found_through_any_member(served: ssl.SSLContext) -> None:
    async with pods(served) as made:
        async with await EtcdPool(made, trust()).leader(["a", "b"]) as leader:
            assert (leader.node, leader.leads) == ("b", True)
        assert made.dialed == ["etcd-a", "etcd-b"]
        made.leader = "c"
        with pytest.raises(NoLeader, match="on c, which is not among the nodes"):
            await EtcdPool(made, trust()).leader(["a", "b"])
        made.leader = ""
        with pytest.raises(NoLeader, match="known to nobody"):
            await EtcdPool(made, trust()).leader(["a", "b"])


async def test_members_of_another_authority_are_not_talked_to(served: ssl.SSLContext) -> None:
    other = Authority("etcd-ca")
    client = other.client("root")
    context = client_tls(other.pair.certificate, client.certificate, client.key, check_name=False)
    async with pods(served) as made:
        with pytest.raises(NoMember, match="not trusted"):
            await EtcdPool(made, context).first_available(["a"])


async def test_a_dialer_that_hangs_is_given_up(served: ssl.SSLContext) -> None:
    class Hanging(Pods):
        async def dial(self, namespace: str, name: str, port: int) -> Stream:
            await asyncio.Event().wait()
            raise AssertionError

    with pytest.raises(ConnectionLost, match=r"no connection to etcd-a within 0\.05 s"):
        await EtcdPool(Hanging("a"), trust(), dial_timeout=0.05).member("a")


async def test_endpoints_on_the_network(served: ssl.SSLContext) -> None:
    async with pods(served) as made:
        client = AUTHORITY.client("root")
        context = client_tls(AUTHORITY.pair.certificate, client.certificate, client.key, check_name=True)
        async with await EtcdClient.connect(f"https://127.0.0.1:{made.ports['etcd-a']}", context) as asked:
            assert len(await asked.cluster.members()) == 3
        with pytest.raises(ConnectionLost, match="Hostname mismatch"):
            await EtcdClient.connect(f"https://localhost:{made.ports['etcd-a']}", context)
    for endpoint, tls in (("http://127.0.0.1:1", context), ("https://127.0.0.1:1", None), ("127.0.0.1:1", context)):
        with pytest.raises(ValueError, match="an endpoint of etcd is"):
            await EtcdClient.connect(endpoint, tls)
    with pytest.raises(ConnectionLost, match="cannot be reached"):
        await EtcdClient.connect("http://127.0.0.1:1")
