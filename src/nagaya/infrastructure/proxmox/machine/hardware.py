"""The options of a VM in Proxmox VE: what they should be, and what of that it does not have yet. Pure.

All is compared with the configuration as it is, so doing it twice changes nothing, and a clone whose template already
has everything needs no change at all (CAPMOX #848: there it never started).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from nagaya.api.proxmox.network import DEFAULT_MODEL, MODELS, NetworkDevice
from nagaya.api.proxmox.proxmox_machine import ProxmoxMachine
from nagaya.infrastructure.proxmox.boot.mac_address import derived
from nagaya.infrastructure.proxmox.client import property_string
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.client.property_string import PropertyString
from nagaya.infrastructure.proxmox.virtual_machine.marker import TAG

DEFAULT_BRIDGE: Final = "vmbr0"
DEFAULT_DISKS: Final = ("scsi0", "virtio0", "sata0", "ide0")
_SIZE: Final = re.compile(r"^(\d+(?:\.\d+)?)([KMGT]?)$")
_UNITS: Final = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


@dataclass(frozen=True, slots=True)
class Change:
    """What a VM lacks."""

    options: Mapping[str, str | int | bool] = field(default_factory=dict)
    delete: tuple[str, ...] = ()
    volumes: bool = False
    """Whether volumes are made, which takes a task."""
    drives: bool = False
    """Whether drives are among what is deleted: their volumes go with them."""

    def __bool__(self) -> bool:
        return bool(self.options or self.delete)


def size_of(text: str) -> int:
    """Bytes of a size as Proxmox VE writes it; 0 if it is none."""
    found = _SIZE.match(text)
    return int(float(found[1]) * _UNITS[found[2]]) if found is not None else 0


def mac_of(config: MachineConfig, device: str) -> str:
    """The hardware address of a device."""
    return _mac(config.networks.get(device))


def is_boot_drive(drive: PropertyString) -> bool:
    """Whether a drive is Proxmox VE's own for cloud-init."""
    return (drive.leading or "").rpartition(":")[2].rpartition("/")[2].split(".")[0].endswith("cloudinit")


def boot_disk(machine: ProxmoxMachine, config: MachineConfig) -> str:
    """The disk that the guest starts from."""
    disks = machine.spec.disks
    if disks is not None and disks.boot_volume is not None:
        return disks.boot_volume.disk
    return next((each for each in DEFAULT_DISKS if each in config.disks), DEFAULT_DISKS[0])


def growth(machine: ProxmoxMachine, config: MachineConfig) -> tuple[str, str] | None:
    """The disk to start from and the size it has to grow to; None if it is large enough."""
    disks = machine.spec.disks
    volume = disks.boot_volume if disks is not None else None
    if volume is None:
        return None
    present = config.disks.get(volume.disk)
    if present is not None and size_of(present.get("size")) >= volume.size_gb * _UNITS["G"]:
        return None
    return volume.disk, f"{volume.size_gb}G"


def without_disk(machine: ProxmoxMachine, config: MachineConfig) -> str:
    """Why there is no disk to start from where the machine says; empty if there is."""
    volume = machine.spec.disks.boot_volume if machine.spec.disks is not None else None
    if volume is None or volume.disk in config.disks:
        return ""
    there = [name for name, drive in config.disks.items() if drive.get("media") != "cdrom" and not is_boot_drive(drive)]
    return (
        f"disks.bootVolume.disk is {volume.disk}, and the template has no such disk (it has "
        f"{', '.join(sorted(there)) or 'none'}). Make another ProxmoxMachineTemplate that names one that it has."
    )


def surplus(machine: ProxmoxMachine, config: MachineConfig) -> str:
    """By how much the disk to start from is larger than asked for; empty if it is not."""
    volume = machine.spec.disks.boot_volume if machine.spec.disks is not None else None
    present = config.disks.get(volume.disk) if volume is not None else None
    if volume is None or present is None or size_of(present.get("size")) <= volume.size_gb * _UNITS["G"]:
        return ""
    return (
        f"Disk {volume.disk} is as large as in the template ({present.get('size')}), more than disks.bootVolume.sizeGb "
        f"asks for ({volume.size_gb}G): Proxmox VE makes no disk smaller. Ask for as much, or take a smaller template."
    )


def change(
    machine: ProxmoxMachine,
    config: MachineConfig,
    networks: tuple[NetworkDevice, ...] = (),
    *,
    bridge: str = "",
    own_boot_drive: bool = False,
) -> Change:
    """What the VM lacks. `own_boot_drive`: Proxmox VE's cloud-init drive is needed, and stays. Raises Unwritable."""
    wanted: dict[str, str | int | bool] = {
        **_processors(machine),
        **_memory(machine),
        **_firmware(machine),
    }
    if not config.get("agent").startswith(("1", "enabled=1")) and not _skips_agent(machine):
        wanted["agent"] = "enabled=1"
    tags = sorted({*config.tags, *(each.lower() for each in machine.spec.tags), TAG})
    if tags != sorted(config.tags):
        wanted["tags"] = ";".join(tags)
    options = {name: value for name, value in wanted.items() if not _is(name, config.get(name), _text(value))}
    for device in networks:
        name = device.name or "net0"
        made = _network(machine, device, config.networks.get(name), bridge)
        if made is not None:
            options[name] = made
    new_disks = _new_disks(machine, config)
    protected = config.get("protection") == "1"
    delete = ["protection"] if protected else []
    if _balloons(machine) and "balloon" not in wanted and config.get("balloon") == "0":
        delete.append("balloon")
    drives: list[str] = []
    if not own_boot_drive and not protected:  # PVE removes no drive of a VM that is protected: that goes first
        # Two seeds with one label: which of them the guest would take is chance.
        drives = [name for name, drive in config.disks.items() if is_boot_drive(drive)]
    return Change({**options, **new_disks}, (*delete, *drives), bool(new_disks), bool(drives))


