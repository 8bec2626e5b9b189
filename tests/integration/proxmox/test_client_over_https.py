"""The client against the emulator's HTTPS listener: what only a real connection can show."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from nagaya.infrastructure.proxmox.client import (
    Credentials,
    Facts,
    Password,
    Proxmox,
    Token,
    Trust,
    Upload,
    endpoint,
    fingerprint,
)
from nagaya.infrastructure.proxmox.client.errors import HostUnreachable, Unauthorized
from nagaya.simulators.proxmox.emulator import Emulator, Proceed
from nagaya.simulators.proxmox.failure import Unanswered
from nagaya.simulators.proxmox.layouts.demo import PASSWORD, demo, secret
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.request import Answer, Request
from nagaya.simulators.proxmox.web.web import Web, served
from nagaya.world import World

QUICK = Pace(task=0.0, refused_login=0.05, upload_per_mib=0.0)


@dataclass(slots=True)
class Site:
    """A served data center."""

    emulator: Emulator
    web: Web

    @property
    def token(self) -> Token:
        return Token("root@pam!demo", secret(self.emulator.datacenter))

    def by_authority(self) -> Trust:
        return Trust(authority=self.web.authority.certificate_pem.decode())

    def client(self, trust: Trust, credentials: Credentials | None = None) -> Proxmox:
        endpoints = tuple(endpoint(url) for url in self.web.endpoints.values())
        return Proxmox(Facts(endpoints, credentials or self.token, trust), self.emulator.world)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    world = World()
    emulator = Emulator(world, demo(world, hosts=3), QUICK)
    async with served(emulator) as web:
        yield Site(emulator, web)
    await emulator.close()


async def test_a_host_is_recognised_by_the_authority_of_its_cluster(site: Site) -> None:
    client = site.client(site.by_authority())
    try:
        assert (await client.cluster.version()).release == (9, 2)
    finally:
        await client.close()


async def test_a_host_is_recognised_by_its_fingerprint(site: Site) -> None:
    shown = [certificate.fingerprint for certificate in site.web.certificates.values()]
    client = site.client(Trust(fingerprints=tuple(map(fingerprint, shown))))
    try:
        assert (await client.cluster.version()).release == (9, 2)
        node = site.emulator.datacenter.nodes["pve1"]
        node.online = False
        site.emulator.power_changed(node)
        assert (await client.cluster.version()).release == (9, 2)
    finally:
        await client.close()


@pytest.mark.parametrize("what", ["nothing", "fingerprint", "authority"])
async def test_a_host_that_is_not_recognised_gets_no_credentials(site: Site, what: str) -> None:
    seen: list[Request] = []

    async def spy(request: Request, proceed: Proceed) -> Answer:
        seen.append(request)
        return await proceed(request)

    site.emulator.around.append(spy)
    trust = {
        "nothing": Trust(),
        "fingerprint": Trust(fingerprints=("ab" * 32,)),
        "authority": Trust(authority="no PEM at all"),
    }[what]
    client = site.client(trust)
    try:
        with pytest.raises(HostUnreachable, match=r"not trusted|another fingerprint|must be PEM") as raised:
            await client.cluster.version()
        assert not seen
        assert what == "authority" or site.web.certificates["pve1"].fingerprint in str(raised.value)
    finally:
        await client.close()


async def test_only_who_says_so_by_name_trusts_anybody(site: Site) -> None:
    client = site.client(Trust(insecure=True))
    try:
        assert (await client.cluster.version()).release == (9, 2)
    finally:
        await client.close()


async def test_tickets_and_other_credentials_without_a_restart(site: Site) -> None:
    client = site.client(site.by_authority(), Password("root@pam", PASSWORD))
    try:
        await client.pools.create("team")
        assert "team" in await client.pools.names()
        client.replace(Facts(client.facts.endpoints, Token("root@pam!demo", "wrong"), client.facts.trust))
        with pytest.raises(Unauthorized, match="Authentication failed!"):
            await client.pools.names()
        client.replace(Facts(client.facts.endpoints, site.token, client.facts.trust))
        assert "team" in await client.pools.names()
    finally:
        await client.close()


async def test_a_file_arrives_as_it_was_sent(site: Site) -> None:
    client = site.client(site.by_authority())
    content = b"\x00" * 32769 + b"CD001" + bytes(range(256)) * 4096
    try:
        await client.tasks.wait(await client.storages.upload("pve1", "local", "iso", Upload("seed.iso", content)))
        (volume,) = await client.storages.content("pve1", "local", content="iso")
        assert (volume.id, volume.size) == ("local:iso/seed.iso", len(content))
        await client.tasks.wait(await client.storages.delete("pve1", volume.id))
        assert await client.storages.content("pve1", "local", content="iso") == []
    finally:
        await client.close()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize("warm", [True, False])
async def test_a_change_whose_reply_is_lost_is_made_once(site: Site, method: str, warm: bool) -> None:
    made = 0

    async def lose(request: Request, proceed: Proceed) -> Answer:
        nonlocal made
        answer = await proceed(request)
        if request.method == method:
            made += 1
            raise Unanswered
        return answer

    site.emulator.around.append(lose)
    client = site.client(site.by_authority())
    try:
        if warm:
            await client.pools.names()
        with pytest.raises(HostUnreachable) as raised:
            await client.calls.call(method, "/pools", {"poolid": "nagaya"})
        assert raised.value.may_have_happened
        assert made == 1
    finally:
        await client.close()


async def test_a_host_that_went_off_is_left_for_another(site: Site) -> None:
    client = site.client(site.by_authority())
    try:
        await client.inventory.get()
        node = site.emulator.datacenter.nodes["pve1"]
        node.online = False
        site.emulator.power_changed(node)
        await client.pools.create("team")
        assert client.trace.calls()[-1].endpoint == site.web.endpoints["pve2"]
        assert client.trace.calls()[-1].at <= datetime.now(UTC)
    finally:
        await client.close()
