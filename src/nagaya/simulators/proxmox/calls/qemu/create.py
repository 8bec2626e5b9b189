"""Making machines: from nothing, or from an image.

The number is taken at once, by a file that says nothing but `lock: create`; everything else is the task's. A task that
fails takes the file away again, and the number is free.
"""

from __future__ import annotations

import asyncio
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import host_of, start_machine, start_task
from nagaya.simulators.proxmox.failure import Failure, Forbidden, ParameterFailure
from nagaya.simulators.proxmox.qemu import boot, identity, machine_types, options, rights, tags
from nagaya.simulators.proxmox.qemu.actions import disks
from nagaya.simulators.proxmox.qemu.actions.disks import Making
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.configuration import Configuration
from nagaya.simulators.proxmox.qemu.drives import is_drive
from nagaya.simulators.proxmox.qemu.networks import is_network, parse_network
from nagaya.simulators.proxmox.qemu.shares import clamped
from nagaya.simulators.proxmox.qemu.ssh_keys import check_keys
from nagaya.simulators.proxmox.storages.volume_name import split_id
from nagaya.simulators.proxmox.tasks.runner import Silence, Task, interruptible

handlers = Handlers()

_OWN = frozenset(
    {
        "node", "vmid", "archive", "bwlimit", "force", "pool", "start", "ha-managed", "storage", "unique",
        "live-restore", "import-working-storage",
    }
)  # fmt: skip


@handlers("POST", "/nodes/{node}/qemu")
async def create(call: Call) -> str:
    """Make a machine."""
    host, vmid, pool = host_of(call), call["vmid"], call.get("pool")
    given = {name: value for name, value in call.parameters.items() if name not in _OWN}
    if given.get("sshkeys") is not None:
        check_keys(given["sshkeys"])
    if given.get("cpuunits") is not None:
        given["cpuunits"] = clamped(given["cpuunits"], call.node.control_groups)
    host.check_quorum()
    if pool is not None:
        call.rights.check_pool(pool)
    if call.get("storage") is not None:
        call.rights.check(f"/storage/{call['storage']}", ["Datastore.AllocateSpace"])
    if call.get("ha-managed"):
        call.rights.check("/", ["Sys.Console"])
    if call.get("start"):
        call.rights.check_machine(vmid, pool, ["VM.PowerMgmt"])
    if not call.rights.may_machine(vmid, pool, ["VM.Allocate"]) and not _may_replace(call, host):
        raise Forbidden
    if call.get("archive"):
        _refuse_restore(call, host, given)
    if given:
        _check(call, host, given)
    refused = f"unable to create VM {vmid} -"
    try:
        await _take_number(host, vmid)
    except Failure as failure:
        raise Failure(f"{refused} {failure.text}") from None
    return start_task(call, "qmcreate", vmid, lambda task: _Creation(call, host, given, refused).run(task))


def _may_replace(call: Call, host: Host) -> bool:
    """Whether a backup is to take the place of a machine whose backups the caller may use."""
    replaced = call.get("archive") and call.get("force") and host.guest(call["vmid"]) is not None
    return bool(replaced) and call.rights.may(f"/vms/{call['vmid']}", ["VM.Backup"])


def _refuse_restore(call: Call, host: Host, given: dict[str, Any]) -> None:
    """Backups are not emulated: each is as good as gone."""
    for name in sorted(name for name in given if is_drive(name)):
        raise ParameterFailure({name: "option conflicts with option 'archive'"})
    archive = str(call["archive"])
    if archive == "-":
        raise Failure("pipe requires cli environment\n")
    disks.check_volume(call.rights, host, call["vmid"], archive, "backup")
    if (parts := split_id(archive)) is None:
        raise Failure(f"can't find file '{archive}'\n")
    host.volumes.active(parts[0])
    raise Failure(f"volume '{archive}' does not exist\n")


