"""Authorities and kubeconfigs on a server: made once, remembered, shared with whoever was first."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.cluster.secrets import TYPE, Purpose, new_secret
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.clusters.certificates.apply import apply, apply_kubeconfig
from nagaya.clusters.certificates.held import CLUSTER_SECRETS, ClusterSecret
from nagaya.clusters.certificates.kubeconfig import read
from nagaya.clusters.certificates.kubeconfig_plan import KubeconfigSeen, plan_kubeconfig
from nagaya.clusters.certificates.plan import Plan, Verdict, plan
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.clusters.certificates.seen import AuthoritiesSeen, observe, observe_kubeconfig, observe_trust
from nagaya.clusters.certificates.wanted import Wanted
from nagaya.kube.api import Api
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.key import Key
from nagaya.kube.patches import Merge
from nagaya.kube.tenant_secrets import CLUSTER_LABEL, TENANT_SECRETS
from nagaya.kube.transport import Answer, Call
from nagaya.pki import certificates
from nagaya.pki.keys import KeyAlgorithm
from nagaya.world import SystemClock, World
from support.certificates import CONTROL_PLANE, PAIR, QuickKeys, encoded

HARBOUR = Key("default", "harbour")
WANTED = Wanted(algorithm=KeyAlgorithm.ECDSA_P256)
ENDPOINT = Endpoint(host="10.0.0.1", port=6443)


class Ahead(SystemClock):
    """Runs 370 days ahead."""

    def now(self) -> datetime:
        return super().now() + timedelta(days=370)


class Counting(InProcessTransport):
    """Counts calls."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(server)
        self.calls: list[str] = []

    async def send(self, call: Call) -> Answer:
        self.calls.append(f"{call.method} {call.path.rsplit('/', 1)[-1]}")
        return await super().send(call)


@dataclass
class Here:
    """A server, and a controller that looks after the authorities of one cluster."""

    transport: Counting
    client: Client
    cache: Cache
    api: Api
    reader: SecretReader
    keys: QuickKeys
    world: World

    async def observe(self) -> AuthoritiesSeen:
        return await observe(self.reader, HARBOUR, WANTED)

    async def reconcile(self, *, initialized: bool = False) -> tuple[Plan, AuthoritiesSeen]:
        seen = await self.observe()
        planned = plan(seen, initialized=initialized, maker=CONTROL_PLANE)
        clock = self.world.clock
        after = await apply(self.api, self.reader, self.keys, seen, planned, CONTROL_PLANE, clock)
        return planned, after

    async def reconcile_kubeconfig(self, endpoint: Endpoint = ENDPOINT) -> str:
        authorities = await self.observe()
        seen = KubeconfigSeen(
            HARBOUR,
            endpoint,
            authorities.get(Purpose.CLUSTER_AUTHORITY),
            await observe_kubeconfig(self.reader, HARBOUR),
            self.world.clock.now(),
        )
        planned = plan_kubeconfig(seen, CONTROL_PLANE)
        await apply_kubeconfig(self.api, self.keys, seen, planned, CONTROL_PLANE, self.world.clock)
        return planned.sentence

    async def get(self, purpose: Purpose) -> ClusterSecret:
        return await self.client.get(CLUSTER_SECRETS, HARBOUR.namespace, f"{HARBOUR.name}-{purpose}")

    async def settled(self) -> None:
        await self.cache.current()
        self.transport.calls.clear()


@pytest.fixture
async def here() -> AsyncIterator[Here]:
    world = World()
    server = await ApiServer.start(Config(), world)
    await server.settled()
    transport = Counting(server)
    client = Client(transport, world=world)
    cache = Cache(client, world)
    cache.start(TENANT_SECRETS, labels=CLUSTER_LABEL)
    await cache.synced()
    yield Here(transport, client, cache, Api(client, cache, "test"), SecretReader(client, cache), QuickKeys(), world)
    await cache.close()
    await server.stop()


