"""The network devices of a machine: which addresses they claim, and what the guest is told."""

from __future__ import annotations

from typing import Any

from nagaya.api.ipam.ip_address import IP_ADDRESSES, IPAddress
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS, ProxmoxCluster
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES, ProxmoxMachine
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.machine.network import WantedClaim, claims, guest_network

MAC = "BC:24:11:00:00:0{}"
CONFIG = MachineConfig({f"net{each}": f"virtio={MAC.format(each)},bridge=vmbr0" for each in range(3)})
CONFIGURED = {"addresses": ["10.0.0.9"], "prefix": 24, "gateway": "10.0.0.1", "metric": 101}
BOTH = {"zone": "default", "inClusterIPPoolRefV4": {"name": "c-v4"}, "inClusterIPPoolRefV6": {"name": "c-v6"}}


def machine(*devices: dict[str, Any], **network: Any) -> ProxmoxMachine:
    spec = {"network": {"networkDevices": [*devices], **network}}
    return PROXMOX_MACHINES.convert({"metadata": {"namespace": "fleet", "name": "a"}, "spec": spec})


def cluster(*zones: dict[str, Any], **spec: Any) -> ProxmoxCluster:
    content = {"dnsServers": ["10.0.0.1"], **spec}
    status = {"inClusterZoneRef": [*zones]}
    return PROXMOX_CLUSTERS.convert({"metadata": {"name": "c"}, "spec": content, "status": status})


def names(wanted: tuple[WantedClaim, ...] | str) -> list[tuple[str, str, bool]]:
    assert not isinstance(wanted, str), wanted
    return [(each.name, each.pool.name, each.default) for each in wanted]


def given(name: str, address: str) -> IPAddress:
    pool = {"name": "p", "kind": "InClusterIPPool", "apiGroup": "ipam.cluster.x-k8s.io"}
    spec = {"claimRef": {"name": name}, "poolRef": pool, "address": address, "prefix": 24, "gateway": "10.0.0.1"}
    return IP_ADDRESSES.convert({"metadata": {"name": name}, "spec": spec})


def test_the_first_device_has_the_addresses_of_the_cluster() -> None:
    wanted = claims(machine({"name": "net0"}, {"name": "net1"}), cluster(BOTH))
    assert names(wanted) == [("a-net0-0-inet", "c-v4", True), ("a-net0-1-inet", "c-v6", True)]


def test_another_device_has_them_if_it_says_so() -> None:
    wanted = claims(machine({"name": "net0"}, {"name": "net1", "defaultIPv4": True}), cluster(BOTH))
    assert names(wanted) == [("a-net0-0-inet", "c-v6", True), ("a-net1-0-inet", "c-v4", True)]


def test_further_pools_of_a_device_are_claimed_after_those_of_the_cluster() -> None:
    pool = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "GlobalInClusterIPPool", "name": "storage"}
    wanted = claims(machine({"name": "net0", "ipPoolRef": [pool]}), cluster(BOTH))
    assert names(wanted)[-1] == ("a-net0-2-inet", "storage", False)


def test_claims_name_the_pools_of_the_cluster_in_full() -> None:
    wanted = claims(machine({"name": "net0"}), cluster(BOTH))
    assert not isinstance(wanted, str), wanted
    assert [(claim.pool.api_group, claim.pool.kind, claim.pool.name) for claim in wanted] == [
        ("ipam.cluster.x-k8s.io", "InClusterIPPool", "c-v4"),
        ("ipam.cluster.x-k8s.io", "InClusterIPPool", "c-v6"),
    ]


def test_machines_of_a_zone_have_its_pools() -> None:
    zone = {"zone": "east", "inClusterIPPoolRefV4": {"name": "c-east-v4"}}
    wanted = claims(machine({"name": "net0"}, zone="east"), cluster(BOTH, zone))
    assert names(wanted) == [("a-net0-0-inet", "c-east-v4", True)]


def test_pools_that_are_not_there_yet_are_waited_for() -> None:
    wanted = claims(machine({"name": "net0"}), cluster())
    assert isinstance(wanted, str)
    assert "no pools of addresses for zone default" in wanted


def test_capmox_29_a_device_with_dhcp_claims_nothing() -> None:
    assert claims(machine({"name": "net0", "addressing": "dhcp"}), cluster(BOTH)) == ()
    assert claims(machine({"name": "net0"}), cluster(addressing="dhcp")) == ()


def test_the_guest_is_told_its_addresses_by_the_hardware_address_of_the_device() -> None:
    made, shared = machine({"name": "net0"}), cluster({"inClusterIPPoolRefV4": {"name": "c-v4"}})
    wanted = claims(made, shared)
    assert not isinstance(wanted, str)
    network = guest_network(made, shared, wanted, {"a-net0-0-inet": given("a-net0-0-inet", "10.0.0.9")}, CONFIG)
    (nic,) = network.nics
    assert nic.mac == MAC.format(0)
    assert [(str(each.address), str(each.gateway), each.metric) for each in nic.addresses] == [
        ("10.0.0.9/24", "10.0.0.1", 100)
    ]
    assert nic.dns_servers == ("10.0.0.1",)
    assert network.leads_out


def test_two_devices_with_gateways_never_have_routes_at_the_same_price() -> None:
    pool = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "second"}
    made = machine({"name": "net0"}, {"name": "net1", "ipPoolRef": [pool]})
    shared = cluster({"inClusterIPPoolRefV4": {"name": "c-v4"}})
    wanted = claims(made, shared)
    assert not isinstance(wanted, str)
    addresses = {each.name: given(each.name, f"10.0.{number}.9") for number, each in enumerate(wanted)}
    network = guest_network(made, shared, wanted, addresses, CONFIG)
    assert [each.metric for nic in network.nics for each in nic.addresses] == [100, 102]


def test_a_pool_says_what_its_default_route_costs_and_the_others_stay_clear_of_it() -> None:
    pools = [{"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": each} for each in ("a", "b", "c")]
    made = machine({"name": "net0", "ipPoolRef": pools[:2]}, {"name": "net1", "ipPoolRef": pools[2:]})
    wanted = claims(made, cluster(BOTH, ipv4Config=CONFIGURED), {("InClusterIPPool", "b"): 102})
    assert not isinstance(wanted, str)
    assert [(each.pool.name, each.metric) for each in wanted] == [
        ("c-v4", 101),
        ("c-v6", 100),
        ("a", 103),
        ("b", 102),
        ("c", 104),
    ]


def test_devices_are_counted_by_name_and_not_as_they_are_written() -> None:
    wanted = claims(machine({"name": "net10"}, {"name": "net2"}, {"name": "net0"}), cluster(BOTH))
    assert names(wanted)[0][0] == "a-net0-0-inet"