def _skips_agent(machine: ProxmoxMachine) -> bool:
    return machine.spec.checks is not None and bool(machine.spec.checks.skip_qemu_guest_agent)


def _balloons(machine: ProxmoxMachine) -> bool:
    return machine.spec.balloon is not None and machine.spec.balloon.enabled is True


def _is(name: str, present: str, wanted: str) -> bool:
    """Whether an option is what it should be. Proxmox VE may write parts in another order, and a template may say more
    of a kind of processor than which it is."""
    if name == "cpu":
        known = property_string.parse(present)
        return wanted in (known.leading, known.get("cputype"))
    return present == wanted or ("=" in wanted and property_string.parse(present) == property_string.parse(wanted))


def _processors(machine: ProxmoxMachine) -> dict[str, str | int | bool]:
    spec = machine.spec
    made: dict[str, str | int | bool] = {}
    if spec.num_sockets is not None:
        made["sockets"] = spec.num_sockets
    if spec.num_cores is not None:
        made["cores"] = spec.num_cores
    if (cpu := spec.cpu) is not None:
        if cpu.type:
            made["cpu"] = cpu.type
        if cpu.limit_percent is not None:
            made["cpulimit"] = f"{cpu.limit_percent / 100:g}"
        if cpu.units is not None:
            made["cpuunits"] = cpu.units
        if cpu.numa is not None:
            made["numa"] = cpu.numa
    return made


def _memory(machine: ProxmoxMachine) -> dict[str, str | int | bool]:
    spec = machine.spec
    made: dict[str, str | int | bool] = {}
    if spec.memory_mib is not None:
        made["memory"] = spec.memory_mib
    if (balloon := spec.balloon) is not None:
        if balloon.enabled is False:
            made["balloon"] = 0
        elif balloon.minimum_mib is not None:
            made["balloon"] = balloon.minimum_mib
        if balloon.shares is not None:
            made["shares"] = balloon.shares
    return made


def _firmware(machine: ProxmoxMachine) -> dict[str, str | int | bool]:
    spec = machine.spec
    made: dict[str, str | int | bool] = {}
    if (firmware := spec.firmware) is not None:
        if firmware.bios is not None:
            made["bios"] = firmware.bios
        if firmware.machine:
            made["machine"] = firmware.machine
    for number, device in enumerate(spec.pci_devices):
        made[f"hostpci{number}"] = (
            property_string.of(
                mapping=device.mapping,
                pcie=device.pcie,
                rombar=device.rom_bar,
                mdev=device.mdev or None,
            )
            .having(**{"x-vga": device.primary_gpu})
            .written(f"hostpci{number}")
        )
    return made


def _new_disks(machine: ProxmoxMachine, config: MachineConfig) -> dict[str, str]:
    spec = machine.spec
    beside = (config.disks.get(boot_disk(machine, config)) or PropertyString()).leading or ""
    storage = beside.partition(":")[0]
    made: dict[str, str] = {}
    for volume in spec.disks.additional_volumes if spec.disks is not None else ():
        if volume.disk not in config.disks:
            made[volume.disk] = property_string.of(
                f"{volume.storage or storage}:{volume.size_gb}",
                format=volume.format,
                ssd=volume.ssd,
                discard=None if volume.discard is None else ("on" if volume.discard else "ignore"),
                iothread=volume.iothread,
                backup=volume.backup,
            ).written(volume.disk)
    firmware = spec.firmware
    if firmware is not None and firmware.efi_disk is not None and not config.get("efidisk0"):
        efi = firmware.efi_disk
        drive = property_string.of(f"{efi.storage}:1", efitype=efi.type)
        made["efidisk0"] = drive.having(**{"pre-enrolled-keys": efi.pre_enrolled_keys}).written("efidisk0")
    return made


def _network(machine: ProxmoxMachine, device: NetworkDevice, present: PropertyString | None, bridge: str) -> str | None:
    """What the device is to be; None if it is so already. What the machine does not say of it is as in the template:
    above all, one behind the firewall of Proxmox VE stays there."""
    name = device.name or "net0"
    model = device.model or DEFAULT_MODEL
    mac = device.mac_address.upper() or (
        derived(f"{machine.metadata.namespace}/{machine.metadata.name}", name)
        if device.derive_mac_address
        else _mac(present).upper()
    )
    plugged = device.bridge or bridge or (present.get("bridge") if present is not None else "") or DEFAULT_BRIDGE
    said = property_string.of(bridge=plugged, mtu=device.mtu, tag=device.vlan, queues=device.queues).options
    kept = {} if present is None else {name: value for name, value in present.options.items() if name not in MODELS}
    options = {**kept, **said}
    wanted = PropertyString(None, {model: mac, **options}) if mac else PropertyString(model, options)
    if present is not None and mac and _compared(present) == _compared(wanted):
        return None
    return wanted.written(name)


def _mac(device: PropertyString | None) -> str:
    return next((mac for model in MODELS if device is not None and (mac := device.get(model))), "")


def _compared(device: PropertyString) -> dict[str, str]:
    return {key: value.upper() if key in MODELS else value for key, value in device.options.items()}


def _text(value: str | int | bool) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
