"""Moving a machine to another host, with those of its disks that only this host has.

What speaks against it is written into the log, all of it, before the task gives up. The machine belongs to the other
host from the moment its file lies there.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.resources import local_resources, mapped_resources
from nagaya.simulators.proxmox.qemu.configuration import Configuration, drives_of
from nagaya.simulators.proxmox.qemu.drives import Drive, is_drive, parse_drive
from nagaya.simulators.proxmox.state.guest import Options
from nagaya.simulators.proxmox.state.node import Node, Unreachable
from nagaya.simulators.proxmox.storages.volume_name import FILE_TYPES, split_id
from nagaya.simulators.proxmox.tasks.runner import Log, interruptible

_MOVABLE = frozenset({"dir", "btrfs", "zfspool", "lvmthin", "lvm"})
_SSH = {
    Unreachable.STRANGER: "Host key verification failed.",
    Unreachable.HANGS_UP: "kex_exchange_identification: Connection closed by remote host",
}
"""What ssh says where it reached somebody."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the caller wants."""

    target: str
    online: bool = False
    with_local_disks: bool = False
    force: bool = False
    storages: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Reference:
    """A volume, and how the machine uses it."""

    volume: str
    cdrom: bool = True
    replicate: bool = False
    unused: bool = False
    attached: bool = False
    shared: bool = False
    size: int | None = None
    drive: str | None = None
    snapshots: set[str] = field(default_factory=set)
    pending: bool = False
    state: bool = False

    def shown(self) -> dict[str, Any]:
        """As the preconditions of a migration tell it."""
        row: dict[str, Any] = {
            "volid": self.volume,
            "cdrom": int(self.cdrom),
            "replicate": int(self.replicate),
            "shared": int(self.shared),
            "is_unused": int(self.unused),
            "is_attached": int(self.attached),
            "is_vmstate": int(self.state),
            "is_tpmstate": int(self.drive == "tpmstate0"),
        }
        if self.size is not None:
            row["size"] = self.size
        if self.drive is not None:
            row["drivename"] = self.drive
        if self.snapshots:
            row["referenced_in_snapshot"] = dict.fromkeys(sorted(self.snapshots), 1)
        if self.pending:
            row["referenced_in_pending"] = 1
        return row


def references(configuration: Configuration) -> dict[str, Reference]:
    """All volumes that a machine uses, in whatever way."""
    found: dict[str, Reference] = {}

    def add(key: str, drive: Drive, snapshot: str | None = None, pending: bool = False) -> None:
        if not drive.file:
            return
        reference = found.setdefault(drive.file, Reference(drive.file))
        reference.cdrom = reference.cdrom and drive.cdrom
        reference.replicate = reference.replicate or drive.values.get("replicate") is not False
        reference.shared = reference.shared or bool(drive.values.get("shared"))
        reference.unused = reference.unused or drive.bus == "unused"
        if not reference.unused and snapshot is None and not pending:
            reference.attached = True
        if snapshot is not None:
            reference.snapshots.add(snapshot)
        reference.pending = reference.pending or pending
        reference.size = reference.size or drive.size
        reference.state = reference.state or key == "vmstate"
        if is_drive(key):
            reference.drive = key

    def scan(section: Options, snapshot: str | None = None, pending: bool = False) -> None:
        for drive in drives_of(section):
            add(drive.key, drive, snapshot, pending)
        for key, value in section.items():
            if options.family(key) == "unused":
                add(key, parse_drive(key, str(value)) or Drive(key, {"file": str(value)}), snapshot, pending)
            elif key == "vmstate":
                add(key, Drive(key, {"file": str(value)}), snapshot, pending)

    scan(configuration.options)
    scan(configuration.pending, pending=True)
    for name, section in configuration.snapshots.items():
        scan(section, name)
    return found


