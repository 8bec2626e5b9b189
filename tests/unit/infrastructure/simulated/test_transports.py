"""Who is let in to a simulated cluster of this process, and who is sent over the network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.infrastructure.simulated.tenants import AddressTaken, Tenants
from nagaya.infrastructure.simulated.transports import TenantTransport, connector
from nagaya.kube.connection import Connection
from nagaya.kube.key import Key
from nagaya.kube.transport import AnswerLost, Call, NoCredentials, Transport, Unreachable
from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.usages import Usage
from nagaya.simulators.tenant.door import Way
from nagaya.simulators.tenant.settings import NodeSettings, TenantSettings
from nagaya.world import World

pytestmark = pytest.mark.slow

WORLD = World()
OURS = CertificateAuthority.create("kubernetes", WORLD.clock)
OTHERS = CertificateAuthority.create("kubernetes", WORLD.clock)
KEY = Key("fleet", "harbour")
ENDPOINT = Endpoint(host="127.0.0.1", port=20001)
NODES = Call("GET", "/api/v1/nodes", timeout=60)


class Elsewhere(Exception):
    """The call would go over the network."""


def over_the_network(connection: Connection) -> Transport:
    raise Elsewhere(connection.server)


def connection(
    issuer: CertificateAuthority = OURS, usage: Usage = Usage.CLIENT_AUTH, server: str = "https://127.0.0.1:20001"
) -> Connection:
    spec = CertificateSpec("kubernetes-admin", ("system:masters",), (usage,))
    certificate, key = issuer.issue_pair(spec, WORLD.clock)
    return Connection(server, OURS.certificate_pem, certificates.to_pem(certificate), keys.to_pem(key))


@pytest.fixture
async def tenants() -> AsyncIterator[Tenants]:
    made = Tenants(WORLD, listen=False)
    tenancy = made.announce(KEY, ENDPOINT)
    await tenancy.start(TenantSettings("harbour", OURS, listen=False), WORLD)
    await tenancy.join("u", NodeSettings("cp", control_plane=True))
    yield made
    await made.close()


async def test_the_administrator_is_let_in_without_a_network(tenants: Tenants) -> None:
    transport = connector(tenants, over_the_network)(connection())
    answer = await transport.send(NODES)
    assert [each["metadata"]["name"] for each in json.loads(answer.body)["items"]] == ["cp"]


async def test_others_go_over_the_network(tenants: Tenants) -> None:
    connect = connector(tenants, over_the_network)
    with pytest.raises(Elsewhere):
        connect(connection(server="https://127.0.0.1:20002"))
    with pytest.raises(Elsewhere):
        connect(Connection("https://127.0.0.1:20001", OURS.certificate_pem, username="u", password="p"))


async def test_a_certificate_proves_something_only_if_it_is_the_clusters(tenants: Tenants) -> None:
    connect = connector(tenants, over_the_network)
    with pytest.raises(NoCredentials, match="not issued by the authority"):
        await connect(connection(OTHERS)).send(NODES)
    with pytest.raises(NoCredentials, match="not for clients"):
        await connect(connection(usage=Usage.SERVER_AUTH)).send(NODES)
    stolen = connection()
    without_key = Connection(stolen.server, stolen.authority, stolen.certificate, connection().key)
    with pytest.raises(NoCredentials, match="private key"):
        await connect(without_key).send(NODES)


async def test_a_cluster_with_another_authority_is_not_the_one_that_was_meant(tenants: Tenants) -> None:
    mine = connection()
    mistaken = Connection(mine.server, OTHERS.certificate_pem, mine.certificate, mine.key)
    with pytest.raises(Unreachable, match="another authority"):
        await connector(tenants, over_the_network)(mistaken).send(NODES)


async def test_nobody_without_credentials_sees_anything(tenants: Tenants) -> None:
    nobody = Connection("https://127.0.0.1:20001", OURS.certificate_pem)
    assert (await connector(tenants, over_the_network)(nobody).send(NODES)).status == 403
    with_bad_token = Connection("https://127.0.0.1:20001", OURS.certificate_pem, token="x")
    assert (await connector(tenants, over_the_network)(with_bad_token).send(NODES)).status == 401


async def test_an_api_that_is_ordered_to_hang_or_refuse_does(tenants: Tenants) -> None:
    transport = connector(tenants, over_the_network)(connection())
    tenancy = tenants.tenancy(KEY)
    assert tenancy is not None
    await tenancy.order(Way.REFUSING)
    with pytest.raises(Unreachable):
        await transport.send(NODES)
    await tenancy.order(Way.HANGING)
    with pytest.raises(AnswerLost):
        await transport.send(Call("GET", "/api/v1/nodes", timeout=0.01))
    await tenancy.order(Way.OPEN)
    assert (await transport.send(NODES)).status == 200


async def test_a_watch_is_broken_off_with_the_api(tenants: Tenants) -> None:
    transport = connector(tenants, over_the_network)(connection())
    tenancy = tenants.tenancy(KEY)
    assert tenancy is not None
    async with transport.stream(Call("GET", "/api/v1/nodes", {"watch": "true"})) as answer:
        chunks = aiter(answer)
        assert json.loads(await anext(chunks))["object"]["metadata"]["name"] == "cp"
        await tenancy.order(Way.REFUSING)
        with pytest.raises(AnswerLost, match="broken off"):
            await anext(chunks)


async def test_a_cluster_that_does_not_run_yet_is_waited_for_at_its_address() -> None:
    tenants = Tenants(WORLD, listen=False)
    told: list[Key] = []
    tenants.subscribe(told.append)
    tenancy = tenants.announce(KEY, ENDPOINT)
    transport = connector(tenants, over_the_network)(connection())
    assert isinstance(transport, TenantTransport)
    with pytest.raises(Unreachable, match="does not run"):
        await transport.send(NODES)
    with pytest.raises(AddressTaken, match="fleet/harbour"):
        tenants.announce(Key("fleet", "other"), ENDPOINT)
    settings = TenantSettings("harbour", OURS, listen=False)
    await asyncio.gather(tenancy.start(settings, WORLD), tenancy.start(settings, WORLD))
    await tenancy.join("u", NodeSettings("cp", control_plane=True))
    assert (await transport.send(NODES)).status == 200
    assert told == [KEY, KEY]
    await tenants.stop(KEY)
    with pytest.raises(Unreachable, match="does not run"):
        await transport.send(NODES)
    with pytest.raises(LookupError, match="deleted"):
        await tenancy.start(settings, WORLD)
    await tenants.close()
