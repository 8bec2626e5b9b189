from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.simulators.proxmox.guests.boot_data import read_boot_data
from nagaya.simulators.proxmox.guests.iso9660 import SECTOR, NotAnImage, read_image, write_image

NAMES = st.from_regex(r"[a-z][a-z0-9_\-.]{0,20}", fullmatch=True)


@given(st.dictionaries(NAMES, st.binary(max_size=5000), max_size=12))
def test_what_is_written_is_read_back(files: dict[str, bytes]) -> None:
    assert read_image(write_image("cidata", files)) == ("cidata", files)


def test_folders_lie_in_folders() -> None:
    files = {"openstack/latest/user_data": b"x" * 3000, "openstack/content/0000": b"", "top": b"1"}
    assert read_image(write_image("config-2", files)) == ("config-2", files)


def test_names_beside_plain_entries_are_read() -> None:
    image = bytearray(write_image("cidata", {"user-data": b"hello"}))
    joliet = 17 * SECTOR
    image[joliet : joliet + SECTOR] = bytes([255]) + b"CD001\x01" + bytes(SECTOR - 7)
    root = struct.unpack_from("<I", image, 16 * SECTOR + 156 + 2)[0] * SECTOR
    entries = bytes(image[root : root + SECTOR])
    place = entries[0] + entries[entries[0]]
    old = entries[place : place + entries[place]]
    extra = b"NM" + bytes([5 + 9, 1, 0]) + b"user-data"
    new = bytes([len(old) + len(extra)]) + old[1:] + extra
    image[root + place : root + place + len(new)] = new
    assert read_image(bytes(image)) == ("cidata", {"user-data": b"hello"})


@pytest.mark.parametrize("data", [b"", b"x" * 100000, b"\0" * (20 * SECTOR)])
def test_other_bytes_are_no_image(data: bytes) -> None:
    with pytest.raises(NotAnImage):
        read_image(data)
    assert read_boot_data(data) is None


@given(st.binary(max_size=400), st.integers(0, 40000))
def test_a_broken_image_never_breaks_the_reader(noise: bytes, place: int) -> None:
    image = bytearray(write_image("cidata", {"user-data": b"hello", "meta-data": b"x"}))
    image[place : place + len(noise)] = noise
    try:
        read_image(bytes(image))
    except NotAnImage:
        return


def test_boot_data_is_known_by_the_label() -> None:
    nocloud = read_boot_data(write_image("CIDATA", {"user-data": b"#cloud-config\n", "meta-data": b"instance-id: a\n"}))
    assert nocloud is not None
    assert (nocloud.user, nocloud.meta, nocloud.network) == ("#cloud-config\n", "instance-id: a\n", "")
    drive = read_boot_data(write_image("config-2", {"openstack/latest/user_data": b"u"}))
    assert drive is not None
    assert drive.user == "u"
    assert read_boot_data(write_image("debian", {"user-data": b"u"})) is None