def _check(call: Call, host: Host, given: dict[str, Any]) -> None:
    vmid, pool = call["vmid"], call.get("pool")
    disks.rename_cdrom(given)
    disks.check_access(call.rights, host, vmid, given, call.get("storage"), call.get("import-working-storage"))
    rights.check_options(call.rights, vmid, pool, given)
    if not call.caller.root:
        for name, value in given.items():
            if options.family(name) == "serial":
                if value != "socket":
                    raise Failure(f"only root can set '{name}' config for real devices\n")
                call.rights.check_machine(vmid, pool, ["VM.Config.HWType"])
    for kind in ("usb", "hostpci", "rng", "virtiofs"):
        for name in [name for name in given if options.family(name) == kind]:
            rights.check_device(call.rights, vmid, pool, name, given[name])
    rights.check_bridges(call.rights, call.emulator.datacenter, given)
    rights.check_cpu_model(call.rights, given)
    disks.check_form(host, given)
    prefix = call.emulator.datacenter.options.get("mac_prefix")
    for name in [name for name in given if is_network(name)]:
        given[name] = options.joined(name, parse_network(name, str(given[name]), call.emulator.world, prefix))


async def _take_number(host: Host, vmid: int) -> None:
    async with host.lock(vmid, Silence(), timeout=5):
        if (guest := host.emulator.datacenter.guests.get(vmid)) is not None:
            raise Failure(f"VM {vmid} already exists on node '{guest.node}'\n")
        host.write(Configuration(vmid, {"lock": "create"}), Silence())


class _Creation:
    def __init__(self, call: Call, host: Host, given: dict[str, Any], refused: str) -> None:
        self._call = call
        self._host = host
        self._given = given
        self._refused = refused
        self._vmid: int = call["vmid"]

    async def run(self, task: Task) -> None:
        try:
            async with self._host.lock(self._vmid, task, timeout=1):
                await self._make(task)
        except Failure:
            self._give_back(task)
            raise
        if self._call.get("ha-managed"):
            self._manage(task)
        if self._call.get("start"):
            task.say("Execute autostart")
            self._autostart(task)

    def _give_back(self, task: Task) -> None:
        """The number is free again; that it cannot be made so is not what went wrong first."""
        try:
            self._host.remove(self._vmid)
        except Failure as failure:
            task.say(failure.text.rstrip("\n"))

    async def _make(self, task: Task) -> None:
        call = self._call
        configuration = Configuration(self._vmid, dict(self._given))
        template = Configuration(self._vmid, {"template": int(bool(self._given.get("template")))})
        making = Making(self._host, call.rights, template, task)
        try:
            with interruptible(task):
                await self._fill(configuration, making, task)
        except Failure as failure:
            await making.undo()
            raise Failure(f"{self._refused} {failure.text}") from None
        if pool := call.get("pool"):
            call.emulator.datacenter.pools[pool].vms.add(self._vmid)

    async def _fill(self, configuration: Configuration, making: Making, task: Task) -> None:
        call, world, section = self._call, self._call.emulator.world, configuration.options
        section["meta"] = identity.birth(world)
        section.update(await making.make(self._given, call.get("storage")))
        await asyncio.sleep(call.emulator.pace.task)
        if not section.get("boot"):
            section["boot"] = boot.joined(boot.default(section))
        machine_types.check_clipboard(section.get("vga"))
        if not section.get("smbios1"):
            section["smbios1"] = identity.smbios(world)
        if section.get("vmgenid", "1") == "1" and section.get("arch") != "aarch64":
            section["vmgenid"] = world.uid()
        machine = machine_types.pinned(section.get("machine"), section.get("ostype"), task, section.get("arch"))
        if machine:
            section["machine"] = machine
        if section.get("tags") is not None:
            tags.check(self._vmid, None, section["tags"], call.rights, call.emulator.datacenter)
            section["tags"] = tags.unique(section["tags"], call.emulator.datacenter)
        await task.step("write")
        self._host.write(configuration, task)

    def _manage(self, task: Task) -> None:
        task.say("Add as HA resource")
        state = "started" if self._call.get("start") else "stopped"
        resources = self._call.emulator.datacenter.ha.resources
        resources.setdefault(f"vm:{self._vmid}", {"sid": f"vm:{self._vmid}", "type": "vm", "state": state})

    def _autostart(self, task: Task) -> None:
        """Another task does it, and this one does not wait for it."""
        try:
            start_machine(self._call, self._vmid)
        except Failure as failure:
            task.say(failure.text.rstrip("\n"))
