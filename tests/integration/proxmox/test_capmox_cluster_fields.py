"""Fields of CAPMOX's clusters, seen at work from the ProxmoxCluster to the guests of its machines."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from nagaya.simulators.proxmox.emulator import Proceed
from nagaya.simulators.proxmox.front import parameters
from nagaya.simulators.proxmox.guests.boot_data import read_boot_data
from nagaya.simulators.proxmox.request import Answer, Request
from support.proxmox_town import Town, play, town
from support.proxmox_town_life import CREATE, DELETE, live
from support.proxmox_town_manifests import Shop
from support.proxmox_town_order import disorder

pytestmark = pytest.mark.long("starts Nagaya, and boots machines in the emulated data center")

ZONE = {
    "zone": "east",
    "ipv4Config": {"addresses": ["10.20.0.10-10.20.0.40"], "prefix": 20, "gateway": "10.20.0.1", "metric": 33},
    "ipv6Config": {"addresses": ["fd20::10-fd20::40"], "prefix": 64, "gateway": "fd20::1"},
    "dnsServers": ["10.20.0.53"],
}
EAST = {"zone": "east", "networkDevices": [{"name": "net0", "bridge": "vmbr0"}]}


def test_machines_of_a_zone_have_its_addresses_gateway_metric_and_name_servers() -> None:
    async def main() -> None:
        shop = Shop(1, 1, infrastructure={"zoneConfig": [ZONE]}, machine={"network": EAST})
        async with town(shop) as here:
            seeds = _keep_seeds(here)
            await here.begin()
            await live(here, (CREATE,))
            machines = await here.all("ProxmoxMachine")
            assert len(machines) == 2
            for machine in machines:
                addresses = [each.address for each in machine.status.addresses if each.type == "InternalIP"]
                assert [each.rpartition("10.20.0." if "." in each else "fd20::")[0] for each in addresses] == ["", ""]
                eth0 = seeds[f"user-data-{machine.spec.virtual_machine_id}.iso"]["ethernets"]["eth0"]
                assert [each.partition("/")[2] for each in eth0["addresses"]] == ["20", "64"]
                routes = {each["to"]: (each["via"], each["metric"]) for each in eth0["routes"]}
                assert routes == {"0.0.0.0/0": ("10.20.0.1", 33), "::/0": ("fd20::1", 100)}
                assert eth0["nameservers"]["addresses"] == ["10.20.0.53"]
            cluster = await here.get("ProxmoxCluster", "shop")
            assert [each.zone for each in cluster.status.in_cluster_zone_ref] == ["default", "east"]
            located = (*cluster.status.node_locations.control_plane, *cluster.status.node_locations.workers)
            assert {each.zone for each in located} == {"east"}
            await live(here, (DELETE,))
            assert await disorder(here) == []

    play(main())


def _keep_seeds(here: Town) -> dict[str, Any]:
    """What guests are told of their network, by the file that it comes in: it goes when the Node has joined."""
    kept: dict[str, Any] = {}

    async def keep(request: Request, proceed: Proceed) -> Answer:
        if request.path.endswith("/upload"):
            sent = parameters.of_upload(request.query, request.headers, request.body)
            data = read_boot_data(sent.content)
            assert data is not None
            kept[str(sent.fields["filename"])] = yaml.safe_load(data.network)["network"]
        return await proceed(request)

    here.emulator.around.append(keep)
    return kept
