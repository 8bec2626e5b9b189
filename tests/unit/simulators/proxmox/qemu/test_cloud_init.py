from __future__ import annotations

import hashlib
from typing import Any

import pytest
import yaml

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.cloud_init import Resolver, boot_data, dump, form, user_data

RESOLVER = Resolver("example.lan", ("192.0.2.53",))
KEYS = "ssh-ed25519%20AAAA%20a%40b%0Assh-ed25519%20BBBB%20c%40d%0A"
SECTION: dict[str, Any] = {
    "name": "node1",
    "ciuser": "debian",
    "cipassword": "$5$salt$hash",
    "sshkeys": KEYS,
    "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0",
    "net1": "virtio=BC:24:11:00:00:02,bridge=vmbr0",
    "ipconfig0": "ip=192.0.2.5/24,gw=192.0.2.1,ip6=auto",
    "ipconfig1": "ip=dhcp,ip6=2001:db8::5/64,gw6=2001:db8::1",
}


def test_user_data_are_as_pve_writes_them() -> None:
    assert user_data(SECTION, 100) == (
        "#cloud-config\n"
        "hostname: node1\n"
        "manage_etc_hosts: true\n"
        "fqdn: node1\n"
        "user: debian\n"
        "password: $5$salt$hash\n"
        "ssh_authorized_keys:\n"
        "  - ssh-ed25519 AAAA a@b\n"
        "  - ssh-ed25519 BBBB c@d\n"
        "chpasswd:\n"
        "  expire: False\n"
        "users:\n"
        "  - default\n"
        "package_upgrade: true\n"
    )


@pytest.mark.parametrize(
    ("section", "short", "full"),
    [
        ({"name": "a.b.example"}, "a", "a.b.example"),
        ({"name": "a", "searchdomain": "lan"}, "a", "a.lan"),
        ({}, "VM100", "VM100"),
    ],
)
def test_names_follow_from_name_and_domain(section: dict[str, Any], short: str, full: str) -> None:
    text = user_data(section, 100)
    assert f"hostname: {short}\n" in text
    assert f"fqdn: {full}\n" in text


def test_root_and_no_upgrade() -> None:
    text = user_data({"ciuser": "root", "ciupgrade": 0}, 100)
    assert "disable_root: False\n" in text
    assert "users:" not in text
    assert "package_upgrade" not in text


def test_the_network_of_nocloud_is_yaml_that_says_what_was_asked() -> None:
    data = yaml.safe_load(dump(SECTION, 100, "network", RESOLVER))
    first, second, nameserver = data["config"]
    assert data["version"] == 1
    assert (first["name"], first["mac_address"]) == ("eth0", "bc:24:11:00:00:01")
    assert first["subnets"] == [
        {"type": "static", "address": "192.0.2.5", "netmask": "255.255.255.0", "gateway": "192.0.2.1"},
        {"type": "ipv6_slaac"},
    ]
    assert second["subnets"] == [
        {"type": "dhcp4"},
        {"type": "static6", "address": "2001:db8::5/64", "gateway": "2001:db8::1"},
    ]
    assert nameserver == {"type": "nameserver", "address": ["192.0.2.53"], "search": ["example.lan"]}


def test_windows_gets_a_config_drive() -> None:
    section = {**SECTION, "ostype": "win11"}
    assert form(section) == "configdrive2"
    text = dump(section, 100, "network", RESOLVER)
    assert text.startswith("auto lo\niface lo inet loopback\n\n")
    assert "iface eth0 inet static\n        address 192.0.2.5\n        netmask 255.255.255.0\n" in text
    assert '"uuid"' in dump(section, 100, "meta", RESOLVER)


def test_the_instance_changes_with_the_data() -> None:
    user, network = (dump(SECTION, 100, kind, RESOLVER) for kind in ("user", "network"))
    identity = hashlib.sha1((user + network).encode(), usedforsecurity=False).hexdigest()
    assert dump(SECTION, 100, "meta", RESOLVER) == f"instance-id: {identity}\n"
    other = {**SECTION, "ciuser": "root"}
    assert dump(other, 100, "meta", RESOLVER) != dump(SECTION, 100, "meta", RESOLVER)


def test_a_password_can_be_hidden() -> None:
    shown = dump(SECTION, 100, "user", RESOLVER, mask=True)
    assert "password: **********\n" in shown
    assert "hash" not in shown


def test_parts_from_files_come_before_those_of_options() -> None:
    data = boot_data(SECTION, 100, RESOLVER, {"user": "#cloud-config\nhostname: mine\n"})
    assert data.user == "#cloud-config\nhostname: mine\n"
    assert data.network == dump(SECTION, 100, "network", RESOLVER)
    assert data.label == "cidata"


def test_an_address_that_somebody_sets_by_hand_is_none_that_can_be_written() -> None:
    section = {**SECTION, "ipconfig0": "ip=manual"}
    for kind in ("nocloud", "configdrive2"):
        with pytest.raises(Failure, match="not a CIDR: manual"):
            dump({**section, "citype": kind}, 100, "network", RESOLVER)
    only = {"net0": SECTION["net0"], "ipconfig0": "ip6=manual", "citype": "configdrive2"}
    assert dump(only, 100, "network", Resolver()).endswith(
        "iface eth0 inet6 static\n        address manual\n        netmask \n"
    )
