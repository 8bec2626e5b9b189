"""Formats by name: what is of them, and in which words the rest is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nagaya.simulators.proxmox import surface
from nagaya.simulators.proxmox.surface import Schema
from nagaya.simulators.proxmox.verification import FormatError, check_format, formats
from support.subtest_cases import subtest_cases

GOOD = {
    "CIDR": ["10.0.0.0/8", "fd00::/64"],
    "CIDRv4": ["192.0.2.1/32"],
    "CIDRv6": ["::/8", "2001:db8::1/128"],
    "address": ["pve.example", "192.0.2.1", "::1"],
    "bridge-pair": ["vmbr0:vmbr1", "vmbr1", "1"],
    "disk-size": ["1", "1.5G", "10T"],
    "dns-name": ["a", "a-b.c1", "0.1"],
    "email-opt": ["", "a@b", "a.b+c@d-e.f"],
    "email-or-username": ["root", "a@b.c"],
    "ip-list": ["", "192.0.2.1,::1;fe80::1 ::"],
    "ipv4": ["0.0.0.0", "255.255.255.255"],
    "ipv4mask": ["0.0.0.0", "255.255.254.0", "255.255.255.255"],
    "ipv6": ["::", "::1", "1:2:3:4:5:6:7:8", "::ffff:192.0.2.1", "fe80::1:2"],
    "mac-addr": ["BC:24:11:00:00:01", "bc:24:11:00:00:01"],
    "mac-prefix": ["BC:24:11", "BC:24:11:", "BC"],
    "pve-acme-alias": ["_acme.example.org"],
    "pve-acme-domain": ["pve.example.org"],
    "pve-bridge-id": ["vmbr0", "a.b-c_d"],
    "pve-configid": ["ab", "A_-1"],
    "pve-cpuset": ["0", "0,5,8-11", " 1 , 2 ", ""],
    "pve-day-of-week-list": ["mon,tue", ""],
    "pve-dir-override-list": ["iso=media/iso", "images=a,backup=b/c"],
    "pve-groupid": ["a.b-c_d"],
    "pve-ha-node-list": ["pve1", "pve1:2,pve2"],
    "pve-ha-resource-id": ["vm:100"],
    "pve-ha-resource-or-vm-id": ["vm:100", "100"],
    "pve-hotplug-features": ["0", "1", "network,disk", "", "cloudinit usb"],
    "pve-iface": ["eth0", "eth0.100", "vmbr0:1"],
    "pve-ipv4-config": ["dhcp", "manual", "192.0.2.5/24"],
    "pve-ipv6-config": ["auto", "dhcp", "manual", "fd00::5/64"],
    "pve-node": ["pve1", "PVE-1", "1"],
    "pve-phys-bits": ["host", "8", "64"],
    "pve-poolid": ["dev", "a/b/c"],
    "pve-priv-list": ["VM.Audit", "VM.Audit,Sys.Audit", ""],
    "pve-qm-bootdev-list": ["scsi0;ide2;net0", "hostpci15", "usb13"],
    "pve-qm-bootdisk": ["scsi30", "efidisk0"],
    "pve-realm": ["pve", "a.b-c"],
    "pve-replication-job-id": ["100-0"],
    "pve-roleid": ["PVEAdmin"],
    "pve-sdn-bgp-rt": ["65000:1"],
    "pve-sdn-fabric-id": ["a", "fabric-1"],
    "pve-sdn-subnet-id": ["10.0.0.0/24", "zone-10.0.0.0-24"],
    "pve-startup-order": ["1", "order=1,up=5,down=60", "up=1"],
    "pve-storage-content-list": ["images,iso,import", "none", ""],
    "pve-storage-id": ["local-lvm", "A1"],
    "pve-storage-options": ["vers=4.2"],
    "pve-storage-path": ["/srv"],
    "pve-storage-portal-dns": ["192.0.2.1", "san:3260", "[::1]:3260", "::1.3260"],
    "pve-storage-server": ["nas.example", "::1"],
    "pve-storage-vgname": ["0vg", "vg-a"],
    "pve-tag-list": ["a;b c,d", "Red+1.x_-", ""],
    "pve-task-status-type-list": ["ok,error", "WARNING unknown"],
    "pve-tokenid-list": ["alice@pve!ci"],
    "pve-userid": ["root@pam", "a!b@pve"],
    "pve-vlan-id-or-range-list": ["2-4094", "5 7-9"],
    "pve-vmid": ["100", "999999999"],
    "pve-volume-id": ["local:iso/a.iso"],
    "pve-volume-id-or-absolute-path": ["/dev/sda", "local:1"],
    "pve-volume-id-or-qm-path": ["none", "cdrom", "/dev/sda", "local:1"],
    "regex": ["("],
    "storage-pair": ["1", "a1:b1", "a1"],
    "string-list": ["anything at all"],
    "urlencoded": ["", "a%20b!~*'()"],
}

BAD = {
    ("CIDR", "10.0.0.0/7"): "value does not look like a valid CIDR network\n",
    ("CIDRv4", "10.0.0.0/33"): "value does not look like a valid IPv4 CIDR network\n",
    ("CIDRv6", "10.0.0.0/24"): "value does not look like a valid IPv6 CIDR network\n",
    ("address", "a_b"): "value does not look like a valid address: a_b\n",
    ("address-list", "192.0.2.1 -x"): "value does not look like a valid address: -x\n",
    ("bridge-pair", "a:/"): "entry 'a:/' contains invalid ID - invalid bridge ID '/'\n\n\n",
    ("disk-size", "1g"): "value does not look like a valid disk size: 1g\n",
    ("dns-name", "a_b"): "value does not look like a valid DNS name\n",
    ("dns-name", ""): "value does not look like a valid DNS name\n",
    ("email-opt", "x"): "value does not look like a valid email address\n",
    ("email-or-username", "a b"): "value does not look like a valid email address or user name\n",
    ("ip", "300.1.1.1"): "value does not look like a valid IP address\n",
    ("ipv4", "01.1.1.1"): "value does not look like a valid IPv4 address\n",
    ("ipv4mask", "255.0.255.0"): "value does not look like a valid IP netmask\n",
    ("ipv6", ":::"): "value does not look like a valid IPv6 address\n",
    ("ldap-simple-attr", "a-b"): "value 'a-b' does not look like a simple ldap attribute name\n",
    ("mac-addr", "01:24:11:6E:80:C2"): "value does not look like a valid unicast MAC address\n",
    ("mac-prefix", "BD"): "value is not a valid unicast MAC address prefix\n",
    ("nonsense", ""): "undefined format 'nonsense'\n",
    ("pve-bridge-id", "a b"): "invalid bridge ID 'a b'\n",
    ("pve-configid", "1x"): "invalid configuration ID '1x'\n",
    ("pve-cpuset", "3-1"): "unable to parse cpuset option\n",
    ("pve-dir-override", "iso=.."): "invalid override 'iso=..'\n",
    ("pve-dir-override", "music=a"): "invalid content type 'music'\n",
    ("pve-groupid", "a b"): "group name 'a b' contains invalid characters\n",
    ("pve-ha-resource-id", "100"): "value does not look like a valid ha resource id\n",
    ("pve-hotplug-features", "disk,everything"): "invalid hotplug feature 'everything'\n",
    ("pve-iface", "0a"): "invalid network interface name '0a'\n",
    ("pve-ipv4-config", "auto"): "value does not look like a valid ipv4 network configuration\n",
    ("pve-ipv6-config", "192.0.2.5/24"): "value does not look like a valid ipv6 network configuration\n",
    ("pve-node", "pve_1"): "value does not look like a valid node name\n",
    ("pve-phys-bits", "7"): "value must be an integer between 8 and 64 or 'host'\n",
    ("pve-poolid", "a b"): "pool name 'a b' contains invalid characters\n",
    ("pve-poolid", "a/b/c/d"): "pool name 'a/b/c/d' nested too deeply (max levels = 3)\n",
    ("pve-priv-list", "VM.Fly"): "invalid privilege 'VM.Fly'\n",
    ("pve-qm-boot-list", ""): "'-list' format must have code ref, not hash\n",
    ("pve-qm-bootdev", "scsi31"): "invalid boot device 'scsi31'\n",
    ("pve-qm-bootdev", "efidisk0"): "invalid boot device 'efidisk0'\n",
    ("pve-qm-bootdisk", "scsi01"): "invalid boot disk 'scsi01'\n",
    ("pve-realm", "1"): "value does not look like a valid realm\n",
    ("pve-replication-job-id", "99-0"): (
        "invalid replication job id '99-0' - value does not look like a valid VM ID\n"
    ),
    ("pve-roleid", "a b"): "role name 'a b' contains invalid characters\n",
    ("pve-sdn-bgp-rt", "4294967296:1"): "value does not look like a valid bgp route-target\n",
    ("pve-sdn-subnet-id", "zone"): "value does not look like a valid CIDR network\n",
    ("pve-startup-order", "0"): "unable to parse startup options\n",
    ("pve-startup-order", "first"): "unable to parse startup options\n",
    ("pve-storage-content", "music"): "invalid content type 'music'\n",
    ("pve-storage-id", "a"): "storage ID 'a' contains illegal characters\n",
    ("pve-storage-path", "srv"): "value does not look like a valid absolute path\n",
    ("pve-storage-portal-dns", "a b"): "value does not look like a valid portal address\n",
    ("pve-storage-server", "a_b"): "value does not look like a valid server name or IP address\n",
    ("pve-storage-vgname", "a/b"): "lvm name 'a/b' contains illegal characters\n",
    ("pve-tag-list", "a;-b"): "invalid characters in tag\n",
    ("pve-task-status-type-list", "fine"): "invalid status 'fine'\n",
    ("pve-tokenid", "alice@pve"): "value 'alice@pve' does not look like a valid token ID\n",
    ("pve-userid", "0"): "user name '' is too short\n",
    ("pve-userid", "alice"): "value 'alice' does not look like a valid user name\n",
    ("pve-userid", "a" * 65): f"user name '{'a' * 65}' is too long (65 > 64)\n",
    ("pve-vlan-id-or-range", "1"): "invalid VLAN tag '1'\n",
    ("pve-vlan-id-or-range", "9-5"): "VLAN range must go from lower to higher tag '9-5'\n",
    ("pve-vlan-id-or-range", "x"): "invalid VLAN configuration 'x'\n",
    ("pve-vmid-list", "100 99"): "value does not look like a valid VM ID\n",
    ("pve-volume-id", "nonsense"): "unable to parse volume ID 'nonsense'\n",
    ("storage-pair", "a1:b"): "entry 'a1:b' contains invalid ID - storage ID 'b' contains illegal characters\n\n\n",
    ("storage-pair", "a1:b1,a1:c1"): "duplicate mapping for source 'a1'\n\n",
    ("storage-pair", "a1,b1"): "default target ID can only be provided once\n\n",
    ("storage-pair", "1,b1"): "identity mapping cannot be combined with other mappings\n\n",
    ("urlencoded", "a b"): "invalid urlencoded string: a b\n",
}


@subtest_cases(("name", "value"), [(name, value) for name, values in GOOD.items() for value in values])
def test_a_string_of_a_format_is_taken(name: str, value: str) -> None:
    check_format(name, value)


@subtest_cases(("name", "value"), BAD)
def test_a_string_that_is_not_of_a_format_is_refused_in_the_words_of_pve(name: str, value: str) -> None:
    with pytest.raises(FormatError) as refused:
        check_format(name, value)
    assert refused.value.text == BAD[name, value]


def test_every_format_that_a_parameter_refers_to_is_known() -> None:
    names = {
        name for version in surface.VERSIONS for route in surface.routes(version) for name in named(route.parameters)
    }
    assert {name for name in names if formats.find(name.removesuffix("-list").removesuffix("-opt")) is None} == set()


def named(schema: Schema) -> Iterator[str]:
    """The formats that a schema and all below it refer to."""
    if isinstance(schema.format, str):
        yield schema.format
    elif schema.format is not None:
        yield from named(schema.format)
    for part in {id(part): part for part in schema.properties.values()}.values():
        yield from named(part)
    if schema.items is not None:
        yield from named(schema.items)
