"""Why somebody gave up on Cluster API for Proxmox VE: his five complaints, in his order, each as what happens here.

1. The Secret with the credentials had to be made by hand.
2. Calls to the API did not work, and nothing said why.
3. All hosts had to be on.
4. Addresses came by DHCP, whether one wanted that or not.
5. There was no ProxmoxClusterTemplate, so nothing could be reused.

Each test acts as a user does: by commands, and by objects that are written and read.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.page import ROOT
from nagaya.api.ipam.ip_address import IP_ADDRESSES
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.infrastructure.proxmox.boot.mac_address import derived
from nagaya.kube import kubeconfig
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, NotFound
from nagaya.kube.http import HttpTransport
from nagaya.kube.patches import Merge
from nagaya.world import World
from support.controllers_process import RUNNING, Controllers
from support.lab import KINDS, holds, message
from support.passing_time import PassingLoop
from support.proxmox_commands import desk
from support.proxmox_town import Town, town
from support.proxmox_town_calls import CLONE
from support.proxmox_town_hosts import DyingHost, clear_away
from support.proxmox_town_layout import NEW, taken
from support.proxmox_town_life import CREATE, DELETE, SCALE_UP, UPGRADE, Phase, live
from support.proxmox_town_manifests import Manifest, Shop
from support.proxmox_town_order import disorder

pytestmark = pytest.mark.long("starts Nagaya and an emulated data center as users do, and waits for machines")

SECRETS = Kind("", "v1", "Secret", "secrets", Untyped)
EVENTS = Kind("events.k8s.io", "v1", "Event", "events", Untyped)
DRY_RUN = "topology.cluster.x-k8s.io/dry-run"
NAMESPACE = "default"
DEAD = "pve3"
"""The host with one worker of a cluster of one and two: hosts are taken in turn."""
PATIENCE = 900.0
NETWORK_DEVICES = ("net0", "net1", "net2")


def played(main: Coroutine[Any, Any, None]) -> None:
    """On virtual time."""
    with asyncio.Runner(loop_factory=PassingLoop) as runner:
        runner.run(main)


# 1 -------------------------------------------------------------------------------------------------------------------


def test_1_the_secret_with_the_credentials_is_made_for_you_and_a_cluster_without_it_says_so(tmp_path: Path) -> None:
    """Real processes, as a new user starts them: an emulated data center, a management API, the controllers."""
    with (
        desk(tmp_path) as user,
        Controllers(user.kubeconfig, "--install-crds", "--only", "core,ipam,infrastructure-proxmox") as controllers,
    ):
        controllers.says(RUNNING)

        async def declare() -> None:
            async with _person(user.kubeconfig) as person:
                shop = Shop()
                infrastructure = shop.proxmox_cluster()
                del infrastructure["spec"]["connectionRef"]
                for content in (shop.cluster(), infrastructure):
                    await person.create(KINDS[content["kind"]], content)
                said = await _told(person, "ProxmoxAvailable", "False")
                assert "nagaya proxmox connect" in said, said
                assert said.count(". ") == 0, f"that is more than one sentence: {said}"
                assert await _secrets(person) == []

        asyncio.run(declare())
        connected = user.connect("--fingerprint", user.fingerprint, "--yes", "--wait", "30")
        assert connected.returncode == 0, connected

        async def works() -> None:
            async with _person(user.kubeconfig) as person:
                assert await _secrets(person), "the command made no Secret"
                await _told(person, "ProxmoxAvailable", "True")

        asyncio.run(works())
        controllers.stop(signal.SIGTERM)


class _person:
    """A client of the management API over HTTPS."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def __aenter__(self) -> Client:
        world = World()
        transport = HttpTransport(kubeconfig.load(self._path), world=world)
        self._client = Client(transport, world=world, field_manager="person")
        return self._client

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()


async def _told(person: Client, type: str, status: str) -> str:
    async with asyncio.timeout(60):
        while True:
            try:
                found = (await person.get(KINDS["ProxmoxCluster"], NAMESPACE, "shop")).status.conditions
            except NotFound:
                found = ()
            for each in found:
                if (each.type, each.status) == (type, status):
                    return str(each.message)
            await asyncio.sleep(0.2)


async def _secrets(person: Client) -> list[str]:
    return [each.metadata.name for each in (await person.list(SECRETS, NAMESPACE)).items]