async def test_authorities_are_made_as_upstream_makes_them_and_then_left_alone(here: Here) -> None:
    planned, after = await here.reconcile()
    assert planned.verdict is Verdict.MAKE
    assert after.complete
    made = await here.get(Purpose.ETCD_AUTHORITY)
    assert made.type == TYPE
    assert made.metadata.labels == {CLUSTER_LABEL: "harbour"}
    assert made.metadata.owner_references == (CONTROL_PLANE,)
    assert {*made.data} == {"tls.crt", "tls.key"}
    accounts = after.get(Purpose.SERVICE_ACCOUNTS)
    assert accounts is not None
    assert accounts.pair.certificate.startswith(b"-----BEGIN PUBLIC KEY-----")
    await here.settled()
    planned, again = await here.reconcile()
    assert (planned.verdict, planned.adopt) == (Verdict.AVAILABLE, ())
    assert again == after
    assert here.transport.calls == [], "what was written once is not even asked for"
    assert len(here.keys.asked) == 4


async def test_a_clock_that_is_ahead_makes_authorities_that_are_good_when_it_is_right_again(here: Here) -> None:
    now, here.world = here.world.clock.now(), World(clock=Ahead())
    await here.reconcile()
    await here.settled()
    await here.reconcile_kubeconfig()
    authorities = (Purpose.CLUSTER_AUTHORITY, Purpose.ETCD_AUTHORITY, Purpose.FRONT_PROXY_AUTHORITY)
    texts = [base64.b64decode((await here.get(each)).data["tls.crt"]) for each in authorities]
    kubeconfig = read(base64.b64decode((await here.get(Purpose.KUBECONFIG)).data["value"]))
    for certificate in (kubeconfig.certificate, *(certificates.load(each)[0] for each in texts)):
        assert certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc


async def test_whoever_is_first_wins_and_the_others_take_theirs(here: Here) -> None:
    nothing = await here.observe()
    planned = plan(nothing, initialized=False, maker=CONTROL_PLANE)
    data = {"tls.crt": PAIR.certificate, "tls.key": PAIR.key}
    theirs = new_secret(*HARBOUR, Purpose.CLUSTER_AUTHORITY, data, CONTROL_PLANE)
    await here.client.create(CLUSTER_SECRETS, theirs)
    clock = here.world.clock
    after = await apply(here.api, here.reader, here.keys, nothing, planned, CONTROL_PLANE, clock)
    assert after.complete
    authority = after.get(Purpose.CLUSTER_AUTHORITY)
    assert authority is not None
    assert authority.pair == PAIR


async def test_two_controllers_at_once_agree(here: Here) -> None:
    other = replace(here, reader=SecretReader(here.client, here.cache), keys=QuickKeys())
    (_, one), (_, two) = await asyncio.gather(here.reconcile(), other.reconcile())
    assert one.complete
    assert {purpose: held and held.pair for purpose, held in one.secrets.items()} == {
        purpose: held and held.pair for purpose, held in two.secrets.items()
    }


async def test_a_users_secret_without_a_label_counts_and_is_not_touched(here: Here) -> None:
    content = {
        "metadata": {"name": "harbour-ca", "namespace": HARBOUR.namespace},
        "type": "Opaque",
        "data": encoded({"tls.crt": PAIR.certificate}),
    }
    before = await here.client.create(CLUSTER_SECRETS, content)
    planned, after = await here.reconcile()
    assert Purpose.CLUSTER_AUTHORITY not in planned.make
    authority = after.get(Purpose.CLUSTER_AUTHORITY)
    assert authority is not None
    assert not authority.signs
    assert await here.get(Purpose.CLUSTER_AUTHORITY) == before
    sentence = await here.reconcile_kubeconfig()
    assert "Secret default/harbour-ca has no tls.key" in sentence


async def test_a_lost_authority_is_not_made_again_and_one_that_comes_back_is_taken(here: Here) -> None:
    await here.reconcile()
    await here.cache.current()
    kept = await here.get(Purpose.CLUSTER_AUTHORITY)
    await here.client.delete(CLUSTER_SECRETS, HARBOUR.namespace, "harbour-ca")
    planned, after = await here.reconcile(initialized=True)
    assert planned.verdict is Verdict.LOST
    assert after.missing == (Purpose.CLUSTER_AUTHORITY,)
    data = {"tls.crt": PAIR.certificate, "tls.key": PAIR.key}
    restored = new_secret(*HARBOUR, Purpose.CLUSTER_AUTHORITY, data, CONTROL_PLANE)
    restored["data"] = dict(kept.data)
    await here.client.create(CLUSTER_SECRETS, restored)
    planned, after = await here.reconcile(initialized=True)
    assert (planned.verdict, after.complete) == (Verdict.AVAILABLE, True)


