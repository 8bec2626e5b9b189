"""The network that guests with cloud-init are told: the content that CAPMOX gives for the same machines."""

from __future__ import annotations

from ipaddress import ip_address, ip_interface
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.boot.netplan import network_config
from nagaya.infrastructure.proxmox.boot.network import (
    Address,
    Network,
    Nic,
    Route,
    RoutingPolicy,
    UnusableNetwork,
    Vrf,
    destination,
)

DNS = ("8.8.8.8", "8.8.4.4")


def address(text: str, gateway: str = "", metric: int | None = None) -> Address:
    return Address(ip_interface(text), ip_address(gateway) if gateway else None, metric)


FIRST = Nic("net0", "92:60:a0:5b:22:c2", (address("10.10.10.12/24", "10.10.10.1", 100),), dns_servers=DNS)
SECOND = Nic("net1", "b4:87:18:bf:a3:60", (address("196.168.100.124/24", "196.168.100.254", 200),), dns_servers=DNS)
OF_FIRST = """
      match: {macaddress: '92:60:a0:5b:22:c2'}
      dhcp4: false
      dhcp6: false
      addresses: [10.10.10.12/24]
      routes: [{to: 0.0.0.0/0, metric: 100, via: 10.10.10.1}]
      nameservers: {addresses: [8.8.8.8, 8.8.4.4]}
"""
OF_SECOND = """
      match: {macaddress: 'b4:87:18:bf:a3:60'}
      dhcp4: false
      dhcp6: false
      addresses: [196.168.100.124/24]
      routes: [{to: 0.0.0.0/0, metric: 200, via: 196.168.100.254}]
      nameservers: {addresses: [8.8.8.8, 8.8.4.4]}
"""


def told(network: Network) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(network_config(network))["network"]
    assert (content.pop("version"), content.pop("renderer")) == (2, "networkd")
    return content


def of(**ethernets: str) -> dict[str, Any]:
    return {"ethernets": {name: yaml.safe_load(text) for name, text in ethernets.items()}}


def test_fixed_addresses() -> None:
    assert told(Network((FIRST,))) == of(eth0=OF_FIRST)
    assert told(Network((FIRST, SECOND))) == of(eth0=OF_FIRST, eth1=OF_SECOND)


def test_both_families() -> None:
    nic = Nic("net0", FIRST.mac, (*FIRST.addresses, address("2001:db8::1/64", "2001:db8::1", 100)), dns_servers=DNS)
    wanted = yaml.safe_load(OF_FIRST)
    wanted["addresses"].append("2001:db8::1/64")
    wanted["routes"].append({"to": "::/0", "metric": 100, "via": "2001:db8::1"})
    assert told(Network((nic,)))["ethernets"]["eth0"] == wanted


@pytest.mark.parametrize(("dhcp4", "dhcp6"), [(True, True), (True, False), (False, True)])
def test_addresses_by_dhcp(dhcp4: bool, dhcp6: bool) -> None:
    nic = Nic("net0", FIRST.mac, dhcp4=dhcp4, dhcp6=dhcp6, dns_servers=DNS)
    assert told(Network((nic,)))["ethernets"]["eth0"] == {
        "match": {"macaddress": FIRST.mac},
        "dhcp4": dhcp4,
        "dhcp6": dhcp6,
        "nameservers": {"addresses": list(DNS)},
    }


def test_routes_policies_and_mtu() -> None:
    nic = Nic(
        "net0",
        "92:60:a0:5b:22:c3",
        (address("10.10.11.12/24", "10.10.11.1", 200),),
        mtu=9001,
        routes=(
            Route(ip_interface("172.16.24.1/24"), ip_address("10.10.10.254"), metric=50),
            Route(ip_interface("2002::/64"), ip_address("2001:db8::1")),
        ),
        policies=(RoutingPolicy(destination("default"), ip_interface("192.168.178.1/24"), 999, 100),),
    )
    assert told(Network((nic,)))["ethernets"]["eth0"] == yaml.safe_load(
        """
        match: {macaddress: '92:60:a0:5b:22:c3'}
        dhcp4: false
        dhcp6: false
        addresses: [10.10.11.12/24]
        routes:
        - {to: 0.0.0.0/0, via: 10.10.11.1, metric: 200}
        - {to: 172.16.24.1/24, via: 10.10.10.254, metric: 50}
        - {to: '2002::/64', via: '2001:db8::1'}
        routing-policy: [{to: 0.0.0.0/0, from: 192.168.178.1/24, priority: 999, table: 100}]
        mtu: 9001
        """
    )


