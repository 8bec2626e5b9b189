"""Which right an option asks for. Options that nobody thought of are for root alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from nagaya.simulators.proxmox.access.rights import Rights
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.drives import Drive, is_drive
from nagaya.simulators.proxmox.qemu.networks import is_network
from nagaya.simulators.proxmox.state.datacenter import Datacenter

CLOUDINIT_OPTIONS = (
    "cicustom", "cipassword", "citype", "ciuser", "ciupgrade", "nameserver", "searchdomain", "sshkeys",
)  # fmt: skip
_CPU = frozenset(
    {"cores", "cpu", "runningcpu", "cpulimit", "cpuunits", "numa", "smp", "sockets", "vcpus"},
)
_MEMORY = frozenset({"memory", "balloon", "shares", "allow-ksm"})
_HARDWARE = frozenset(
    {
        "acpi", "hotplug", "kvm", "machine", "runningmachine", "scsihw", "smbios1", "tablet", "vga", "watchdog",
        "audio0", "rng0",
    }
)  # fmt: skip
_GENERAL = frozenset(
    {
        "agent", "autostart", "bios", "description", "keyboard", "localtime", "migrate_downtime", "migrate_speed",
        "name", "onboot", "ostype", "protection", "reboot", "startdate", "startup", "tdf", "template",
    }
)  # fmt: skip
_DISK = frozenset({"boot", "bootdisk", "vmstatestorage"})
_ELSEWHERE = re.compile(r"(?:unused|serial|usb|hostpci|virtiofs)\d+|cdrom|tags")
"""Options whose right depends on their value."""
_MODELS = re.compile(r"custom-(.+)")


def check_options(rights: Rights, vmid: int, pool: str | None, names: Iterable[str]) -> None:
    """Refuse to change options without the right for each."""
    if rights.caller.root:
        return
    for name in names:
        if not is_drive(name) and not _ELSEWHERE.fullmatch(name):
            _check_option(rights, vmid, pool, name)


def _check_option(rights: Rights, vmid: int, pool: str | None, name: str) -> None:
    if name in _CPU or re.fullmatch(r"numa\d+", name):
        rights.check_machine(vmid, pool, ["VM.Config.CPU"])
    elif name in _MEMORY:
        rights.check_machine(vmid, pool, ["VM.Config.Memory"])
    elif name in _HARDWARE:
        rights.check_machine(vmid, pool, ["VM.Config.HWType"])
    elif name in _GENERAL:
        rights.check_machine(vmid, pool, ["VM.Config.Options"])
        if name == "startup":
            rights.check("/", ["Sys.Modify"])
    elif name == "freeze":
        rights.check_machine(vmid, pool, ["VM.PowerMgmt"])
    elif name in _DISK:
        rights.check_machine(vmid, pool, ["VM.Config.Disk"])
    elif is_network(name) or name == "running-nets-host-mtu":
        rights.check_machine(vmid, pool, ["VM.Config.Network"])
    elif name in CLOUDINIT_OPTIONS or re.fullmatch(r"ipconfig\d+", name):
        rights.check_machine(vmid, pool, ["VM.Config.Cloudinit", "VM.Config.Network"], any=True)
    elif name == "vmstate":
        rights.check_machine(vmid, pool, ["VM.Config.Disk", "VM.PowerMgmt"])
    else:
        raise Failure(f"only root can set '{name}' config\n")


def check_drive(rights: Rights, vmid: int, drive: Drive) -> None:
    """Refuse to change a drive: which right it asks for depends on what is in it."""
    if drive.cloudinit:
        rights.check_machine(vmid, None, ["VM.Config.Cloudinit", "VM.Config.CDROM"])
    elif drive.plain_cdrom:
        rights.check_machine(vmid, None, ["VM.Config.CDROM"])
    else:
        rights.check_machine(vmid, None, ["VM.Config.Disk"])


def check_serial(rights: Rights, vmid: int, name: str, old: object, new: object, verb: str = "modify") -> None:
    """A serial port that is a device of the host is for root."""
    if (old is None or old == "socket") and new == "socket":
        rights.check_machine(vmid, None, ["VM.Config.HWType"])
    elif not rights.caller.root:
        raise Failure(f"only root can {verb} '{name}' config for real devices\n")


def check_device(rights: Rights, vmid: int, pool: str | None, name: str, value: object) -> None:
    """Refuse a device of the host without the right to its mapping; one that has no mapping is for root."""
    if rights.caller.root:
        return
    kind = options.family(name)
    parts = options.parts(name, str(value))
    if kind == "usb":
        rights.check_machine(vmid, pool, ["VM.Config.HWType"])
        _check_usb(rights, name, parts)
    elif kind == "hostpci":
        _check_mapping(rights, name, parts, "pci", "non-mapped devices")
        rights.check_machine(vmid, pool, ["VM.Config.HWType"])
        if parts.get("romfile") is not None:
            raise ParameterFailure({name: "only root@pam can set 'romfile' option"})
    elif kind == "rng":
        rights.check_machine(vmid, pool, ["VM.Config.HWType"])
        if parts.get("source") == "/dev/hwrng":
            rights.check("/mapping/hwrng", ["Mapping.Use"])
    elif kind == "virtiofs":
        rights.check_machine(vmid, pool, ["VM.Config.Disk"])
        rights.check(f"/mapping/dir/{parts['dirid']}", ["Mapping.Use"])


def _check_usb(rights: Rights, name: str, parts: Mapping[str, Any]) -> None:
    if str(parts.get("host", "")).lower() != "spice":
        _check_mapping(rights, name, parts, "usb", "real devices")


def _check_mapping(rights: Rights, name: str, parts: Mapping[str, Any], kind: str, kept: str) -> None:
    if parts.get("host"):
        raise Failure(f"only root can set '{name}' config for {kept}\n")
    if not parts.get("mapping"):
        raise Failure("either 'host' or 'mapping' must be set.\n")
    rights.check(f"/mapping/{kind}/{parts['mapping']}", ["Mapping.Use"])


def check_mappings(rights: Rights, section: Mapping[str, Any]) -> None:
    """Refuse to copy a machine with devices that the caller may not use."""
    if rights.caller.root:
        return
    for name, value in section.items():
        kind = options.family(name)
        if kind not in ("usb", "hostpci", "rng", "virtiofs"):
            continue
        parts = options.parts(name, str(value))
        if kind == "usb":
            _check_usb(rights, name, parts)
        elif kind == "hostpci":
            _check_mapping(rights, name, parts, "pci", "non-mapped devices")
        elif kind == "rng" and parts.get("source") == "/dev/hwrng":
            rights.check("/mapping/hwrng", ["Mapping.Use"])
        elif kind == "virtiofs":
            rights.check(f"/mapping/dir/{parts['dirid']}", ["Mapping.Use"])


def check_bridges(rights: Rights, datacenter: Datacenter, section: Mapping[str, Any]) -> None:
    """Refuse bridges, VLANs and virtual networks that the caller may not use."""
    if rights.caller.root:
        return
    for name in sorted(name for name in section if is_network(name)):
        parts = options.parts(name, str(section[name]))
        if (bridge := parts.get("bridge")) is None:
            continue
        vnet = datacenter.vnets.get(str(bridge))
        zone = vnet.get("zone", "localnetwork") if isinstance(vnet, dict) else "localnetwork"
        path = f"/sdn/zones/{zone}/{bridge}"
        tags = [str(parts["tag"])] if parts.get("tag") else []
        for trunk in str(parts.get("trunks") or "").split(";"):
            first, _, last = trunk.partition("-")
            if first:
                tags += [str(tag) for tag in range(int(first), int(last or first) + 1)]
        if tags:
            for tag in tags:
                rights.check(f"{path}/{tag}", ["SDN.Use"])
        else:
            rights.check(path, ["SDN.Use"])


def check_cpu_model(rights: Rights, new: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> None:
    """Refuse a CPU model that somebody defined, without the right to it; keeping one is free."""
    if new.get("cpu") is None:
        return
    wanted = options.parts("cpu", str(new["cpu"])).get("cputype")
    found = _MODELS.fullmatch(str(wanted or ""))
    if found is None:
        return
    if old is not None and old.get("cpu") and options.parts("cpu", str(old["cpu"])).get("cputype") == wanted:
        return
    rights.check(f"/mapping/cpu/{found[1]}", ["Mapping.Use"])
