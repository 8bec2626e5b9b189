"""Copies of machines: linked to their template, or full.

The copy exists from the beginning of the task, as a file that holds nothing but a lock. Its options come with its first
disk, the lock goes when the last is there, and only then it moves to another host and into its pool.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import host_of, start_task
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.qemu import identity, options, rights
from nagaya.simulators.proxmox.qemu.actions.bandwidth import Bandwidth
from nagaya.simulators.proxmox.qemu.actions.copying import Copying, Source, storage_of
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.configuration import Configuration, drives_of
from nagaya.simulators.proxmox.qemu.drives import Drive, is_drive, parse_drive
from nagaya.simulators.proxmox.qemu.networks import is_network, random_address
from nagaya.simulators.proxmox.state.guest import Options
from nagaya.simulators.proxmox.tasks.runner import Task, interruptible

handlers = Handlers()

TEMPORARY = " qmclone temporary file"
_NOT_COPIED = frozenset(
    {"parent", "snaptime", "vmstate", "snapstate", "runningcpu", "runningmachine", "running-nets-host-mtu", "digest"}
)


@handlers("POST", "/nodes/{node}/qemu/{vmid}/clone")
async def clone(call: Call) -> str:
    """Copy a machine."""
    cloning = _Cloning(call, host_of(call))
    cloning.prepare()
    return start_task(call, "qmclone", call["vmid"], cloning.run)


@dataclass(slots=True)
class _Plan:
    """What the copy will consist of."""

    old: Options
    new: Options
    drives: dict[str, Drive] = field(default_factory=dict)
    full: set[str] = field(default_factory=set)
    waiting: list[str] = field(default_factory=list)
    """Options with changes that wait in the source, and do not come along."""
    cloudinit: dict[str, str] = field(default_factory=dict)
    """What the drive with boot data of the source does not know yet; that does come along."""


class _Cloning:
    def __init__(self, call: Call, host: Host) -> None:
        self._call = call
        self._host = host
        self._vmid: int = call["vmid"]
        self._newid: int = call["newid"]
        target = call.get("target")
        self._target: str | None = None if target in (call.node.name, "localhost") else target
        self._running = host.process(self._vmid) is not None

    def prepare(self) -> _Plan:
        """Refuse what cannot be copied, or say what the copy will be."""
        call, host, storage = self._call, self._host, self._call.get("storage")
        if call.get("pool") is not None:
            call.rights.check_pool(call["pool"])
        if self._target and self._target not in call.emulator.datacenter.nodes:
            raise Failure(f"no such cluster node '{self._target}'\n")
        if storage:
            self._check_storage(storage)
        host.check_quorum()
        configuration = host.load(self._vmid)
        configuration.check_lock()
        if (host.process(self._vmid) is not None) != self._running:
            raise Failure("unexpected state change\n")
        snapshot = call.get("snapname")
        if snapshot and snapshot not in configuration.snapshots:
            raise Failure(f"snapshot '{snapshot}' does not exist\n")
        full = bool(call.get("full", not configuration.template))
        for name in ("storage", "format"):
            if call.get(name) is not None and not full:
                raise Failure(f"parameter '{name}' not allowed for linked clones\n")
        old = configuration.snapshots[snapshot] if snapshot else configuration.options
        shared = self._check_access(old, storage)
        rights.check_mappings(call.rights, old)
        rights.check_bridges(call.rights, call.emulator.datacenter, old)
        rights.check_cpu_model(call.rights, old)
        if self._target and not shared:
            raise Failure(f"can't clone VM to node '{self._target}' (VM uses local storage)\n")
        if host.guest(self._newid) is not None:
            raise Failure(f"unable to create VM {self._newid}: config file already exists\n")
        plan = self._plan(old, full, snapshot)
        if not snapshot:
            plan.waiting = sorted(configuration.pending) + (["delete"] if configuration.deletions else [])
            plan.cloudinit = dict(configuration.cloudinit)
        return plan

    def _check_storage(self, name: str) -> None:
        storage = self._host.volumes.enabled(name)
        if "images" not in storage.contents:
            raise ParameterFailure({"storage": f"storage '{name}' does not support vm images"})
        if self._target:
            self._host.volumes.enabled(name, self._target)
            if not storage.shared:
                raise Failure(f"can't clone to non-shared storage '{name}'\n")

    def _check_access(self, old: Options, storage: str | None) -> bool:
        """Whether all volumes are on storages that all hosts share."""
        call, shared = self._call, True
        for drive in drives_of(old):
            if drive.file in ("", "none"):
                continue
            if drive.cdrom and drive.file == "cdrom":
                call.rights.check("/", ["Sys.Console"])
                continue
            own = storage_of(drive.file)
            shared = shared and self._host.volumes.storage(own).shared
            if not drive.cdrom:
                call.rights.check(f"/storage/{storage or own}", ["Datastore.AllocateSpace"])
        if old.get("vmstatestorage") is not None:
            call.rights.check(f"/storage/{old['vmstatestorage']}", ["Datastore.AllocateSpace"])
        return shared

    def _plan(self, old: Options, full: bool, snapshot: str | None) -> _Plan:
        emulator = self._call.emulator
        plan = _Plan(dict(old), {"lock": "clone"})
        prefix = emulator.datacenter.options.get("mac_prefix")
        for name in sorted(old):
            if name in _NOT_COPIED or options.family(name) == "unused":
                continue
            if full and self._running and not snapshot and name == "tpmstate0":
                raise Failure("cannot clone TPM state while VM is running\n")
            if is_network(name):
                parts = options.parts(name, str(old[name]))
                parts["macaddr"] = random_address(emulator.world, prefix)
                plan.new[name] = options.joined(name, parts)
            elif is_drive(name):
                self._plan_drive(plan, name, str(old[name]), full, snapshot)
            else:
                plan.new[name] = old[name]
        return plan

    def _plan_drive(self, plan: _Plan, name: str, value: str, full: bool, snapshot: str | None) -> None:
        if (drive := parse_drive(name, value)) is None:
            raise Failure(f"unable to parse drive options for '{name}'\n")
        if drive.plain_cdrom:
            plan.new[name] = value
            return
        of = " a snapshot of" if snapshot else ""
        refused = f"clone feature is not supported for{of} '{drive.file}' ({name})\n"
        if full or drive.cloudinit or name == "tpmstate0":
            if not self._host.volumes.has_feature("copy", drive.file, snapshot):
                raise Failure(f"Full {refused}")
            plan.full.add(name)
        elif not self._host.volumes.has_feature("clone", drive.file, snapshot):
            raise Failure(f"Linked {refused}")
        plan.drives[name] = drive

    async def run(self, task: Task) -> None:
        """The task: source and copy are both held, the source only against changes unless it runs."""
        host = self._host
        async with (
            host.lock(self._vmid, task, timeout=1, shared=not self._running),
            host.lock(self._newid, task, timeout=1),
        ):
            plan = self.prepare()
            task.say(f"creating a clone of VM {self._vmid} with ID {self._newid}")
            self._rename(plan)
            host.write(Configuration(self._newid, {"lock": "clone", "description": TEMPORARY}), task)
            await self._make(plan, task)

    def _rename(self, plan: _Plan) -> None:
        world, new = self._call.emulator.world, plan.new
        new["smbios1"] = identity.smbios(world, str(new.get("smbios1") or ""))
        if new.get("vmgenid"):
            new["vmgenid"] = world.uid()
        new.pop("template", None)
        new["name"] = self._call.get("name") or f"Copy-of-VM-{plan.old.get('name') or self._vmid}"
        if self._call.get("description"):
            new["description"] = self._call["description"]

    async def _make(self, plan: _Plan, task: Task) -> None:
        made: list[str] = []
        try:
            with interruptible(task, "interrupted by signal\n"):
                await self._fill(plan, made, task)
            return
        except Failure as raised:
            failure = raised
        await asyncio.sleep(1)
        for volume in made:
            try:
                await self._host.volumes.free(task, volume)
            except Failure as refused:
                task.say(refused.text.rstrip("\n"))
        if self._host.guest(self._newid) is not None and self._call.emulator.datacenter.quorate:
            self._host.remove(self._newid)
        raise Failure(f"clone failed: {failure.text}")

    async def _fill(self, plan: _Plan, made: list[str], task: Task) -> None:
        call, host = self._call, self._host
        for drive in plan.drives.values():
            storage = host.volumes.active(storage_of(drive.file))
            if host.volumes.find(drive.file) is None and not drive.cloudinit:
                raise Failure(f"volume '{storage.name}:{drive.file.partition(':')[2]}' does not exist\n")
        limits = Bandwidth(call.rights, call.emulator.datacenter, "clone", call.get("bwlimit"))
        copying = Copying(host, task, limits)
        mirror = host.present(self._vmid) if self._running and not call.get("snapname") else None
        for name in sorted(plan.drives):
            drive = plan.drives[name]
            if name in plan.full:
                last = name == max(plan.drives)
                source = Source(drive.file, name, call.get("snapname"), drive.cloudinit, mirror, last)
                volume = await copying.copy(
                    source, self._newid, name, storage=call.get("storage"), format=call.get("format"), made=made
                )
            else:
                volume = await copying.link(drive, self._newid, made)
            values = {key: value for key, value in drive.values.items() if key != "format"}
            plan.new[name] = Drive(name, {**values, "file": volume.id, "size": volume.size}).text()
            host.write(self._configuration(plan), task)
        if not plan.drives:
            await asyncio.sleep(call.emulator.pace.task)
        await task.step("finish")
        plan.new.pop("lock", None)
        if plan.waiting:
            task.say(f"found pending changes for '{','.join(plan.waiting)}', discarding for clone")
        host.write(self._configuration(plan), task)
        if self._target:
            host.move(self._newid, self._target)
        if pool := call.get("pool"):
            call.emulator.datacenter.pools[pool].vms.add(self._newid)

    def _configuration(self, plan: _Plan) -> Configuration:
        return Configuration(self._newid, dict(plan.new), cloudinit=dict(plan.cloudinit))