async def test_a_change_is_noticed(here: Here) -> None:
    await here.reconcile()
    broken = Merge({"data": {"tls.key": None, "tls.crt": "aGVsbG8="}})
    await here.client.patch(CLUSTER_SECRETS, HARBOUR.namespace, "harbour-proxy", broken)
    await here.cache.current()
    planned, _ = await here.reconcile(initialized=True)
    assert planned.verdict is Verdict.REFUSED
    assert planned.sentence.startswith("Secret default/harbour-proxy: tls.crt: no certificate found")


async def test_secrets_of_another_controller_are_adopted_by_one_write_each(here: Here) -> None:
    content = {
        "metadata": {"name": "harbour-ca", "namespace": HARBOUR.namespace, "labels": {CLUSTER_LABEL: "harbour"}},
        "type": TYPE,
        "data": encoded({"tls.crt": PAIR.certificate, "tls.key": PAIR.key}),
    }
    await here.client.create(CLUSTER_SECRETS, content)
    await here.reconcile()
    assert (await here.get(Purpose.CLUSTER_AUTHORITY)).metadata.owner_references == (CONTROL_PLANE,)
    assert here.transport.calls.count("PATCH harbour-ca") == 1
    await here.cache.current()
    planned, _ = await here.reconcile()
    assert planned.adopt == ()


async def test_a_worker_needs_the_certificate_alone(here: Here) -> None:
    assert (await observe_trust(here.reader, HARBOUR)).missing == (Purpose.CLUSTER_AUTHORITY,)
    await here.reconcile()
    seen = await observe_trust(here.reader, HARBOUR)
    assert seen.complete
    assert {*seen.secrets} == {Purpose.CLUSTER_AUTHORITY}


async def test_only_so_many_secrets_are_remembered(here: Here) -> None:
    here.reader = SecretReader(here.client, here.cache, remembered=3)
    await here.reconcile()
    await here.settled()
    await here.observe()
    assert here.transport.calls == ["GET harbour-ca"]
    assert len(here.reader._known) == 3


async def test_a_kubeconfig_is_made_kept_and_replaced_when_the_endpoint_moves(here: Here) -> None:
    assert "Secret default/harbour-ca is needed" in await here.reconcile_kubeconfig()
    await here.reconcile()
    assert await here.reconcile_kubeconfig() == "Cluster default/harbour has no kubeconfig."
    made = await here.get(Purpose.KUBECONFIG)
    assert (made.type, made.metadata.owner_references) == (TYPE, (CONTROL_PLANE,))
    await here.settled()
    assert await here.reconcile_kubeconfig() == ""
    await here.settled()
    assert await here.reconcile_kubeconfig() == ""
    assert here.transport.calls == []
    await here.reconcile_kubeconfig(Endpoint(host="10.0.0.2", port=6443))
    await here.cache.current()
    found = await observe_kubeconfig(here.reader, HARBOUR)
    assert found is not None
    assert read(found.kubeconfig).server == "https://10.0.0.2:6443"
    assert found.metadata.uid == made.metadata.uid


async def test_a_kubeconfig_is_adopted_and_renewed_by_one_write(here: Here) -> None:
    await here.reconcile()
    content = {
        "metadata": {"name": "harbour-kubeconfig", "namespace": HARBOUR.namespace},
        "type": TYPE,
        "data": {"value": "aGVsbG8="},
    }
    await here.client.create(CLUSTER_SECRETS, content)
    here.transport.calls.clear()
    await here.reconcile_kubeconfig()
    assert [each for each in here.transport.calls if not each.startswith("GET")] == ["PATCH harbour-kubeconfig"]
    made = await here.get(Purpose.KUBECONFIG)
    assert made.metadata.owner_references == (CONTROL_PLANE,)
    assert made.data != content["data"]


async def test_nothing_that_is_logged_or_shown_has_a_key_in_it(here: Here, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        _, after = await here.reconcile()
        await here.reconcile_kubeconfig()
    assert "made Secret harbour-ca" in caplog.text
    assert "PRIVATE KEY" not in caplog.text + repr(after)
    for held in after.secrets.values():
        assert held is not None
        assert held.pair.key.decode().splitlines()[1] not in caplog.text + repr(after)
