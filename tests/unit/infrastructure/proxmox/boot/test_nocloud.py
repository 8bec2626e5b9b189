"""The files of a seed."""

from __future__ import annotations

from ipaddress import ip_interface

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.boot.network import Address, Network, Nic
from nagaya.infrastructure.proxmox.boot.nocloud import meta_data, node_ip, seed

UUID = "41ec1197-580f-460b-b41b-1dfefabe6e32"


def test_a_machine_is_told_who_it_is() -> None:
    assert yaml.safe_load(meta_data(UUID, "web-1")) == {
        "instance-id": UUID,
        "local-hostname": "web-1",
        "hostname": "web-1",
    }
    assert yaml.safe_load(meta_data(UUID, "web-1", "v1.34.2", provider_id=True)) == {
        "instance-id": UUID,
        "local-hostname": "web-1",
        "hostname": "web-1",
        "provider-id": f"proxmox://{UUID}",
        "kubernetes-version": "v1.34.2",
    }


@given(st.text(min_size=1), st.text(min_size=1), st.text())
def test_no_name_is_taken_for_anything_else(instance: str, hostname: str, version: str) -> None:
    content = yaml.safe_load(meta_data(instance, hostname, version))
    assert (content["instance-id"], content["local-hostname"], content["hostname"]) == (instance, hostname, hostname)
    assert content.get("kubernetes-version", "") == version


@pytest.mark.parametrize(("instance", "hostname"), [("", "a"), ("a", "")])
def test_a_machine_without_a_name_is_refused(instance: str, hostname: str) -> None:
    with pytest.raises(ValueError, match="cannot be told who it is"):
        meta_data(instance, hostname)


def test_user_data_are_handed_on_as_they_are() -> None:
    files = seed(b"\xff\x00 #cloud-config", b"m", Network((Nic("net0", "92:60:a0:5b:22:c2", dhcp4=True),)))
    assert (files["user-data"], files["meta-data"], files["vendor-data"]) == (b"\xff\x00 #cloud-config", b"m", b"")
    assert yaml.safe_load(files["network-config"])["network"]["ethernets"]["eth0"]["dhcp4"] is True


def test_without_a_network_the_guest_is_told_of_none() -> None:
    assert yaml.safe_load(seed(b"", b"m", None)["network-config"]) == {"version": 1, "config": []}


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        ((), ""),
        (("10.0.0.20/24",), "10.0.0.20"),
        (("fd00::20/64*", "10.0.0.20/24*", "10.9.0.20/24"), "10.0.0.20,fd00::20"),
        (("10.9.0.20/24", "fd09::20/64"), "10.9.0.20"),
    ],
)
def test_capmox_607_the_kubelet_is_told_the_address_that_the_machine_is_known_by(
    addresses: tuple[str, ...], expected: str
) -> None:
    made = tuple(Address(ip_interface(each.rstrip("*")), default=each.endswith("*")) for each in addresses)
    found = node_ip(Network((Nic("net0", "bc:24:11:00:00:01", made),)))
    assert found == expected
    assert yaml.safe_load(meta_data(UUID, "web-1", node_ip=found))["node-ip"] == expected
