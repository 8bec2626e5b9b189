from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.client import property_string
from nagaya.infrastructure.proxmox.client.property_string import PropertyString, Unwritable, parse
from nagaya.simulators.proxmox.verification import check_format

KEYS = st.from_regex(r"\A[a-z][a-z0-9_-]{0,8}\Z")
VALUES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters=","), min_size=1)
LEADING = st.none() | VALUES.filter(lambda text: "=" not in text)


@given(LEADING, st.dictionaries(KEYS, VALUES, max_size=5))
def test_what_is_written_reads_as_the_same(leading: str | None, options: dict[str, str]) -> None:
    written = PropertyString(leading, options)
    if leading is None and not options:
        with pytest.raises(Unwritable, match="net0"):
            written.written("net0")
    else:
        assert parse(written.written("net0")) == written


@given(st.text(max_size=60))
def test_what_can_be_written_never_changes_meaning(text: str) -> None:
    try:
        written = PropertyString(None, {"serial": text}).written("smbios1")
    except Unwritable as error:
        assert error.field == "smbios1.serial"
    else:
        assert parse(written).options == {"serial": text}


def test_a_comma_is_refused_with_the_name_of_the_field() -> None:
    with pytest.raises(Unwritable, match=r"net0\.bridge: 'vmbr0,tag=5' cannot be written .* comma"):
        property_string.of(virtio="BC:24:11:00:00:01", bridge="vmbr0,tag=5").written("net0")


def test_a_volume_with_an_equals_sign_is_refused() -> None:
    with pytest.raises(Unwritable, match="scsi0"):
        property_string.of("local:a=b").written("scsi0")


def test_values_of_python_become_those_of_pve() -> None:
    made = property_string.of("local-lvm:0", ssd=True, discard="on", iothread=False, size=None, queues=4)
    assert made.written("scsi0") == "local-lvm:0,ssd=1,discard=on,iothread=0,queues=4"


def test_a_padded_value_is_kept() -> None:
    assert parse("uuid=1,serial=YQ==,base64=1").get("serial") == "YQ=="


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("pve-qm-bootdisk", "scsi0"),
        ("pve-qm-ipconfig", property_string.of(ip="192.0.2.7/24", gw="192.0.2.1", ip6="auto").written("ipconfig0")),
    ],
)
def test_what_is_written_is_what_pve_takes(form: str, text: str) -> None:
    check_format(form, text)


def test_changing_an_option_leaves_the_others() -> None:
    net = parse("virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1")
    changed = net.having(bridge="vmbr1", firewall=None, tag=7)
    assert changed.written("net0") == "virtio=BC:24:11:00:00:01,bridge=vmbr1,tag=7"