# 2 -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "privilege", "call"),
    [
        ("/pool/images", "VM.Clone", "/clone"),
        ("/storage", "Datastore.AllocateSpace", "/clone"),
        ("/sdn/zones/localnetwork", "SDN.Use", "/clone"),
        ("/pool/nagaya", "VM.PowerMgmt", "/status/start"),
        ("/storage", "Datastore.AllocateTemplate", "/upload"),
    ],
    ids=lambda each: each.rpartition(".")[2] if "." in each else "",
)
def test_2_a_call_that_fails_says_which_with_status_reason_privilege_and_the_command(
    path: str, privilege: str, call: str
) -> None:
    """In the condition and in an event of the machine. The address of the API may end in the path that is added to it,
    which was his first error."""

    async def main() -> None:
        async with town(Shop(1, 0)) as here:
            connection = here.shop.connection()
            connection["spec"]["endpoints"] = ["https://pve1:8006/api2/json", "pve2:8006/api2/json/", "pve3"]
            await here.create(connection)
            await here.begin()
            await live(here, (CREATE,))
            taken(here.datacenter, path, privilege)
            await SCALE_UP.begin(here)

            async def told() -> str:
                machines = await here.all("ProxmoxMachine")
                said = [message(each, "VirtualMachineProvisioned") for each in machines]
                return next((each for each in said if "403" in each and "pveum" in each), "")

            said = await here.until(f"somebody says that {privilege} is missing", told, patience=PATIENCE)
            assert call in said, said
            assert privilege in said, said
            assert "HTTP 403" in said, said
            assert "pveum " in said, said

            async def event() -> bool:
                notes = [each.raw.get("note", "") for each in (await here.client.list(EVENTS, NAMESPACE)).items]
                return any(call in each and privilege in each and "403" in each for each in notes)

            await here.until("an event says it, too", event)
            assert here.plane.connections is not None
            connected = await here.plane.connections.of(await here.get("ProxmoxCluster", "shop"))
            traced = connected.proxmox.trace.calls()
            refused = [each for each in traced if each.status == 403 and call in each.path]
            assert refused, "the trace does not have the call"
            assert all("PVEAPIToken" not in str(each) for each in traced)

            taken(here.datacenter, path, privilege, back=True)
            await here.until("all goes on", lambda: SCALE_UP.done(here), patience=PATIENCE)

    played(main())


# 3 -------------------------------------------------------------------------------------------------------------------


async def _off_at_the_start(here: Town) -> None:
    here.control.power_off(DEAD)
    await here.begin()
    await CREATE.begin(here)
    await here.until("the cluster is made without the host", lambda: CREATE.done(here), patience=PATIENCE)
    assert not [guest for guest in _machines(here) if guest.node == DEAD]


async def _dies_while_machines_are_made(here: Town) -> None:
    await here.begin()
    dying = DyingHost(here, CLONE)
    await CREATE.begin(here)
    async with asyncio.timeout(PATIENCE):
        await dying.died.wait()
    await here.until("the control plane is made elsewhere, or waits and says why", lambda: _said(here, dying.host))
    here.control.power_on(dying.host)
    await asyncio.sleep(120)
    clear_away(here)
    await here.until("the cluster is made", lambda: CREATE.done(here), patience=PATIENCE)


async def _off_while_scaled(here: Town) -> None:
    await _made_and_off(here)
    await SCALE_UP.begin(here)
    await here.until("the new machine is at work elsewhere", lambda: _well(here, 2), patience=PATIENCE)


async def _off_while_upgraded(here: Town) -> None:
    await _made_and_off(here)
    await UPGRADE.begin(here)

    async def others() -> bool:
        machines = [each for each in await here.all("Machine") if not each.metadata.deleting]
        return bool(machines) and all(holds(each, "Available") and each.spec.version == NEW for each in machines)

    await here.until("all is upgraded without the host", others, patience=PATIENCE)
    assert await _said(here, DEAD)


async def _off_while_deleted(here: Town) -> None:
    await _made_and_off(here)
    await DELETE.begin(here)

    async def others() -> bool:
        return {guest.node for guest in _machines(here) if "workers" in guest.config["name"]} == {DEAD}

    # The control plane goes when all workers have: that is the order of Cluster API.
    await here.until("all workers on other hosts are gone", others, patience=PATIENCE)
    await here.until("what waits says for whom", lambda: _said(here, DEAD))


