"""The options of a VM: what they should be, and what of that it lacks."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.proxmox.network import NetworkDevice
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES, ProxmoxMachine
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.client.property_string import Unwritable
from nagaya.infrastructure.proxmox.machine.hardware import change, growth, mac_of, size_of

MAC = "BC:24:11:AA:BB:CC"
CLONE = {
    "agent": "enabled=1",
    "cores": "2",
    "memory": "2048",
    "net0": f"virtio={MAC},bridge=vmbr0",
    "scsi0": "local-lvm:vm-100-disk-0,discard=on,size=20G",
    "tags": "kubernetes;nagaya",
}
NET = NetworkDevice(name="net0", bridge="vmbr0")


def machine(**spec: Any) -> ProxmoxMachine:
    return PROXMOX_MACHINES.convert({"metadata": {"namespace": "fleet", "name": "a"}, "spec": spec})


def config(**options: str) -> MachineConfig:
    return MachineConfig({**CLONE, **options})


def test_capmox_848_a_clone_that_is_as_it_should_be_needs_no_change() -> None:
    assert not change(machine(numCores=2, memoryMiB=2048), config(), (NET,))


def test_what_differs_is_changed_and_nothing_else() -> None:
    made = change(machine(numCores=4, memoryMiB=2048, numSockets=1), config(), (NET,))
    assert made.options == {"cores": 4, "sockets": 1}
    assert not made.volumes


def test_tags_are_added_in_the_form_that_proxmox_keeps_them() -> None:
    made = change(machine(tags=["Zone-B", "app"]), config(tags="kubernetes"))
    assert made.options == {"tags": "app;kubernetes;nagaya;zone-b"}
    assert not change(machine(tags=["Zone-B", "app"]), config(tags="app;kubernetes;nagaya;zone-b"))


def test_a_device_keeps_the_address_that_the_clone_got() -> None:
    made = change(machine(), config(), (NetworkDevice(name="net0", bridge="vmbr1", vlan=5, mtu=1400),))
    assert made.options == {"net0": f"virtio={MAC},bridge=vmbr1,mtu=1400,tag=5"}


def test_what_a_machine_does_not_say_of_a_device_is_as_in_the_template() -> None:
    guarded = config(net0=f"virtio={MAC},bridge=vmbr0,firewall=1,rate=50,tag=7")
    assert not change(machine(), guarded, (NET,))
    made = change(machine(), guarded, (NetworkDevice(name="net0", bridge="vmbr1", vlan=9, model="e1000"),))
    assert made.options == {"net0": f"e1000={MAC},bridge=vmbr1,firewall=1,rate=50,tag=9"}


def test_a_new_device_gets_an_address_from_proxmox() -> None:
    made = change(machine(), config(), (NET, NetworkDevice(name="net1", bridge="vmbr1", model="e1000")))
    assert made.options == {"net1": "e1000,bridge=vmbr1"}


def test_a_derived_address_is_the_same_each_time() -> None:
    device = NetworkDevice(name="net0", bridge="vmbr0", derive_mac_address=True)
    first = change(machine(), config(), (device,)).options["net0"]
    assert not change(machine(), config(net0=str(first)), (device,))


def test_a_fixed_address_is_taken_in_any_case() -> None:
    device = NetworkDevice(name="net0", bridge="vmbr0", mac_address=MAC.lower())
    assert not change(machine(), config(), (device,))


def test_further_disks_are_made_once_beside_the_first() -> None:
    disks = {"additionalVolumes": [{"disk": "scsi1", "sizeGb": 50, "ssd": True, "discard": True}]}
    made = change(machine(disks=disks), config())
    assert made.options == {"scsi1": "local-lvm:50,ssd=1,discard=on"}
    assert made.volumes
    assert not change(machine(disks=disks), config(scsi1="local-lvm:vm-100-disk-1,size=50G"))


def test_two_seeds_of_cloud_init_never_stay_side_by_side() -> None:
    drive = config(ide2="local-lvm:vm-100-cloudinit,media=cdrom")
    made = change(machine(), drive)
    assert made.delete == ("ide2",)
    assert made.drives, "its volume goes with it"
    assert not change(machine(), drive, own_boot_drive=True)


def test_the_protection_of_a_template_does_not_stay_with_its_clones() -> None:
    assert change(machine(), config(protection="1")).delete == ("protection",)
    protected = config(protection="1", ide2="local-lvm:vm-100-cloudinit,media=cdrom")
    made = change(machine(), protected)
    assert made.delete == ("protection",), "no drive can be removed before that"
    assert not made.drives


def test_a_disk_grows_and_never_shrinks() -> None:
    assert growth(machine(disks={"bootVolume": {"disk": "scsi0", "sizeGb": 40}}), config()) == ("scsi0", "40G")
    assert growth(machine(disks={"bootVolume": {"disk": "scsi0", "sizeGb": 20}}), config()) is None
    assert growth(machine(disks={"bootVolume": {"disk": "scsi0", "sizeGb": 10}}), config()) is None
    assert growth(machine(), config()) is None


def test_a_value_that_would_become_another_option_is_refused() -> None:
    with pytest.raises(Unwritable, match=r"net0\.bridge"):
        change(machine(), config(), (NetworkDevice(name="net0", bridge="vmbr0,firewall=0"),))


def test_the_agent_is_configured_unless_it_is_not_waited_for() -> None:
    without = MachineConfig({name: value for name, value in CLONE.items() if name != "agent"})
    assert change(machine(), without).options == {"agent": "enabled=1"}
    assert not change(machine(checks={"skipQemuGuestAgent": True}), without)


@pytest.mark.parametrize(("text", "size"), [("20G", 20 << 30), ("4M", 4 << 20), ("1.5G", 3 << 29), ("none", 0)])
def test_sizes_are_read_as_proxmox_writes_them(text: str, size: int) -> None:
    assert size_of(text) == size


def test_the_address_of_a_device_is_found_whatever_its_model() -> None:
    assert mac_of(config(net1=f"e1000={MAC},bridge=vmbr1"), "net1") == MAC
    assert mac_of(config(), "net7") == ""


def test_parts_of_an_option_may_stand_in_any_order() -> None:
    made = machine(pciDevices=[{"mapping": "gpu", "pcie": True, "primaryGpu": True}])
    assert change(made, config()).options == {"hostpci0": "mapping=gpu,pcie=1,x-vga=1"}
    assert not change(made, config(hostpci0="x-vga=1,pcie=1,mapping=gpu"))


def test_flags_of_the_processor_stay_with_its_kind() -> None:
    assert not change(machine(cpu={"type": "host"}), config(cpu="host,flags=+aes"))
    assert not change(machine(cpu={"type": "host"}), config(cpu="cputype=host,flags=+aes"))
    assert change(machine(cpu={"type": "host"}), config(cpu="kvm64,flags=+aes")).options == {"cpu": "host"}


def test_memory_can_be_taken_back_or_not_whatever_the_template_has() -> None:
    assert change(machine(balloon={"enabled": False}), config()).options == {"balloon": 0}
    assert not change(machine(balloon={"enabled": False}), config(balloon="0"))
    assert change(machine(balloon={"enabled": True}), config(balloon="0")).delete == ("balloon",)
    assert not change(machine(balloon={"enabled": True}), config())
    assert change(machine(balloon={"enabled": True, "minimumMiB": 512}), config(balloon="0")).options == {
        "balloon": 512
    }
