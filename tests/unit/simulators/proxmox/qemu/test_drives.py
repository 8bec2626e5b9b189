from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.qemu import boot
from nagaya.simulators.proxmox.qemu.configuration import drives_of
from nagaya.simulators.proxmox.qemu.drives import gibibytes, is_drive, parse_drive


@pytest.mark.parametrize(
    "text", ["store:100/a.raw,size=1G", "none,media=cdrom", "store:0,import-from=local:import/a.raw"]
)
def test_a_drive_is_written_as_it_was_read(text: str) -> None:
    drive = parse_drive("scsi0", text)
    assert drive is not None
    assert drive.text() == text


def test_parts_are_written_in_order_and_sizes_in_the_largest_unit() -> None:
    drive = parse_drive("scsi0", "ssd=1,size=1024M,store:100/a.raw,discard=on,iothread=yes")
    assert drive is not None
    assert drive.text() == "store:100/a.raw,discard=on,iothread=1,size=1G,ssd=1"
    drive.values["size"] = 200000000
    assert drive.text().endswith("size=200000000,ssd=1")


def test_who_changes_a_drive_changes_no_other_that_was_read_from_the_same_text() -> None:
    first, second = (parse_drive("scsi0", "store:100/a.raw,size=1G") for _ in range(2))
    assert first is not None
    assert second is not None
    first.file, first.values["size"] = "store:100/b.raw", 2 << 30
    assert second.text() == "store:100/a.raw,size=1G"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("scsi0", "store:1,nonsense=1"),
        ("virtio0", "none,media=cdrom"),
        ("ide2", "none,media=cdrom,format=raw"),
        ("scsi0", "store:1,mbps=1,mbps_rd=1"),
        ("scsi0", "store:1,mbps_max=1"),
        ("memory", "64"),
    ],
)
def test_what_is_no_drive_is_not_taken(key: str, text: str) -> None:
    found = parse_drive(key, text)
    assert found is None or key == "memory"


@pytest.mark.parametrize(
    ("text", "cdrom", "cloudinit", "plain"),
    [
        ("store:iso/a.iso,media=cdrom", True, False, True),
        ("store:100/vm-100-cloudinit.qcow2,media=cdrom", True, True, False),
        ("store:cloudinit", False, True, False),
        ("local-lvm:vm-100-cloudinit,media=cdrom", True, True, False),
        ("store:100/vm-100-disk-0.raw", False, False, False),
    ],
)
def test_the_drive_with_boot_data_is_a_cdrom_of_its_own_kind(
    text: str, cdrom: bool, cloudinit: bool, plain: bool
) -> None:
    drive = parse_drive("ide2", text)
    assert drive is not None
    assert (drive.cdrom, drive.cloudinit, drive.plain_cdrom) == (cdrom, cloudinit, plain)


def test_a_wish_names_storage_and_size() -> None:
    drive = parse_drive("scsi0", "store:32")
    assert drive is not None
    assert drive.wish == ("store", "32")
    assert gibibytes("32") == 32 << 30
    assert gibibytes("0.1") == 107374592


def test_numbers_have_their_limits() -> None:
    assert is_drive("scsi30")
    assert not is_drive("scsi31")
    assert not is_drive("scsi01")
    assert not is_drive("unused0")
    assert not is_drive("scsihw")


def test_drives_come_in_pve_order() -> None:
    section = dict.fromkeys(("sata0", "scsi10", "scsi2", "ide1"), "none,media=cdrom") | {"memory": "64"}
    assert [drive.key for drive in drives_of(section)] == ["ide1", "scsi2", "scsi10", "sata0"]


def test_the_default_order_boots_from_disk_then_cdrom_then_network() -> None:
    section = {"ide2": "none,media=cdrom", "scsi1": "store:1/a.raw", "net1": "virtio", "efidisk0": "store:1/e.raw"}
    assert boot.joined(boot.default(section)) == "order=scsi1;ide2;net1"
    assert boot.joined(boot.default({})) == ""


@pytest.mark.parametrize(
    ("section", "size"),
    [
        ({"boot": "order=ide2;scsi0", "ide2": "none,media=cdrom", "scsi0": "store:1/a.raw,size=2G"}, 2 << 30),
        ({"boot": "order=net0", "scsi0": "store:1/a.raw,size=2G"}, 0),
        ({"boot": "cdn", "bootdisk": "scsi0", "scsi0": "store:1/a.raw,size=2G"}, 2 << 30),
        ({"boot": " ", "scsi0": "store:1/a.raw,size=2G"}, 0),
        ({"boot": "order=scsi0", "scsi0": "store:1/a.raw"}, 0),
    ],
)
def test_the_disk_of_a_machine_is_the_first_it_boots_from(section: dict[str, str], size: int) -> None:
    assert boot.disk_size(section) == size