async def _off_when_controllers_start(here: Town) -> None:
    await _made_and_off(here)
    here.mortal.death.set()
    await here.revive()
    await SCALE_UP.begin(here)
    await here.until("the new machine is at work elsewhere", lambda: _well(here, 2), patience=PATIENCE)


MOMENTS: dict[str, tuple[Callable[[Town], Awaitable[None]], Phase]] = {
    "at-the-start": (_off_at_the_start, CREATE),
    "while-machines-are-made": (_dies_while_machines_are_made, CREATE),
    "while-scaled": (_off_while_scaled, SCALE_UP),
    "while-upgraded": (_off_while_upgraded, UPGRADE),
    "while-deleted": (_off_while_deleted, DELETE),
    "when-controllers-start": (_off_when_controllers_start, SCALE_UP),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_3_a_host_that_is_off_keeps_nothing_waiting_but_what_is_on_it(moment: str) -> None:
    """What is on it goes on when it is back, and in the end all is in order."""
    act, phase = MOMENTS[moment]
    # A rollout makes no more machines at a time than it may: those that cannot go would take the place of others.
    policy = {"deletionPolicy": "Release"} if phase is UPGRADE else {}

    async def main() -> None:
        async with town(Shop(1, 2, infrastructure=policy)) as here:
            await act(here)
            here.control.power_on(DEAD)
            await here.until("all is well when the host is back", lambda: phase.done(here), patience=PATIENCE)
            await here.survive("nothing happens any more", lambda: phase.done(here))
            assert await disorder(here) == []

    played(main())


async def _made_and_off(here: Town) -> None:
    await here.begin()
    await live(here, (CREATE,))
    here.control.power_off(DEAD)
    await asyncio.sleep(1)


async def _well(here: Town, count: int) -> bool:
    """Whether so many workers are at work on hosts that are on."""
    there = {guest.config.get("name") for guest in _machines(here) if guest.node != DEAD}
    workers = [each for each in await here.workers() if each.spec.infrastructure_ref.name in there]
    return sum(holds(each, "Available") for each in workers) >= count


async def _said(here: Town, host: str) -> bool:
    return bool(here.witness.heard(host, "off"))


def _machines(here: Town) -> list[Any]:
    return [each for each in here.datacenter.guests.values() if _ours(str(each.config.get("name") or ""))]


def _ours(name: str) -> bool:
    return name.startswith("shop-")


# 4 -------------------------------------------------------------------------------------------------------------------


def test_4_each_network_device_gets_its_address_as_its_owner_wants_and_none_is_given_twice() -> None:
    """One device has an address of a pool, the next one asks by DHCP, the third has a hardware address that stays the
    same; a second cluster shares the pool; the address of the API comes from a pool, too."""
    shared = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "site"}
    devices = [
        {"name": "net0", "bridge": "vmbr0", "addressing": "static", "defaultIPv4": True, "ipPoolRef": [shared]},
        {"name": "net1", "bridge": "vmbr0", "addressing": "dhcp"},
        {"name": "net2", "bridge": "vmbr0", "addressing": "dhcp", "deriveMacAddress": True},
    ]
    machine = {"network": {"networkDevices": devices}}
    infrastructure = {
        "controlPlaneEndpoint": None,
        "controlPlaneEndpointPoolRef": shared,
        "ipv4Config": None,
        "addressing": "dhcp",
    }
    addresses = [f"10.0.0.{number}" for number in range(20, 30)]
    site = {"addresses": ["10.0.0.20-10.0.0.29"], "prefix": 24, "gateway": "10.0.0.1"}

    async def main() -> None:
        async with town(Shop(1, 1, machine=machine, infrastructure=infrastructure)) as here:
            pool = {"kind": "InClusterIPPool", "metadata": {"name": "site", "namespace": NAMESPACE}, "spec": site}
            await here.create(pool)
            await here.begin()
            second = Shop(1, 1, name="shop-two", machine=machine, infrastructure=infrastructure)
            await here.apply()
            await here.create(*second.manifests())
            for name in (here.shop.name, second.name):
                await here.available(name)
            await here.until("both have all machines", lambda: _provisioned(here, 4), patience=PATIENCE)

            given = [each.spec.address for each in (await here.client.list(IP_ADDRESSES, NAMESPACE)).items]
            assert len(given) == 6, given  # four machines and two APIs
            assert Counter(given).most_common(1)[0][1] == 1, f"given twice: {given}"
            assert set(given) <= set(addresses)
            endpoints = [each.spec.control_plane_endpoint.host for each in await here.all("Cluster")]
            assert set(endpoints) <= set(given), "the address of the API is not from the pool"

            for found in await here.all("ProxmoxMachine"):
                by_device = {each.net: (*each.ipv4,) for each in found.status.ip_addresses}
                assert by_device["net0"][0] in given
                assert by_device["net1"], "no address by DHCP"
                assert by_device["net2"], "no address by DHCP"
                assert not {*by_device["net1"], *by_device["net2"]} & set(given)

            before = await _hardware_addresses(here)
            assert len({each for macs in before.values() for each in macs}) == 12, "two devices are alike"
            await _made_again_under_its_name(here, before)

    played(main())