class Migration:
    """One move."""

    def __init__(self, host: Host, vmid: int, wish: Wish, log: Log) -> None:
        self._host = host
        self._vmid = vmid
        self._wish = wish
        self._log = log
        self._there = Host(host.emulator, wish.target)

    def _say(self, text: str) -> None:
        now = self._host.emulator.world.clock.now().strftime("%Y-%m-%d %H:%M:%S")
        self._log.say(f"{now} {text}")

    async def run(self) -> None:
        """Move the machine."""
        clock = self._host.emulator.world.clock
        began = clock.monotonic()
        try:
            async with self._host.lock(self._vmid, self._log):
                await self._move()
        except Failure as failure:
            self._say(
                f"ERROR: migration aborted (duration {_duration(clock.monotonic() - began)}): {failure.text.rstrip()}"
            )
            raise Failure("migration aborted\n") from None
        self._say(f"migration finished successfully (duration {_duration(clock.monotonic() - began)})")

    def _tell_unreachable(self, node: Node) -> None:
        flags = f"-e none -o 'BatchMode=yes' -o 'HostKeyAlias={node.name}'"
        self._say(f"# /usr/bin/ssh {flags} root@{node.address} /bin/true")
        unreached = f"ssh: connect to host {node.address} port 22: {node.unreachable.value}"
        self._say(_SSH.get(node.unreachable, unreached))

    async def _move(self) -> None:
        host, wish = self._host, self._wish
        configuration = host.load(self._vmid)
        configuration.check_lock()
        running = host.process(self._vmid) is not None
        if running and not wish.online:
            raise Failure("can't migrate running VM without --online\n")
        if running:
            self._say("conntrack state migration not supported or disabled, active connections might get dropped")
        self._check_devices(configuration, running)
        for reference in references(configuration).values():
            if split_id(reference.volume) is not None:
                self._check_storages(reference.volume)
        node = host.emulator.datacenter.nodes[wish.target]
        if not node.online:
            self._tell_unreachable(node)
            raise Failure("Can't connect to destination address using public key\n")
        self._say(f"starting migration of VM {self._vmid} to node '{wish.target}' ({node.address})")
        configuration.options["lock"] = "migrate"
        host.write(configuration, self._log)
        moved: dict[str, str] = {}
        try:
            with interruptible(self._log, "interrupted by signal\n"):
                volumes = self._scan(configuration, running)
                await self._copy(volumes, moved)
                await self._hand_over(configuration, moved, running)
        except Failure as failure:
            self._say(f"ERROR: {failure.text.rstrip()}")
            self._say("aborting phase 1 - cleanup resources")
            for volume in moved.values() if node.online else ():
                await self._there.volumes.free(self._log, volume)
            left = host.load(self._vmid)
            left.options.pop("lock", None)
            host.write(left, self._log)
            raise
        for volume in moved:
            await host.volumes.free(self._log, volume)
        done = self._there.load(self._vmid)
        done.options.pop("lock", None)
        self._there.write(done, self._log)

    def _check_devices(self, configuration: Configuration, running: bool) -> None:
        wish, mappings = self._wish, self._host.emulator.datacenter.mappings
        mapped = mapped_resources(configuration, mappings)
        local = [name for name in local_resources(configuration, mappings, running=running) if name not in mapped]
        if local:
            if not wish.force:
                raise Failure(f"can't migrate VM which uses local devices: {', '.join(local)}\n")
            self._say("migrating VM which uses local devices")
        if mapped:
            missing = [name for name, resource in mapped.items() if wish.target not in resource.nodes]
            if missing:
                raise Failure(f"can't migrate to '{wish.target}': missing mapped devices {', '.join(missing)}\n")
            lost = [f"{name}:{mapped[name].name}" for name in sorted(mapped) if not mapped[name].live]
            if running and lost:
                raise Failure(f"can't live migrate running VM which uses following mapped devices: {', '.join(lost)}\n")
            self._say("migrating VM which uses mapped local devices")
        vga = configuration.get("vga")
        if running and vga and options.parts("vga", str(vga)).get("clipboard") == "vnc":
            raise Failure("VMs with 'clipboard' set to 'vnc' are not live migratable!\n")

    def _scan(self, configuration: Configuration, running: bool) -> list[Reference]:
        errors: dict[str, str] = {}
        others: list[str] = []
        local: list[Reference] = []
        for reference in references(configuration).values():
            if reference.cdrom and reference.volume == "cdrom":
                others.append(_told(reference))
                continue
            try:
                if self._is_local(reference):
                    local.append(reference)
                    self._check(reference, running)
            except Failure as failure:
                errors[reference.volume] = failure.text.rstrip("\n")
        for reference in sorted(local, key=lambda each: each.volume):
            self._tell(reference, running, errors)
        for volume in sorted(errors):
            self._say(f"can't migrate local disk '{volume}': {errors[volume]}")
        for other in others:
            self._say(other)
        if errors or others:
            raise Failure("Problem found while scanning volumes - can't migrate VM - check log\n")
        for reference in local:
            storage, name = self._host.volumes.parse(reference.volume)
            if storage.type not in _MOVABLE:
                raise Failure(
                    f"Problem found while scanning volumes - can't migrate '{reference.volume}' - storage type"
                    f" '{storage.type}' not supported\n"
                )
            if name.base:
                raise Failure(
                    f"Problem found while scanning volumes - can't migrate '{reference.volume}' as it's a clone of"
                    f" '{name.base}'"
                )
        return local

    def _is_local(self, reference: Reference) -> bool:
        volume = reference.volume
        if volume.startswith("/"):
            return not reference.shared
        if split_id(volume) is None:
            return False
        self._check_storages(volume)
        return not self._host.volumes.parse(volume)[0].shared

    def _check_storages(self, volume: str) -> None:
        storage, name = self._host.volumes.parse(volume)
        self._host.volumes.enabled(storage.name)
        target = storage.name if storage.shared else self._target(storage.name)
        if name.content not in self._host.volumes.enabled(target, self._wish.target).contents:
            raise Failure(f"{volume}: content type '{name.content}' is not available on storage '{target}'\n")

    def _target(self, storage: str) -> str:
        mapping = self._wish.storages
        return mapping.get(storage) or mapping.get("") or storage

    def _check(self, reference: Reference, running: bool) -> None:
        if reference.volume.startswith("/"):
            raise Failure("local file/device\n")
        storage, name = self._host.volumes.parse(reference.volume)
        if reference.cdrom:
            if "cloudinit" in reference.volume:
                return
            raise Failure("local cdrom image\n")
        if name.vmid != self._vmid:
            raise Failure(f"owned by other VM (owner = VM {name.vmid if name.vmid is not None else ''})\n")
        if reference.snapshots and not reference.state:
            if running:
                raise Failure("online storage migration not possible if non-replicated snapshot exists\n")
            if storage.type != "zfspool" and name.format != "qcow2":
                raise Failure("non-migratable snapshot exists\n")
        if self._host.volumes.base_in_use(reference.volume):
            raise Failure("referenced by linked clone(s)\n")

    def _tell(self, reference: Reference, running: bool, errors: dict[str, str]) -> None:
        volume = reference.volume
        if volume.startswith("/"):
            self._say(f"found local disk '{volume}'")
        elif (reference.cdrom and "cloudinit" in volume) or reference.drive == "tpmstate0":
            self._say(f"found generated disk '{volume}' (in current VM config)")
        elif reference.attached:
            if running and not self._wish.with_local_disks:
                errors[volume] = "can't live migrate attached local disks without with-local-disks option"
            self._say(f"found local disk '{volume}' (attached)")
        else:
            kind = (
                "unused"
                if reference.unused
                else "referenced by snapshot(s)"
                if reference.snapshots
                else "pending change"
            )
            self._say(f"found local disk '{volume}' ({kind})")

    async def _copy(self, local: list[Reference], moved: dict[str, str]) -> None:
        if local:
            self._say("copying local disk images")
        for reference in sorted(local, key=lambda each: each.volume):
            volume = self._host.volumes.find(reference.volume)
            if volume is None:
                raise Failure(f"volume '{reference.volume}' does not exist\n")
            name = self._host.volumes.parse(reference.volume)[1]
            target = self._there.volumes.active(self._target(volume.storage))
            await asyncio.sleep(self._host.emulator.pace.full_clone_per_gib * volume.size / (1 << 30))
            self._check_connection()
            format = self._there.volumes.resolve_format(target, volume.format)
            stem = name.name.rpartition(".")[0] or name.name
            new_name = f"{self._vmid}/{stem}.{format}" if target.type in FILE_TYPES else stem
            copy = self._there.volumes.put(target, new_name, format, volume.size)
            copy.used, copy.system, copy.data = volume.used, volume.system, volume.data
            copy.snapshots = dict(volume.snapshots)
            moved[reference.volume] = copy.id
            self._say(f"volume '{reference.volume}' is '{copy.id}' on the target")

    def _check_connection(self) -> None:
        node = self._host.emulator.datacenter.nodes[self._wish.target]
        if not node.online:
            raise Failure(f"command '/usr/bin/ssh -o 'BatchMode=yes' root@{node.address}' failed: exit code 255\n")

    async def _hand_over(self, configuration: Configuration, moved: dict[str, str], running: bool) -> None:
        host, pace = self._host, self._host.emulator.pace
        if running:
            self._say(f"starting VM {self._vmid} on remote node '{self._wish.target}'")
            await asyncio.sleep(pace.start)
            self._say("start remote tunnel")
            self._say(f"starting online/live migration on unix:/run/qemu-server/{self._vmid}.migrate")
            memory = options.megabytes(configuration.get("memory"))
            await asyncio.sleep(pace.task)
            self._say(f"average migration speed: {memory:.1f} MiB/s - downtime 42 ms")
            self._say(f"migration completed, transferred {memory:.1f} MiB VM-state")
            self._say("migration status: completed")
        else:
            await asyncio.sleep(pace.task)
        self._check_connection()
        for section in (configuration.options, configuration.pending, *configuration.snapshots.values()):
            for key, value in section.items():
                if (drive := parse_drive(key, str(value)) if is_drive(key) else None) and drive.file in moved:
                    drive.file = moved[drive.file]
                    section[key] = drive.text()
                elif (options.family(key) == "unused" or key == "vmstate") and str(value) in moved:
                    section[key] = moved[str(value)]
        host.write(configuration, self._log)
        host.move(self._vmid, self._wish.target)
        if running:
            host.emulator.machines.backend.moved(self._vmid, self._wish.target)


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def _told(reference: Reference) -> str:
    named = f" (referenced in snapshot - {', '.join(sorted(reference.snapshots))})"
    return "can't migrate local cdrom drive" + (named if reference.snapshots and not reference.attached else "")
