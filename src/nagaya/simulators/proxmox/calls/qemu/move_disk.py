"""Disks that change their place: to another storage, to another machine, or out of use."""

from __future__ import annotations

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.config import change_now
from nagaya.simulators.proxmox.calls.qemu.shared import host_of, start_task
from nagaya.simulators.proxmox.calls.qemu.update import Update
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.qemu import boot, options
from nagaya.simulators.proxmox.qemu.actions.bandwidth import Bandwidth
from nagaya.simulators.proxmox.qemu.actions.bases import make_bases
from nagaya.simulators.proxmox.qemu.actions.copying import Copying, Source, storage_of
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.configuration import Configuration
from nagaya.simulators.proxmox.qemu.drives import Drive, parse_drive
from nagaya.simulators.proxmox.storages.volume_name import split_id
from nagaya.simulators.proxmox.tasks.runner import Task, interruptible

handlers = Handlers()

MODIFIED = "detected modified configuration - file changed by other user? Try again.\n"


@handlers("PUT", "/nodes/{node}/qemu/{vmid}/unlink")
async def unlink(call: Call) -> None:
    """Take disks out of use, or remove those that are."""
    given = {**call.parameters, "delete": call["idlist"]}
    del given["idlist"]
    await change_now(call, given)


@handlers("POST", "/nodes/{node}/qemu/{vmid}/move_disk")
async def move(call: Call) -> str:
    """Move a disk to another storage, or give it to another machine."""
    storage, target = call.get("storage"), call.get("target-vmid")
    host, vmid, disk = host_of(call), call["vmid"], call["disk"]
    if target and storage:
        refused = "either set 'storage' or 'target-vmid', but not both"
        raise ParameterFailure({"target-vmid": refused, "storage": refused})
    if target:
        if not call.caller.root:
            call.rights.check_machine(target, None, ["VM.Config.Disk"])
        if target == vmid:
            raise ParameterFailure({"target-vmid": "must be different than source VMID to reassign disk"})
        giving = _Giving(call, host)
        drive = giving.check()[2]
        call.rights.check(f"/storage/{storage_of(drive.file)}", ["Datastore.AllocateSpace"])
        return start_task(call, "qmmove", f"{vmid}-{disk}>{target}-{giving.key}", giving.run)
    if not storage:
        refused = "both 'storage' and 'target-vmid' missing, either needs to be set"
        raise ParameterFailure({"target-vmid": refused, "storage": refused})
    call.rights.check(f"/storage/{storage}", ["Datastore.AllocateSpace"])
    moving = _Moving(call, host)
    moving.check()
    return start_task(call, "qmmove", vmid, moving.run)


class _Moving:
    """To another storage."""

    def __init__(self, call: Call, host: Host) -> None:
        self._call = call
        self._host = host
        self._vmid: int = call["vmid"]
        self._disk: str = call["disk"]

    def check(self) -> tuple[Configuration, Drive, bool]:
        """The configuration, the drive, and whether a snapshot has its disk too."""
        call, disk = self._call, self._disk
        configuration = self._host.load(self._vmid)
        configuration.check_lock()
        if call.get("digest") and call["digest"] != configuration.digest:
            raise Failure(MODIFIED)
        value = configuration.get(disk)
        if not value or (drive := parse_drive(disk, str(value))) is None:
            raise Failure(f"disk '{disk}' does not exist\n")
        if not drive.file:
            raise Failure(f"disk '{disk}' has no associated volume\n")
        if drive.plain_cdrom:
            raise Failure("you can't move a cdrom\n")
        storage, name = self._host.volumes.parse(drive.file)
        wanted = call.get("format")
        if storage.name == call["storage"] and (not wanted or wanted == name.format):
            raise Failure("you can't move to the same storage with same format\n")
        if "images" not in self._host.volumes.enabled(call["storage"]).contents:
            raise ParameterFailure({"storage": f"storage '{call['storage']}' does not support vm images"})
        held = configuration.in_use(drive.file, disk)
        if held and call.get("delete"):
            raise Failure("you can't move a disk with snapshots and delete the source\n")
        return configuration, drive, held

    async def run(self, task: Task) -> None:
        """The task."""
        async with self._host.lock(self._vmid, task):
            configuration, drive, held = self.check()
            old, storage = drive.file, self._call["storage"]
            task.say(f"copying volume '{old}' from current storage '{storage_of(old)}' to target storage '{storage}'")
            self._host.volumes.active(storage_of(old))
            if self._host.volumes.find(old) is None:
                raise Failure(f"volume '{old}' does not exist\n")
            made: list[str] = []
            try:
                with interruptible(task, "interrupted by signal\n"):
                    await self._copy(configuration, drive, held, made, task)
            except Failure as failure:
                for volume in made:
                    await self._host.volumes.free(task, volume)
                raise Failure(f"storage migration failed: {failure.text}") from None
            if self._call.get("delete"):
                task.say(f"removing source volume '{old}' after successful copy")
                await self._free(old, task)

    async def _copy(self, configuration: Configuration, drive: Drive, held: bool, made: list[str], task: Task) -> None:
        call, old = self._call, drive.file
        if held:
            task.say("moving disk with snapshots, snapshots will not be moved!")
        guest = self._host.present(self._vmid)
        mirror = guest if guest.running and drive.bus != "unused" else None
        source = Source(old, self._disk, cloudinit=drive.cloudinit, mirror=mirror)
        limits = Bandwidth(call.rights, call.emulator.datacenter, "move", call.get("bwlimit"))
        volume = await Copying(self._host, task, limits).copy(
            source, self._vmid, self._disk, storage=call["storage"], format=call.get("format"), made=made
        )
        made_again = drive.cloudinit
        drive.values.pop("format", None)
        drive.file = volume.id
        if drive.bus != "unused":
            drive.values["size"] = volume.size
        configuration.options[self._disk] = drive.text()
        if not call.get("delete"):
            key = await self._keep(configuration, made_again, old, task)
            task.say(f"adding source volume '{old}' as '{key}' to config")
        if configuration.template:
            await make_bases(self._host, configuration, task, self._disk)
        self._host.write(configuration, task)

    async def _keep(self, configuration: Configuration, cloudinit: bool, volume: str, task: Task) -> str:
        """Keep the old disk; one with boot data is removed, for it can be made again."""
        if not cloudinit:
            return configuration.add_unused(volume) or ""
        task.say(f"found unused cloudinit disk '{volume}', removing it")
        await self._host.volumes.free(task, volume)
        return ""

    async def _free(self, volume: str, task: Task) -> None:
        try:
            await self._host.volumes.free(task, volume)
        except Failure as failure:
            task.say(failure.text.rstrip("\n"))


