"""The data center as placement sees it, from what Proxmox VE says."""

from __future__ import annotations

from datetime import UTC, datetime

from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.infrastructure.proxmox.client import Snapshot
from nagaya.infrastructure.proxmox.client.equipment import Devices
from nagaya.infrastructure.proxmox.client.rows import host, machine
from nagaya.infrastructure.proxmox.machine.wish import Equipment, Whose, world

NOW = datetime(2026, 11, 1, 12, 30, tzinfo=UTC)
SPEC = {"failureDomains": [{"name": "left", "nodes": ["pve1", "pve2"]}, {"name": "pve3"}]}
CLUSTER = PROXMOX_CLUSTERS.convert({"metadata": {"name": "shop", "namespace": "default"}, "spec": SPEC})


def snapshot() -> Snapshot:
    hosts = [
        host({"node": "pve1", "status": "online", "maxcpu": 8, "maxmem": 32, "hastate": "maintenance"}, {}, None),
        host({"node": "pve2", "status": "online", "maxcpu": 8, "maxmem": 32}, {}, None),
        host({"node": "pve3", "status": "offline", "maxcpu": 8, "maxmem": 32}, {}, None),
    ]
    machines = [
        machine({"vmid": 100, "node": "pve2", "status": "running", "maxcpu": 2, "maxmem": 4}, host_online=True),
        machine({"vmid": 101, "node": "pve2", "status": "running", "maxcpu": 2, "maxmem": 4}, host_online=True),
        machine({"vmid": 9000, "node": "pve2", "status": "stopped", "template": 1}, host_online=True),
    ]
    return Snapshot(
        NOW,
        0,
        hosts={each.name: each for each in hosts},
        machines={each.vmid: each for each in machines},
        off_since={"pve3": NOW},
    )


def test_hosts_have_what_was_asked_of_them_and_why_they_cannot_be_used() -> None:
    equipment = Equipment(
        bridges={"pve2": frozenset({"vmbr0"})},
        silent={"pve1": "timed out"},
        mappings={"gpu": Devices({"pve2": ("0000:01:00", "0000:02:00")})},
        taken={101: ("gpu",)},
    )
    found = world(snapshot(), CLUSTER, {}, {100: Whose("uid", "default/shop", "worker", ("gpu",))}, equipment)
    hosts = {each.name: each for each in found.hosts}
    assert (hosts["pve1"].maintenance, hosts["pve1"].silent, hosts["pve1"].bridges) == (True, "timed out", None)
    assert (hosts["pve2"].bridges, hosts["pve2"].devices) == (frozenset({"vmbr0"}), {"gpu": 2})
    assert (hosts["pve3"].online, hosts["pve3"].off_since) == (False, "2026-11-01 12:30 UTC")
    assert [each.failure_domain for each in found.hosts] == ["left", "left", "pve3"]
    assert {each.vmid: (each.machine, each.devices) for each in found.guests if not each.template} == {
        100: ("uid", ("gpu",)),
        101: ("", ("gpu",)),
    }


def test_a_template_whose_configuration_is_not_known_is_marked() -> None:
    (template,) = world(snapshot(), CLUSTER, {}, {}).templates
    assert (template.vmid, template.readable) == (9000, False)
