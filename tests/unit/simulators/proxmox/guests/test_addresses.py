from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.guests.addresses import Router, configured

MAC = "bc:24:11:00:00:01"
OTHER = "bc:24:11:00:00:02"


def test_a_router_remembers_what_it_handed_out() -> None:
    router = Router("198.51.100.0/24")
    assert router.lease(MAC) == router.lease(MAC) == "198.51.100.50/24"
    assert router.lease(OTHER) == "198.51.100.51/24"


@pytest.mark.parametrize("network", ["", "[unreadable", "a text", "- a list"])
def test_without_readable_data_devices_ask_the_router(network: str) -> None:
    found = configured(network, {"net0": MAC, "net1": OTHER}, Router())
    assert found == {"net0": ("eth0", ["192.0.2.50/24"]), "net1": ("eth1", ["192.0.2.51/24"])}


def test_version_1_names_addresses_by_hardware_address() -> None:
    network = f"""
version: 1
config:
- type: physical
  name: eth0
  mac_address: '{MAC.upper()}'
  subnets:
  - type: static
    address: '192.0.2.9'
    netmask: '255.255.255.0'
  - type: static6
    address: '2001:db8::9/64'
- type: physical
  name: eth1
  mac_address: '{OTHER}'
  subnets:
  - type: dhcp4
- type: nameserver
"""
    assert configured(network, {"net0": MAC, "net1": OTHER}, Router()) == {
        "net0": ("eth0", ["192.0.2.9/24", "2001:db8::9/64"]),
        "net1": ("eth1", ["192.0.2.50/24"]),
    }


def test_version_2_is_read_with_and_without_its_outer_key() -> None:
    inner = f"""
  version: 2
  ethernets:
    nic:
      match: {{macaddress: '{MAC}'}}
      set-name: lan0
      addresses: [192.0.2.7/24]
"""
    for network in ("network:" + inner, inner):
        assert configured(network, {"net0": MAC}, Router()) == {"net0": ("lan0", ["192.0.2.7/24"])}


def test_a_device_that_the_data_do_not_name_has_no_address() -> None:
    assert configured("version: 2\nethernets: {}\n", {"net0": MAC}, Router()) == {"net0": ("eth0", [])}
