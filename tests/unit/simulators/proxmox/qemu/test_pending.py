from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.qemu.configuration import Configuration
from nagaya.simulators.proxmox.qemu.pending import (
    cold_drive_change,
    hotplug,
    is_fast,
    record,
    takes_change,
    takes_deletion,
)
from support.subtest_cases import subtest_cases

ALL = hotplug(None)


def test_the_default_plugs_disks_networks_and_usb() -> None:
    assert ALL == hotplug("1") == {"network", "disk", "usb"}
    assert hotplug("0") == frozenset()
    assert hotplug("network,memory") == {"network", "memory"}


@subtest_cases(
    ("option", "section", "new", "takes"),
    [
        ("memory", {"memory": "64"}, "96", False),
        ("cores", {}, 2, False),
        ("cpuunits", {}, 50, True),
        ("net1", {}, "virtio=BC:24:11:00:00:01,bridge=vmbr0", True),
        ("balloon", {}, 32, True),
        ("balloon", {}, 0, False),
        ("agent", {}, "1", False),
        ("agent", {"agent": "1"}, "1,fstrim_cloned_disks=1", True),
        ("agent", {"agent": "1"}, "0", False),
        ("agent", {"agent": "0,type=isa"}, "0", True),
        ("usb0", {}, "spice", False),
        ("usb0", {"ostype": "l26"}, "spice", True),
        ("hotplug", {}, "disk", True),
        ("hotplug", {}, "disk,memory", False),
        ("vga", {}, "std", False),
    ],
)
def test_what_a_running_machine_takes(option: str, section: dict[str, Any], new: Any, takes: bool) -> None:
    assert takes_change(option, section, new, ALL) is takes


def test_a_device_is_changed_in_place_or_plugged_anew() -> None:
    old = {"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0"}
    assert takes_change("net0", old, "virtio=BC:24:11:00:00:01,bridge=vmbr1,tag=5", frozenset())
    assert not takes_change("net0", old, "e1000=BC:24:11:00:00:01,bridge=vmbr0", frozenset())
    assert takes_change("net0", old, "e1000=BC:24:11:00:00:01,bridge=vmbr0", ALL)


def test_what_goes_while_a_machine_runs() -> None:
    section = {"scsi1": "x", "ide2": "x", "net0": "x", "memory": "64", "tags": "a"}
    gone = [option for option in section if takes_deletion(option, section, ALL)]
    assert gone == ["scsi1", "net0", "tags"]


def test_limits_of_a_disk_change_at_once_and_its_cache_does_not() -> None:
    old = "store:1/a.raw,size=1G"
    assert not cold_drive_change("scsi0", old, f"{old},mbps=10")
    assert cold_drive_change("scsi0", old, f"{old},cache=none")


def test_options_that_qemu_does_not_know_are_fast() -> None:
    assert all(is_fast(option) for option in ("name", "tags", "ipconfig3", "ciuser", "lock"))
    assert not is_fast("memory")


def test_what_the_drive_with_boot_data_lacks_is_remembered() -> None:
    configuration = Configuration(100)
    record(configuration, "ciuser", "old", "new")
    record(configuration, "ipconfig0", None, "ip=dhcp")
    record(configuration, "memory", "64", "96")
    assert configuration.cloudinit == {"ciuser": "old", "added": "ipconfig0"}
    record(configuration, "ciuser", "new", "newer")
    assert configuration.cloudinit["ciuser"] == "old"
    record(configuration, "ciuser", "newer", "old")
    record(configuration, "ipconfig0", "ip=dhcp", None)
    assert configuration.cloudinit == {}
    record(configuration, "ciuser", "old", None)
    assert configuration.cloudinit == {"ciuser": "old"}
