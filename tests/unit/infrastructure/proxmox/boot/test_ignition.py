"""What is added to an Ignition configuration: what CAPMOX adds."""

from __future__ import annotations

import json
from ipaddress import ip_address, ip_interface
from typing import Any
from urllib.parse import unquote

import pytest

from nagaya.infrastructure.proxmox.boot.ignition import UnusableIgnition, enriched
from nagaya.infrastructure.proxmox.boot.network import (
    Address,
    Network,
    Nic,
    Route,
    RoutingPolicy,
    UnusableNetwork,
    Vrf,
)
from nagaya.infrastructure.proxmox.boot.networkd import units

FIRST = Nic(
    "net0",
    "E2:B8:FE:E7:50:75",
    (
        Address(ip_interface("10.0.0.98/25"), ip_address("10.0.0.1"), 100, default=True),
        Address(ip_interface("2001:db8:1::10/64"), ip_address("2001:db8:1::1"), 100, default=True),
    ),
    dns_servers=("10.0.1.1",),
)
SECOND = Nic(
    "net1",
    "E2:8E:95:1F:EB:36",
    (Address(ip_interface("10.0.1.84/25"), ip_address("10.0.1.1"), 200),),
    dns_servers=("10.0.1.1",),
)
POLICY = RoutingPolicy(ip_interface("8.7.6.5/32"), ip_interface("1.1.1.1/32"), 100)
RED = Vrf("vrf0", 644, ("eth1",), (Route(ip_interface("3.4.5.6/32"), ip_address("10.0.1.1"), 100),), (POLICY,))
OLD = {
    "ignition": {"version": "2.3.0", "config": {}},
    "networkd": {},
    "storage": {"files": [{"filesystem": "root", "path": "/etc/sudoers.d/core", "contents": {"source": "data:,x"}}]},
    "systemd": {"units": [{"name": "kubeadm.service", "enabled": True}]},
}


def made(config: object, network: Network) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(enriched(json.dumps(config).encode(), "my-vm", "uuid-1", network))
    return content


def files(config: dict[str, Any]) -> dict[str, str]:
    return {
        each["path"]: unquote(each["contents"]["source"].removeprefix("data:,")) for each in config["storage"]["files"]
    }


def test_units_of_devices_and_routing_domains() -> None:
    assert units(Network((FIRST, SECOND), (RED,))) == {
        "00-vrf0.netdev": "[NetDev]\nName=vrf0\nKind=vrf\n[VRF]\nTable=644\n",
        "00-eth0.network": (
            "[Match]\nMACAddress=E2:B8:FE:E7:50:75\n[Network]\nDNS=10.0.1.1\n"
            "[Address]\nAddress=10.0.0.98/25\n[Address]\nAddress=2001:db8:1::10/64\n"
            "[Route]\nDestination=0.0.0.0/0\nGateway=10.0.0.1\nMetric=100\n"
            "[Route]\nDestination=::/0\nGateway=2001:db8:1::1\nMetric=100\n"
        ),
        "01-eth1.network": (
            "[Match]\nMACAddress=E2:8E:95:1F:EB:36\n[Network]\nVRF=vrf0\nDNS=10.0.1.1\n"
            "[Address]\nAddress=10.0.1.84/25\n[Route]\nDestination=0.0.0.0/0\nGateway=10.0.1.1\nMetric=200\n"
        ),
        "02-vrf2.network": (
            "[Match]\nName=vrf0\n[Route]\nDestination=3.4.5.6/32\nGateway=10.0.1.1\nMetric=100\n"
            "[RoutingPolicyRule]\nTo=8.7.6.5/32\nFrom=1.1.1.1/32\nPriority=100\nTable=644\n"
        ),
    }


@pytest.mark.parametrize(("dhcp4", "dhcp6", "line"), [(1, 1, "DHCP=yes"), (1, 0, "DHCP=ipv4"), (0, 1, "DHCP=ipv6")])
def test_units_with_dhcp_and_mtu(dhcp4: int, dhcp6: int, line: str) -> None:
    nic = Nic(
        "net0",
        FIRST.mac,
        dhcp4=bool(dhcp4),
        dhcp6=bool(dhcp6),
        mtu=1400,
        dns_servers=("1.1.1.1",),
        dns_search=("a.example", "b.example"),
    )
    assert units(Network((nic,))) == {
        "00-eth0.network": (
            f"[Match]\nMACAddress={FIRST.mac}\n[Link]\nMTUBytes=1400\n"
            f"[Network]\n{line}\nDNS=1.1.1.1\nDomains=a.example b.example\n"
        )
    }


@pytest.mark.parametrize("search", ["a\nDHCP=yes", "a\r", "\x00", "a\u2028b"])
def test_text_that_would_begin_another_setting_is_refused(search: str) -> None:
    with pytest.raises(UnusableNetwork, match="cannot be written"):
        units(Network((Nic("net0", FIRST.mac, dns_servers=("1.1.1.1",), dns_search=(search,)),)))


def test_a_configuration_of_version_2_gets_host_name_environment_and_network() -> None:
    config = made(OLD, Network((FIRST,)))
    assert config["ignition"] == OLD["ignition"]
    assert files(config) == {
        "/etc/sudoers.d/core": "x",
        "/etc/hostname": "my-vm",
        "/etc/proxmox-env": (
            "COREOS_CUSTOM_HOSTNAME=my-vm\nCOREOS_CUSTOM_INSTANCE_ID=uuid-1\n"
            "COREOS_CUSTOM_PROVIDER_ID=proxmox://uuid-1\nCOREOS_CUSTOM_PRIVATE_IPV4=10.0.0.98/25\n"
            "COREOS_CUSTOM_PRIVATE_IPV6=2001:db8:1::10/64"
        ),
    }
    assert all(each["filesystem"] == "root" for each in config["storage"]["files"])
    assert [each["name"] for each in config["networkd"]["units"]] == ["00-eth0.network"]
    assert config["systemd"]["units"] == [
        {"name": "kubeadm.service", "enabled": True},
        {"name": "systemd-resolved.service", "enable": True},
    ]


def test_a_configuration_of_version_3_gets_the_network_as_files() -> None:
    config = made({"ignition": {"version": "3.4.0"}}, Network((FIRST,)))
    assert "networkd" not in config
    assert files(config)["/etc/systemd/network/00-eth0.network"] == units(Network((FIRST,)))["00-eth0.network"]
    assert all("filesystem" not in each for each in config["storage"]["files"])
    assert config["systemd"]["units"] == [{"name": "systemd-resolved.service", "enabled": True}]


@pytest.mark.parametrize(
    "bootstrap", [b"{}", b"[]", b"#cloud-config", b'{"ignition":{"version":"1.0"}}', b'{"ignition":{"version":2}}']
)
def test_what_is_no_configuration_is_refused(bootstrap: bytes) -> None:
    with pytest.raises(UnusableIgnition, match="the bootstrap data are"):
        enriched(bootstrap, "a", "b", Network((FIRST,)))


def test_a_configuration_with_something_else_in_its_lists_is_refused() -> None:
    with pytest.raises(UnusableIgnition, match=r"storage\.files"):
        made({"ignition": {"version": "2.3.0"}, "storage": {"files": {}}}, Network((FIRST,)))