async def _provisioned(here: Town, count: int) -> bool:
    machines = await here.all("ProxmoxMachine")
    return len(machines) == count and all(each.status.initialization.provisioned for each in machines)


async def _hardware_addresses(here: Town) -> dict[str, list[str]]:
    return {
        str(guest.config["name"]): [str(guest.config[name]).split("=")[1].split(",")[0] for name in NETWORK_DEVICES]
        for guest in _machines(here)
    }


async def _made_again_under_its_name(here: Town, before: dict[str, list[str]]) -> None:
    """What is made from the name stays what it is: a reservation in a router's DHCP server stays right."""
    for name, (_, _, fixed) in before.items():
        assert fixed == derived(f"{NAMESPACE}/{name}", "net2"), f"{name} would get another one if it were made again"


# 5 -------------------------------------------------------------------------------------------------------------------


def test_5_a_cluster_template_is_written_once_and_makes_several_clusters() -> None:
    """The class of the examples is accepted as it is. Clusters that are made from its templates, as the topology's
    controller makes them, work; templates do not change under them."""
    example = [*yaml.safe_load_all((ROOT / "examples/proxmox-cluster-class.yaml").read_text())]
    kinds = {each["kind"] for each in example}
    assert {"ClusterClass", "ProxmoxClusterTemplate", "ProxmoxMachineTemplate"} <= kinds

    stamped = _stamped(example, "proxmox")
    first = Shop(1, 1, infrastructure={**stamped, **_own(10)})
    second = Shop(1, 1, name="shop-two", infrastructure={**stamped, **_own(100)})

    async def main() -> None:
        async with town(first) as here:
            await here.begin()
            classes = [each for each in example if each["kind"] != "Cluster"]
            for content in classes:
                await here.client.create(KINDS[content["kind"]], content)

            template = await here.client.get(KINDS["ProxmoxClusterTemplate"], NAMESPACE, "proxmox")
            change: Manifest = {"spec": {"template": {"spec": {"dnsServers": ["9.9.9.9"]}}}}
            with pytest.raises(ApiError, match="cannot be changed"):
                await here.merge("ProxmoxClusterTemplate", "proxmox", change)
            await _topology_may_try(here, change)
            assert (await here.get("ProxmoxClusterTemplate", "proxmox")).spec == template.spec

            await here.apply()
            await here.create(*second.manifests())
            for name in (here.shop.name, second.name):
                await here.available(name)
            await here.until("both have all machines", lambda: _provisioned(here, 4), patience=PATIENCE)

    played(main())


def _stamped(example: list[Manifest], name: str) -> Manifest:
    (found,) = [
        each for each in example if (each["kind"], each["metadata"]["name"]) == ("ProxmoxClusterTemplate", name)
    ]
    spec: Manifest = found["spec"]["template"]["spec"]
    return {**spec, "connectionRef": {"name": "pve"}}


def _own(first: int) -> Manifest:
    """What the patches of the class put into each cluster."""
    addresses = {"addresses": [f"10.0.0.{first + 1}-10.0.0.{first + 20}"], "prefix": 24, "gateway": "10.0.0.1"}
    return {"controlPlaneEndpoint": {"host": f"10.0.0.{first}", "port": 6443}, "ipv4Config": addresses}


async def _topology_may_try(here: Town, change: Manifest) -> None:
    """The topology's controller asks what a change would come to, before it makes another template (CAPMOX 735)."""
    trial = {**change, "metadata": {"annotations": {DRY_RUN: ""}}}
    kind = KINDS["ProxmoxClusterTemplate"]
    seen = await here.client.patch(kind, NAMESPACE, "proxmox", Merge(trial), dry_run=True)
    assert seen.spec.template.spec.dns_servers == ("9.9.9.9",)
