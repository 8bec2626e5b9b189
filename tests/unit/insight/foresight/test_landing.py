"""Where machines of a rollout would land, and what they take: hosts fill up, and empty again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.api.untyped import Untyped
from nagaya.infrastructure.proxmox.client import Snapshot
from nagaya.infrastructure.proxmox.client.machine_config import config
from nagaya.infrastructure.proxmox.client.rows import Host, MachineRow, Status, StorageRow
from nagaya.insight.foresight.addresses import needs, without_address
from nagaya.insight.foresight.doubts import Severity, of_landings, of_pools
from nagaya.insight.foresight.fleet import Fleet
from nagaya.insight.foresight.landing import land
from nagaya.insight.foresight.move import Move
from nagaya.insight.foresight.site import Site, _with_pools
from support.builders import NOW, cluster

GIB = 1 << 30
IMAGES = frozenset({"images"})


def site(*, hosts: int = 2, memory: int = 16, free: int = 4, total: int = 10) -> Site:
    """Hosts with a template each, and a pool with so many free addresses."""
    spec = {
        "connectionRef": {"name": "pve"},
        "controlPlaneEndpoint": {"host": "10.0.0.5", "port": 6443},
        "dnsServers": ["10.0.0.1"],
        "ipv4Config": {"addresses": ["10.0.0.10-10.0.0.60"], "prefix": 24, "gateway": "10.0.0.1"},
    }
    infrastructure = PROXMOX_CLUSTERS.convert({"metadata": {"name": "shop", "namespace": "default"}, "spec": spec})
    counts = {"total": total, "free": free, "used": total - free, "outOfRange": 0}
    pool = IN_CLUSTER_IP_POOLS.convert(
        {
            "metadata": {"name": "shop-v4-icip", "namespace": "default"},
            "spec": {"addresses": ["10.0.0.10-10.0.0.19"], "prefix": 24},
            "status": {"ipAddresses": counts},
        }
    )
    names = [f"pve{number}" for number in range(1, hosts + 1)]
    templates = {
        9000 + number: MachineRow(9000 + number, name, Status.STOPPED, template=True, tags=("kubernetes-v1.36.3",))
        for number, name in enumerate(names, 1)
    }
    snapshot = Snapshot(
        datetime(2026, 11, 1, tzinfo=UTC),
        0,
        hosts={name: Host(name, True, cpus=16, memory=memory * GIB) for name in names},
        machines=templates,
        storages={
            (name, "lvm"): StorageRow("lvm", name, True, False, contents=IMAGES, total=GIB << 10) for name in names
        },
    )
    made = config({"scsi0": "lvm:base-9001-disk-0,size=20G", "digest": "x"})
    return Site(_with_pools(infrastructure), {"shop-v4-icip": pool}, snapshot, configs=dict.fromkeys(templates, made))


def fleet(*names: str, **spec: Any) -> Fleet:
    """Machines on Proxmox VE of 6 GiB each, of which only the hosts matter."""
    wanted = {"templateSelector": {"matchTags": ["kubernetes-v1.36.3"]}, "numCores": 2, "memoryMiB": 6144, **spec}
    hosts = {
        name: Untyped(
            {
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha2",
                "kind": "ProxmoxMachine",
                "metadata": {
                    "name": name,
                    "namespace": "default",
                    "labels": {"cluster.x-k8s.io/cluster-name": "shop"},
                },
                "spec": wanted,
            }
        )
        for name in names
    }
    return Fleet(cluster().made(), NOW, hosts=hosts)


def made(name: str) -> Move:
    return Move(True, name, "MachineDeployment workers", "v1.36.3", "")


def gone(name: str) -> Move:
    return Move(False, name, "MachineDeployment workers", "v1.36.3", "")


def test_machines_are_spread_and_take_room_from_each_other() -> None:
    found = land(site(), fleet(*"abcde"), [made(each) for each in "abcde"])
    assert [found.machines[each].host for each in "abcd"] == ["pve1", "pve2", "pve1", "pve2"]
    last = found.machines["e"]
    assert (last.host, last.missing) == ("", "NoHostFits")
    assert found.homeless == {"e"}
    assert [(each.name, each.machines, each.least // GIB) for each in found.hosts] == [("pve1", 2, 4), ("pve2", 2, 4)]
    (doubt,) = of_landings(found)
    assert doubt.severity is Severity.ERROR
    assert "memory: 4.0 GiB free, 6.0 GiB needed" in doubt.what


def test_a_machine_that_goes_makes_room_for_the_next() -> None:
    moves = [made("a"), made("b"), made("c"), made("d"), gone("a"), made("e")]
    found = land(site(), fleet(*"abcde"), moves)
    assert found.homeless == frozenset()
    assert found.machines["e"].host == "pve1"


def test_a_template_that_is_missing_is_told_with_the_command_that_makes_one() -> None:
    selector = {"templateSelector": {"matchTags": ["kubernetes-v9"]}}
    (doubt,) = of_landings(land(site(), fleet("a", "b", **selector), [made("a"), made("b")]))
    assert "2 of the new machines would find no host (a, b)" in doubt.what
    assert "nagaya proxmox image add" in doubt.remedy


def test_hosts_that_are_not_known_leave_what_machines_need() -> None:
    unknown = Site(site().infrastructure, unknown="no endpoint answers")
    landing = land(unknown, fleet("a"), [made("a")]).machines["a"]
    assert (landing.host, landing.missing, landing.cpus, landing.memory) == ("", "", 2, 6 * GIB)


def test_addresses_are_counted_at_the_fullest_moment() -> None:
    here, machines = site(free=2), fleet(*"abc")
    (need,) = needs(here, machines, [made("a"), made("b")])
    assert (need.pool, need.free, need.taken, need.returned, need.spread) == ("shop-v4-icip", 2, 2, 0, 2)
    assert list(of_pools([need], frozenset())) == []

    moves = [made("a"), made("b"), gone("a"), made("c")]
    (rested,) = of_pools(needs(here, machines, moves), without_address(here, machines, moves))
    assert rested.severity is Severity.WARNING
    assert "have rested" in rested.what

    moves = [made("a"), made("b"), made("c")]
    dry = without_address(here, machines, moves)
    assert dry == {"c"}
    (short,) = of_pools(needs(here, machines, moves), dry)
    assert short.severity is Severity.ERROR
    assert "1 of the new machines would wait for an address (c)" in short.what


def test_a_pool_that_is_yet_to_be_made_has_what_its_ranges_have() -> None:
    here = Site(site().infrastructure)
    (need,) = needs(here, fleet("a"), [made("a")])
    assert need.free == 51