def test_routing_domains_have_the_devices_by_either_name() -> None:
    blue = Vrf(
        "vrf-blue",
        500,
        ("net0", "eth1"),
        (Route(ip_interface("10.10.10.0/24"), ip_address("192.168.178.254"), 100),),
        (RoutingPolicy(source=ip_interface("10.10.0.0/16")),),
    )
    assert told(Network((FIRST, SECOND), (blue, Vrf("vrf-red", 501))))["vrfs"] == {
        "vrf-blue": {
            "table": 500,
            "routes": [{"to": "10.10.10.0/24", "via": "192.168.178.254", "metric": 100}],
            "routing-policy": [{"from": "10.10.0.0/16"}],
            "interfaces": ["eth0", "eth1"],
        },
        "vrf-red": {"table": 501},
    }


def test_the_mtu_of_the_bridge_is_nothing_to_tell_the_guest() -> None:
    assert "mtu" not in told(Network((Nic("net0", FIRST.mac, dhcp4=True, mtu=1),)))["ethernets"]["eth0"]


def test_hardware_addresses_are_written_as_netplan_wants_them() -> None:
    content = told(Network((Nic("net0", "BC:24:11:5B:22:C2", dhcp4=True),)))["ethernets"]["eth0"]
    assert content["match"] == {"macaddress": "bc:24:11:5b:22:c2"}


def test_routes_from_dhcp_can_be_left_aside() -> None:
    content = told(Network((Nic("net0", FIRST.mac, dhcp4=True, dhcp_routes=False),)))["ethernets"]["eth0"]
    assert content["dhcp4-overrides"] == {"use-routes": False}
    assert "dhcp6-overrides" not in content


@given(st.text(), st.text(min_size=1))
def test_no_text_is_taken_for_anything_else(domain: str, name: str) -> None:
    nic = Nic("net0", "12:34:56:10:20:30", dhcp4=True, dns_servers=("1.1.1.1",), dns_search=(domain,))
    content = told(Network((nic,), (Vrf(name, 7),)))
    assert content["ethernets"]["eth0"]["nameservers"] == {"addresses": ["1.1.1.1"], "search": [domain]}
    assert content["ethernets"]["eth0"]["match"] == {"macaddress": "12:34:56:10:20:30"}
    assert content["vrfs"] == {name: {"table": 7}}


def test_networks_that_no_guest_could_have_are_refused() -> None:
    twice = Nic("net1", SECOND.mac, (address("10.9.9.9/24", "10.9.9.1", 100),))
    with pytest.raises(UnusableNetwork, match=r"two routes to 0\.0\.0\.0/0 have the metric 100"):
        Network((FIRST, twice))
    with pytest.raises(UnusableNetwork, match="no hardware address"):
        Network((Nic("net0", "", dhcp4=True),))
    with pytest.raises(UnusableNetwork, match="give name servers too"):
        Network((Nic("net0", FIRST.mac, dhcp4=True, dns_search=("home.example",)),))
    with pytest.raises(UnusableNetwork, match="neither"):
        Network((Nic("net0", FIRST.mac, policies=(RoutingPolicy(table=1),)),))
    with pytest.raises(UnusableNetwork, match="no table"):
        Network((Nic("net0", FIRST.mac, policies=(RoutingPolicy(to=destination("default")),)),))
    with pytest.raises(UnusableNetwork, match="net7"):
        Network((FIRST,), (Vrf("blue", 1, ("net7",)),))


def test_whether_there_is_a_way_out() -> None:
    alone = Nic("net0", FIRST.mac, (address("10.0.0.1/24"),))
    assert not Network((alone,)).leads_out
    assert Network((FIRST,)).leads_out
    assert Network((Nic("net0", FIRST.mac, dhcp4=True),)).leads_out
    assert not Network((Nic("net0", FIRST.mac, dhcp4=True, dhcp_routes=False),)).leads_out


def test_a_default_route_in_each_routing_domain_is_no_doubt_and_two_in_one_are() -> None:
    def domain(name: str, table: int, *devices: str) -> Vrf:
        return Vrf(name, table, devices, (Route(destination("all"), ip_address("10.1.1.1"), 100),))

    first = Nic("net0", FIRST.mac, (address("10.10.10.12/24", "10.10.10.1", 100),))
    second = Nic("net1", SECOND.mac, (address("10.20.10.12/24", "10.20.10.1", 100),))
    with pytest.raises(UnusableNetwork, match="two routes to"):
        Network((first, second))
    Network((first, second), (Vrf("blue", 500, ("net1",)), domain("red", 600)))
    with pytest.raises(UnusableNetwork, match="two routes to"):
        Network((first, second), (domain("blue", 500, "net1"),))
