"""Property strings: how they are read, refused, and written again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.simulators.proxmox import surface
from nagaya.simulators.proxmox.surface import Schema
from nagaya.simulators.proxmox.verification import FormatError, parse, render, verify
from support.subtest_cases import subtest_cases

OPTIONS = surface.routes("9.2").get("PUT", "/nodes/{node}/qemu/{vmid}/config").parameters


def form_of(option: str) -> str | Schema:
    found = OPTIONS.properties[option].format
    assert found is not None
    return found


NET = form_of("net0")
DISK = form_of("scsi0")
AGENT = form_of("agent")


def test_a_part_without_a_key_is_the_default_one() -> None:
    assert parse(NET, "virtio,bridge=vmbr0") == {"model": "virtio", "bridge": "vmbr0"}


def test_a_key_can_be_the_value_of_another_property() -> None:
    assert parse(NET, "virtio=BC:24:11:00:00:01") == {"model": "virtio", "macaddr": "BC:24:11:00:00:01"}


def test_an_old_key_means_the_new_one() -> None:
    assert parse(AGENT, "1,freeze-fs-on-backup=0") == {"enabled": True, "freeze-fs": False}
    assert parse(DISK, "volume=store:1") == {"file": "store:1"}


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("on", True), ("YES", True), ("off", False), ("false", False)]
)
def test_booleans_have_more_words_than_outside(text: str, value: bool) -> None:
    assert parse(AGENT, f"enabled={text}") == {"enabled": value}
    assert parse(AGENT, text) == {"enabled": value}


def test_empty_parts_do_not_count() -> None:
    assert parse(NET, ",virtio,, ,bridge=vmbr0,") == {"model": "virtio", "bridge": "vmbr0"}


@subtest_cases(
    ("form", "text", "complaint"),
    [
        (NET, "virtio,e1000", "duplicate key in comma-separated list property: model\n"),
        (NET, "virtio,model=e1000", "duplicate key in comma-separated list property: model\n"),
        (NET, "model=e1000,virtio", "duplicate key in comma-separated list property: model\n"),
        (NET, "virtio,tag=1,tag=2", "duplicate key in comma-separated list property: tag\n"),
        (NET, "virtio,virtio=BC:24:11:00:00:01", "key alias 'model' is already defined\n"),
        (NET, "virtio,=1", "missing key in comma-separated list property\n"),
        (NET, "virtio,tag=", "missing key in comma-separated list property\n"),
        (NET, "virtio,bridge=a\nb", "properties must not contain newlines\n"),
        ("pve-qm-ipconfig", "dhcp", "value without key, but schema does not define a default key\n"),
        ("pve-vmid", "100", "unknown format: pve-vmid\n"),
    ],
)
def test_a_string_that_cannot_be_split_is_refused(form: str | Schema, text: str, complaint: str) -> None:
    with pytest.raises(FormatError) as refused:
        parse(form, text, "net0")
    assert refused.value.text == complaint


def test_a_default_that_is_false_can_be_said_again() -> None:
    assert parse(AGENT, "enabled=0,1") == {"enabled": True}


def test_all_properties_are_complained_of_by_name() -> None:
    with pytest.raises(FormatError) as refused:
        parse(NET, "tag=x,foo=1,rate=-1", "net0")
    assert refused.value.text == (
        "format error\n"
        "net0.foo: property is not defined in schema and the schema does not allow additional properties\n"
        "net0.model: property is missing and it is not optional\n"
        "net0.rate: value must have a minimum value of 0\n"
        "net0.tag: type check ('integer') failed - got 'x'\n"
    )


def test_a_property_can_need_another() -> None:
    assert verify(OPTIONS, {"node": "pve1", "vmid": "100", "ipconfig0": "gw=192.0.2.1"}) == {
        "ipconfig0": "invalid format - format error\nipconfig0.ip: missing property required by 'ipconfig0.gw'\n"
    }


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("flags=+aes", "CPU is missing cputype\n"),
        ("custom-fast", "Custom cputype 'fast' not found\n"),
        ("host,reported-model=kvm64", "Property 'reported-model' not allowed in VM-specific CPU config.\n"),
        ("host,level=-1", "format error\ncpu.level: value must have a minimum value of 0\n"),
    ],
)
def test_processors_are_checked_beyond_their_properties(text: str, complaint: str) -> None:
    with pytest.raises(FormatError) as refused:
        parse("pve-vm-cpu-conf", text, "cpu")
    assert refused.value.text == complaint


@pytest.mark.parametrize(
    "text", ["host", "x86-64-v2-AES,flags=+aes;-pcid", "kvm64,hidden=1", "cortex-a57,phys-bits=host"]
)
def test_processors_that_exist_are_taken(text: str) -> None:
    assert render(parse("pve-vm-cpu-conf", text), "pve-vm-cpu-conf") == text


def test_keeping_all_backups_is_the_same_as_keeping_none() -> None:
    assert parse("prune-backups", "keep-last=0") == {"keep-all": True}
    assert parse("prune-backups", "keep-last=3,keep-all=0") == {"keep-last": "3"}
    with pytest.raises(FormatError, match="keep-all cannot be set together"):
        parse("prune-backups", "keep-last=3,keep-all=1")


def test_the_order_of_a_written_string_is_that_of_pve() -> None:
    drive: dict[str, Any] = {"size": 10 * 1024**3, "file": "store:1", "iothread": True, "cache": "none", "index": 0}
    assert render(drive, DISK, skip=["index"]) == "store:1,cache=none,iothread=1,size=10G"
    net: dict[str, Any] = {"bridge": "vmbr0", "macaddr": "BC:24:11:00:00:01", "model": "virtio", "tag": None}
    assert render(net, NET) == "virtio=BC:24:11:00:00:01,bridge=vmbr0"
    assert render({"host": "a", "apitoken": "b", "port": 1}, "proxmox-remote") == "apitoken=b,host=a,port=1"


@pytest.mark.parametrize(
    ("properties", "form", "complaint"),
    [
        ({"model": "virtio", "foo": "1"}, NET, "invalid key 'foo'"),
        ({"model": "virtio", "bridge": "a,b"}, NET, "illegal value with commas for bridge"),
        ({}, "pve-vmid", "not a valid format: pve-vmid"),
    ],
)
def test_what_cannot_be_written_is_refused(properties: dict[str, Any], form: str | Schema, complaint: str) -> None:
    with pytest.raises(FormatError, match=complaint):
        render(properties, form)


MACS = st.lists(st.integers(0, 255), min_size=5, max_size=5).map(
    lambda rest: ":".join(["BC", *(f"{byte:02X}" for byte in rest)])
)


@given(
    st.fixed_dictionaries(
        {"model": st.sampled_from(["virtio", "e1000", "vmxnet3"])},
        optional={
            "macaddr": MACS,
            "bridge": st.from_regex(r"\Avmbr[0-9]{1,3}\Z"),
            "tag": st.integers(1, 4094).map(str),
            "rate": st.decimals(0, 1000, places=2).map(str),
            "firewall": st.booleans(),
            "mtu": st.integers(1, 65520).map(str),
        },
    )
)
def test_a_network_device_survives_being_written_and_read(net: dict[str, str | bool]) -> None:
    text = render(net, NET)
    assert parse(NET, text) == net
    assert render(parse(NET, text), NET) == text
    assert verify(OPTIONS, {"node": "pve1", "vmid": "100", "net0": text}) == {}


@given(
    st.fixed_dictionaries(
        {"file": st.sampled_from(["store:100/vm-100-disk-0.qcow2", "none", "/dev/sda", "store:cloudinit"])},
        optional={
            "size": st.sampled_from(["1G", "512M", "4096"]),
            "cache": st.sampled_from(["none", "writeback"]),
            "discard": st.sampled_from(["on", "ignore"]),
            "ssd": st.booleans(),
            "iops": st.integers(0, 10**6).map(str),
            "media": st.sampled_from(["cdrom", "disk"]),
        },
    )
)
def test_a_drive_survives_being_written_and_read(drive: dict[str, str | bool]) -> None:
    text = render(drive, DISK)
    assert parse(DISK, text) == drive
    assert render(parse(DISK, text), DISK) == text


@given(st.text(max_size=60))
def test_no_string_breaks_the_parser(text: str) -> None:
    for form in (NET, DISK, AGENT, "pve-vm-cpu-conf", "pve-qm-boot", "prune-backups"):
        try:
            parse(form, text, "option")
        except FormatError as error:
            assert error.text.endswith("\n")