class _Giving:
    """To another machine."""

    def __init__(self, call: Call, host: Host) -> None:
        self._call = call
        self._host = host
        self._vmid: int = call["vmid"]
        self._target: int = call["target-vmid"]
        self._disk: str = call["disk"]
        self.key: str = call.get("target-disk") or self._disk

    def check(self) -> tuple[Configuration, Configuration, Drive]:
        """Both configurations, and the drive as it will be in the other machine."""
        call, host, guests = self._call, self._host, self._host.emulator.datacenter.guests
        if self._vmid not in guests:
            raise Failure(f"could not find VM {self._vmid}\n")
        if self._target not in guests:
            raise Failure(f"could not find target VM {self._target}\n")
        here, there = guests[self._vmid].node, guests[self._target].node
        if here != there:
            raise Failure(f"Both VMs need to be on the same node ({here} != {there})\n")
        source, target = host.load(self._vmid), host.load(self._target)
        source.check_lock()
        target.check_lock()
        if source.template or target.template:
            raise Failure("Can't move disks from or to template VMs\n")
        for digest, configuration in ((call.get("digest"), source), (call.get("target-digest"), target)):
            if digest and digest != configuration.digest:
                raise Failure(f"VM {configuration.vmid}: {MODIFIED}")
        if source.get(self._disk) is None:
            raise Failure(f"Disk '{self._disk}' for VM '{self._vmid}' does not exist\n")
        if target.get(self.key):
            raise Failure(f"Target disk key '{self.key}' is already in use for VM '{self._target}'\n")
        return source, target, self._drive(source)

    def _drive(self, source: Configuration) -> Drive:
        text = str(source.get(self._disk))
        drive = parse_drive(self._disk, text)
        if drive is None or not drive.file:
            raise Failure(f"disk '{self._disk}' has no associated volume\n")
        if drive.plain_cdrom:
            raise Failure("CD drive contents can't be moved to another VM\n")
        if split_id(drive.file) is None:
            raise Failure(f"Volume '{drive.file}' not managed by PVE\n")
        if source.in_use(drive.file, self._disk):
            raise Failure("Can't move disk used by a snapshot to another VM\n")
        if not self._host.volumes.has_feature("rename", drive.file):
            raise Failure("Storage does not support moving of this disk to another VM\n")
        if self._host.process(self._vmid) is not None and drive.bus != "unused":
            raise Failure("Cannot move disk to another VM while the source VM is running - detach first\n")
        new = parse_drive(self.key, drive.file if options.family(self.key) == "unused" else text)
        if new is None:
            raise Failure("failed to parse source disk for target disk format - \n")
        return new

    async def run(self, task: Task) -> None:
        """The task."""
        host = self._host
        async with host.lock(self._vmid, task), host.lock(self._target, task):
            source, target, drive = self.check()
            task.say(f"reassign disk '{self._disk}' from VM '{self._vmid}' as '{self.key}' to VM '{self._target}'")
            volume = await host.volumes.rename(task, drive.file, self._target)
            drive.file = volume.id
            order = boot.order(source.get("boot"))
            if self._disk in order:
                task.say(f"removing disk '{self._disk}' from boot order config")
                order.remove(self._disk)
                source.options["boot"] = boot.joined(order)
            del source.options[self._disk]
            task.say(f"removing disk '{self._disk}' from VM '{self._vmid}' config")
            host.write(source, task)
            if options.family(self.key) == "unused":
                target.options[self.key] = drive.text()
                host.write(target, task)
                return
            given = {"vmid": self._target, "digest": self._call.get("target-digest"), self.key: drive.text()}
            update = Update(self._call, host, given)
            update.check()
            await update.run(task)
