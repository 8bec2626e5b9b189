"""Starting machines, and what QEMU refuses to start."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.guests.boot_data import read_boot_data
from nagaya.simulators.proxmox.qemu import boot, firmware_keys, machine_types, options
from nagaya.simulators.proxmox.qemu.actions.boot_drive import generate
from nagaya.simulators.proxmox.qemu.actions.changing import apply
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.resources import check_devices
from nagaya.simulators.proxmox.qemu.cloud_init import BootData
from nagaya.simulators.proxmox.qemu.configuration import Configuration
from nagaya.simulators.proxmox.qemu.memory import check_memory
from nagaya.simulators.proxmox.qemu.networks import networks_of
from nagaya.simulators.proxmox.qemu.pending import hotplug
from nagaya.simulators.proxmox.state.guest import Options
from nagaya.simulators.proxmox.tasks.runner import Log
from nagaya.simulators.proxmox.verification import Properties

_SCRIPTS = "/usr/libexec/qemu-server"
SMALLEST_PACKET = 576
BRIDGE_PACKET = 1500
_QEMU_OPTIONS = frozenset(
    {
        "-S", "-accel", "-action", "-append", "-audiodev", "-bios", "-blockdev", "-boot", "-cdrom", "-chardev", "-cpu",
        "-d", "-D", "-device", "-display", "-drive", "-fsdev", "-fw_cfg", "-global", "-incoming", "-initrd", "-k",
        "-kernel", "-m", "-machine", "-monitor", "-msg", "-name", "-netdev", "-nic", "-no-reboot", "-nodefaults",
        "-nographic", "-object", "-overcommit", "-parallel", "-qmp", "-readconfig", "-rtc", "-sandbox", "-serial",
        "-set", "-smbios", "-smp", "-spice", "-trace", "-usb", "-uuid", "-vga", "-virtfs", "-vnc",
    }
)  # fmt: skip


async def start(host: Host, vmid: int, log: Log, *, skip_lock: bool = False, machine: str | None = None) -> None:
    """Start a machine."""
    async with host.lock(vmid, log):
        await start_locked(host, vmid, log, skip_lock=skip_lock, machine=machine)


async def start_locked(host: Host, vmid: int, log: Log, *, skip_lock: bool = False, machine: str | None = None) -> None:
    """Start a machine whose file the caller holds; `machine` overrules the type that the file names."""
    configuration = host.load(vmid)
    if configuration.template:
        raise Failure("you can't start a vm if it's a template\n")
    guest = host.present(vmid)
    if configuration.lock == "backup" and guest.process is not None:
        guest.process.status = "running"
        host.emulator.machines.backend.pause(vmid, False)
        return
    suspended = configuration.lock == "suspended"
    if not (skip_lock or suspended):
        configuration.check_lock()
    if guest.process is not None:
        raise Failure(f"VM {vmid} already running\n")
    resumed = suspended or configuration.options.get("vmstate") is not None
    if not resumed and (configuration.pending or configuration.deletions):
        await apply(host, configuration, log)
        configuration = host.load(vmid)
    if await generate(host, configuration, log):
        host.write(configuration, log)
    if script := configuration.options.get("hookscript"):
        try:
            check_hook(host, str(script))
        except Failure as failure:
            raise Failure(f"hookscript error for {vmid} on pre-start: {failure.text}\n") from None
    if resumed:
        log.say("Resuming suspended VM")
        machine = configuration.options.get("runningmachine")
    _activate(host, configuration)
    firmware_keys.warn_of_old(vmid, configuration.options, log)
    _check_command(host, configuration, log, machine)
    await log.step("start")
    await asyncio.sleep(host.emulator.pace.start)
    _check_qemu(host, configuration, log)
    host.emulator.machines.power_on(
        guest, configuration.options, _system(host, configuration), _boot_data(host, configuration)
    )
    if (process := host.process(vmid)) is not None and _held_back(configuration.options):
        process.status = "prelaunch"
        host.emulator.machines.backend.pause(vmid, True)
    if resumed:
        await _forget_state(host, configuration, log)


async def _forget_state(host: Host, configuration: Configuration, log: Log) -> None:
    log.say("Resumed VM, removing state")
    if state := configuration.options.get("vmstate"):
        await host.volumes.free(log, str(state))
    for option in ("lock", "vmstate", "running-nets-host-mtu", "runningmachine", "runningcpu"):
        configuration.options.pop(option, None)
    host.write(configuration, log)


def check_hook(host: Host, script: str) -> None:
    """Refuse a script that is to run along with a machine, if it is none."""
    _, name = host.volumes.parse(script)
    if name.content != "snippets":
        raise Failure(f"'{script}' is not in the snippets directory\n")
    if host.volumes.find(script) is None:
        raise Failure(f"script '{script}' does not exist\n")


def _activate(host: Host, configuration: Configuration) -> None:
    volumes = [drive.file for drive in configuration.drives() if drive.storage is not None]
    if state := configuration.options.get("vmstate"):
        volumes.append(str(state))
    for volume in volumes:
        storage, name = host.volumes.parse(volume)
        if name.content not in storage.contents:
            raise Failure(f"storage '{storage.name}' does not support content-type '{name.content}'\n")
    for storage_name in dict.fromkeys(volume.partition(":")[0] for volume in volumes):
        host.volumes.active(storage_name)
    for volume in volumes:
        if host.volumes.find(volume) is None:
            raise Failure(f"volume '{volume}' does not exist\n")


def _check_command(host: Host, configuration: Configuration, log: Log, machine: str | None) -> None:
    """What PVE finds out while it puts the command line together, in the order in which it does so."""
    section = configuration.options
    node = host.emulator.datacenter.nodes[host.node]
    kind = options.parts("machine", str(section["machine"])).get("type") if section.get("machine") else None
    machine_types.check_version(machine or str(kind or ""), host.node)
    if str(section.get("kvm", 1)) != "0" and not node.kvm:
        raise Failure(
            "KVM virtualisation configured, but not available. Either disable in VM configuration or enable in BIOS.\n"
        )
    if section.get("bios") == "ovmf" and not section.get("efidisk0"):
        log.warn("no efidisk configured! Using temporary efivars disk.")
    check_devices(configuration, host.emulator.datacenter.mappings, host.node)
    for bus in ("serial", "parallel"):
        if any(value != "socket" for name, value in section.items() if options.family(name) == bus):
            raise Failure(f"no such {bus} device\n")
    if _cpus(section) > node.cpus:
        raise Failure(f"MAX {node.cpus} vcpus allowed per VM on this node\n")
    if section.get("vga") and options.parts("vga", str(section["vga"])).get("type") == "virtio-gl":
        raise Failure("missing libraries for 'virtio-gl' detected! Please install 'libgl1' and 'libegl1'\n")
    check_memory(section, pluggable="memory" in hotplug(section.get("hotplug")))
    if section.get("rng0") and options.parts("rng0", str(section["rng0"])).get("source") == "/dev/hwrng":
        raise Failure("cannot create VirtIO RNG device: source file '/dev/hwrng' doesn't exist\n")
    machine_types.check_clipboard(section.get("vga"))
    single = section.get("scsihw") == "virtio-scsi-single"
    for drive in configuration.drives():
        if drive.bus == "scsi" and drive.values.get("iothread") and not single:
            log.warn("iothread is only valid with virtio disk or virtio-scsi-single controller, ignoring")
    for name, device in networks_of(section).items():
        _check_network(host, name, device, log)
    machine_types.check_machine(section.get("machine"))
    if state := section.get("vmstate"):
        log.say(f"activating and using '{state}' as vmstate")


def _check_network(host: Host, name: str, device: Properties, log: Log) -> None:
    size = device.get("mtu")
    if device.get("model") == "virtio" and device.get("bridge"):
        if not host.has_bridge(device.get("bridge")):
            raise Failure(f"bridge '{device['bridge']}' does not exist\n")
        if size is None or int(size) == 1:
            return
        if int(size) < SMALLEST_PACKET:
            raise Failure(f"netdev {name}: MTU '{size}' is smaller than the IP minimum MTU '{SMALLEST_PACKET}'\n")
        if int(size) > BRIDGE_PACKET:
            raise Failure(f"netdev {name}: MTU '{size}' is bigger than the bridge MTU '{BRIDGE_PACKET}'\n")
    elif size is not None:
        log.say(f"WARN: netdev {name}: ignoring MTU '{size}', not using VirtIO or no bridge configured.")


def _cpus(section: Options) -> int:
    return int(section.get("sockets", 1)) * int(section.get("cores", 1))


def _check_qemu(host: Host, configuration: Configuration, log: Log) -> None:
    """What QEMU itself refuses, and says why before it exits."""
    section = configuration.options
    for said in _last_words(host, configuration.vmid, section):
        for line in said:
            log.say(line)
        raise Failure("start failed: QEMU exited with code 1\n")


def _held_back(section: Options) -> bool:
    """Whether QEMU waits for somebody to say that it may go on."""
    return bool(section.get("freeze")) or "-S" in _words(str(section.get("args", "")))


def _words(args: str) -> list[str]:
    """What PVE hands on to QEMU; of a text with a quote that is never closed it is nothing."""
    try:
        return shlex.split(args)
    except ValueError:
        return []


def _last_words(host: Host, vmid: int, section: Options) -> Iterator[list[str]]:
    for word in _words(str(section.get("args", ""))):
        if word.startswith("-") and word not in _QEMU_OPTIONS and f"-{word.lstrip('-')}" not in _QEMU_OPTIONS:
            yield [f"kvm: {word}: invalid option"]
    model = options.parts("cpu", str(section["cpu"])).get("cputype") if section.get("cpu") else None
    if model == "host" and str(section.get("kvm", 1)) == "0":
        yield ["kvm: CPU model 'host' requires KVM or HVF"]
    if int(section.get("vcpus", 1)) > _cpus(section):
        yield ["kvm: Invalid CPU topology: maxcpus must be equal to or greater than smp"]
    if options.megabytes(section.get("memory")) << 20 > host.emulator.datacenter.nodes[host.node].memory:
        yield ["kvm: cannot set up guest memory 'pc.ram': Cannot allocate memory"]
    for name, device in networks_of(section).items():
        if not host.has_bridge(device.get("bridge")):
            script = f"{_SCRIPTS}/pve-bridge"
            tap = f"tap{vmid}i{name.removeprefix('net')}"
            netdev = f"type=tap,id={name},ifname={tap},script={script},downscript={_SCRIPTS}/pve-bridgedown"
            yield [
                f"bridge '{device['bridge']}' does not exist",
                f"kvm: -netdev {netdev}: network script {script} failed with status 512",
            ]


def _system(host: Host, configuration: Configuration) -> str:
    """The operating system that the machine finds on the first disk that has one."""
    drives = {drive.key: drive for drive in configuration.drives()}
    wanted = boot.order(configuration.options.get("boot")) or list(drives)
    for device in wanted:
        drive = drives.get(device)
        volume = host.volumes.find(drive.file) if drive is not None and not drive.cdrom else None
        if volume is not None and volume.system:
            return volume.system
    return ""


def _boot_data(host: Host, configuration: Configuration) -> BootData | None:
    """What the machine finds in the first of its CD-ROMs that has boot data."""
    for drive in configuration.drives():
        volume = host.volumes.find(drive.file) if drive.cdrom else None
        if volume is not None and volume.data is not None and (found := read_boot_data(volume.data)) is not None:
            return found
    return None
