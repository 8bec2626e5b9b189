"""One change to the configuration of a machine.

First everything is written down as a change that waits; then, if the machine is off, all of it is made, and otherwise
as much as a running QEMU can take. Most refusals come before anything is touched, with the call itself; they are looked
for again once the file is held, for it may have changed.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.qemu import boot, machine_types, options, rights, tags
from nagaya.simulators.proxmox.qemu.actions import changing, disks
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.starting import check_hook
from nagaya.simulators.proxmox.qemu.configuration import Configuration
from nagaya.simulators.proxmox.qemu.drives import Drive, is_drive, parse_drive
from nagaya.simulators.proxmox.qemu.networks import is_network, parse_network
from nagaya.simulators.proxmox.qemu.shares import clamped
from nagaya.simulators.proxmox.qemu.ssh_keys import check_keys
from nagaya.simulators.proxmox.tasks.runner import Log
from nagaya.simulators.proxmox.verification import split_list
from nagaya.world import World

CHANGED = "checksum mismatch (file change by other user?)\n"
_ENCRYPTED = re.compile(r"\$(?:[156]|2[ay])(?:\$.+){2}")
_UNLOGGED = ("node", "vmid", "digest", "background_delay", "skip_cloud_init", "import-working-storage")


class Update:
    """What somebody wants changed."""

    def __init__(self, call: Call, host: Host, given: dict[str, Any]) -> None:
        self.host = host
        self.vmid: int = given["vmid"]
        self._call = call
        self._rights = call.rights
        for name in ("node", "vmid"):
            given.pop(name, None)
        self._digest = given.pop("digest", None)
        self._extraction: str | None = given.get("import-working-storage")
        for name in _UNLOGGED:
            given.pop(name, None)
        self._told = " ".join(f"-{name} {_shown(name, given[name])}" for name in sorted(given))
        self._skip_lock = bool(given.pop("skiplock", None))
        self._delete = split_list(given.pop("delete", None) or "")
        self._revert = split_list(given.pop("revert", None) or "")
        self._force = bool(given.pop("force", None))
        self._given = given
        self._modified: set[str] = set()
        self._order: list[str] = []

    # Before anything is touched

    def check(self) -> None:
        """Refuse what can be refused without holding the file."""
        given = self._given
        if given.get("sshkeys") is not None:
            check_keys(given["sshkeys"])
        if given.get("cpuunits") is not None:
            given["cpuunits"] = clamped(given["cpuunits"], self._call.node.control_groups)
        if not (self._delete or self._revert or given):
            raise Failure("no options specified\n")
        disks.rename_cdrom(given)
        self._check_names()
        disks.check_form(self.host, given)
        world, datacenter = self._call.emulator.world, self._call.emulator.datacenter
        for name in [name for name in given if given[name] is not None]:
            if is_network(name):
                prefix = datacenter.options.get("mac_prefix")
                given[name] = options.joined(name, parse_network(name, str(given[name]), world, prefix))
            elif name == "vmgenid" and given[name] == "1":
                given[name] = world.uid()
            elif name == "hookscript":
                self._check_hook(str(given[name]))
        rights.check_options(self._rights, self.vmid, None, self._delete)
        rights.check_options(self._rights, self.vmid, None, given)
        disks.check_access(self._rights, self.host, self.vmid, given, extraction=self._extraction)
        rights.check_bridges(self._rights, datacenter, given)
        self._load(final=False)

    def _check_names(self) -> None:
        for name in self._revert:
            if not options.exists(name):
                raise ParameterFailure({"revert": f"unknown option '{name}'"})
            if self._given.get(name) is not None:
                raise ParameterFailure({"delete": f"you can't use '-{name}' and -revert {name}' at the same time"})
        self._delete = ["ide2" if name == "cdrom" else name for name in self._delete]
        for name in self._delete:
            if self._given.get(name) is not None:
                raise ParameterFailure({"delete": f"you can't use '-{name}' and -delete {name}' at the same time"})
            if name in self._revert:
                raise ParameterFailure(
                    {"revert": f"you can't use '-delete {name}' and -revert {name}' at the same time"}
                )
            if not options.exists(name):
                raise ParameterFailure({"delete": f"unknown option '{name}'"})

    def _check_hook(self, script: str) -> None:
        try:
            check_hook(self.host, script)
        except Failure as failure:
            raise ParameterFailure({"hookscript": failure.text}) from None

    def _load(self, *, final: bool) -> Configuration:
        configuration = self.host.load(self.vmid)
        if self._digest and self._digest != configuration.digest:
            raise Failure(CHANGED)
        rights.check_cpu_model(self._rights, self._given, configuration.options)
        lock = configuration.lock
        if "vmstate" in self._delete:
            if lock == "suspended":
                lock = None
                if final:
                    self._delete.append("lock")
            if final:
                left = ("runningmachine", "runningcpu", "running-nets-host-mtu")
                self._delete += [name for name in left if configuration.get(name)]
        if lock and not self._skip_lock:
            configuration.check_lock()
        for name in self._revert:
            if configuration.get(name) is not None:
                self._given[name] = configuration.get(name)
            elif name in configuration.pending and final:
                self._delete.append(name)
        self._check_balloon(configuration)
        return configuration

    def _check_balloon(self, configuration: Configuration) -> None:
        given, pending = self._given, configuration.pending
        if not given.get("memory") and given.get("balloon") is None:
            return
        memory = given.get("memory") or pending.get("memory") or configuration.get("memory")
        balloon = given.get("balloon")
        if balloon is None:
            balloon = pending.get("balloon") or configuration.get("balloon")
        if balloon and int(balloon) > options.megabytes(memory):
            raise Failure("balloon value too large (must be smaller than assigned memory)\n")

    # With the file held

    async def run(self, log: Log) -> None:
        """Make the change."""
        configuration = self._load(final=True)
        change = f"update VM {self.vmid}: {self._told}"
        self._call.emulator.log.say(self._call.node.name, self._call.caller.id, change)
        log.say(change)
        self._order = boot.order(configuration.get("boot"))
        for name in self._delete:
            await self._remove(name, log)
        for name in sorted(self._given):
            await self._set(name, self._given[name], log)
        await log.step("write")
        configuration = self.host.load(self.vmid)
        if configuration.clean_pending():
            self.host.write(configuration, log)
        if not configuration.pending and not configuration.deletions:
            return
        if self.host.process(self.vmid) is not None:
            errors = await changing.apply_to_running(self.host, configuration, self._modified, self._rights, log)
        else:
            errors = await changing.apply(self.host, configuration, log, self._rights)
        if errors:
            raise ParameterFailure(errors)

    async def _remove(self, name: str, log: Log) -> None:
        configuration = self.host.load(self.vmid)
        waiting = name in configuration.pending
        value = configuration.options.get(name, configuration.pending.get(name))
        if value is None:
            log.say(f"cannot delete '{name}' - not set in current configuration!")
            return
        self._modified.add(name)
        configuration.pending.pop(name, None)
        if name in self._order:
            self._order.remove(name)
            configuration.pending["boot"] = boot.joined(self._order)
            self._modified.add("boot")
        kind = options.family(name)
        if kind == "unused":
            await self._remove_unused(configuration, name, str(value), log)
            return
        if name == "vmstate":
            configuration.check_protection(f"can't remove vmstate '{value}'")
            state = Drive("vmstate", {"file": str(value)})
            if await changing.free_drive(self.host, configuration, state, self._rights, log, force=True):
                configuration.options.pop(name, None)
                self.host.write(configuration, log)
            return
        if name == "tags":
            tags.check(self.vmid, value, "", self._rights, self._call.emulator.datacenter)
            configuration.options.pop(name, None)
            self.host.write(configuration, log)
            return
        if is_drive(name):
            await self._remove_drive(configuration, name, str(value), waiting, log)
        elif kind == "serial":
            rights.check_serial(self._rights, self.vmid, name, "socket", value, "delete")
        elif kind in ("usb", "hostpci", "rng", "virtiofs"):
            rights.check_device(self._rights, self.vmid, None, name, value)
        elif is_network(name) and configuration.get(name):
            rights.check_bridges(self._rights, self._call.emulator.datacenter, {name: configuration.get(name)})
        configuration.mark_deletion(name, force=self._force)
        self.host.write(configuration, log)

    async def _remove_unused(self, configuration: Configuration, name: str, value: str, log: Log) -> None:
        drive = parse_drive(name, value) or Drive(name, {"file": value})
        configuration.check_protection(f"can't remove unused disk '{drive.file}'")
        self._rights.check_machine(self.vmid, None, ["VM.Config.Disk"])
        if await changing.free_drive(self.host, configuration, drive, self._rights, log):
            configuration.options.pop(name, None)
            self.host.write(configuration, log)

    async def _remove_drive(self, configuration: Configuration, name: str, value: str, waiting: bool, log: Log) -> None:
        configuration.check_protection(f"can't remove drive '{name}'")
        drive = parse_drive(name, value) or Drive(name, {"file": value})
        rights.check_drive(self._rights, self.vmid, drive)
        if waiting:
            await changing.keep_unused(self.host, configuration, drive, log)

    async def _set(self, name: str, value: Any, log: Log) -> None:
        self._modified.add(name)
        configuration = self.host.load(self.vmid)
        pending = configuration.pending
        if name in pending and value is not None and str(pending[name]) == _shown("", value):
            return
        kind, old = options.family(name), configuration.get(name)
        if is_drive(name):
            await self._set_drive(configuration, name, str(value), log)
        elif kind == "serial":
            rights.check_serial(self._rights, self.vmid, name, old, value)
            pending[name] = value
        elif kind in ("usb", "hostpci", "rng", "virtiofs"):
            if old:
                rights.check_device(self._rights, self.vmid, None, name, old)
            rights.check_device(self._rights, self.vmid, None, name, value)
            pending[name] = value
        elif name == "ostype":
            self._pin(configuration, value, log)
            pending[name] = value
        elif name == "tags":
            datacenter = self._call.emulator.datacenter
            tags.check(self.vmid, old, value, self._rights, datacenter)
            pending[name] = tags.unique(str(value or ""), datacenter)
        elif is_network(name):
            if old:
                rights.check_bridges(self._rights, self._call.emulator.datacenter, {name: old})
            pending[name] = value
        elif name == "cipassword":
            windows = machine_types.is_windows(configuration.get("ostype"))
            configuration.options[name] = value if windows else encrypted(str(value), self._call.emulator.world)
        else:
            _check_hardware(name, value)
            pending[name] = value
            if name == "boot":
                self._set_boot(configuration, value)
        configuration.deletions.pop(name, None)
        self.host.write(configuration, log)

    def _pin(self, configuration: Configuration, system: Any, log: Log) -> None:
        """A machine that becomes one for Windows is tied to a version, unless the caller says something of it."""
        told = self._given.get("machine"), configuration.pending.get("machine")
        if any(told) or "machine" in self._modified:
            return
        section = configuration.options
        try:
            text = machine_types.pinned(section.get("machine"), system, log, section.get("arch"))
        except Failure as failure:
            log.say(f"automatic pinning of machine version failed - {failure.text}".rstrip("\n"))
        else:
            if text:
                configuration.pending["machine"] = text

    async def _set_drive(self, configuration: Configuration, name: str, value: str, log: Log) -> None:
        if (old := configuration.get(name)) and (drive := parse_drive(name, str(old))):
            rights.check_drive(self._rights, self.vmid, drive)
            _check_version(drive, parse_drive(name, value))
        new = parse_drive(name, value) or Drive(name, {"file": value})
        rights.check_drive(self._rights, self.vmid, new)
        if name in configuration.pending:
            waiting = parse_drive(name, str(configuration.pending[name]))
            if waiting is not None:
                await changing.keep_unused(self.host, configuration, waiting, log)
        making = disks.Making(self.host, self._rights, configuration, log)
        configuration.pending.update(await making.make({name: value}))
        if self._order and new.plain_cdrom and name not in self._order:
            self._order.append(name)
            configuration.pending["boot"] = boot.joined(self._order)
            self._modified.add("boot")

    def _set_boot(self, configuration: Configuration, value: Any) -> None:
        devices = boot.order(value)
        for device in devices:
            known = (configuration.get(device), configuration.pending.get(device), self._given.get(device))
            if not any(known) or device in self._delete:
                raise Failure(f"invalid bootorder: device '{device}' does not exist'\n")
        if devices:
            configuration.pending["boot"] = boot.joined(devices)
            if configuration.get("bootdisk"):
                configuration.mark_deletion("bootdisk")


def _check_hardware(name: str, value: Any) -> None:
    if name == "vga":
        machine_types.check_clipboard(value)
    elif name == "machine":
        machine_types.check_machine(value)


def _check_version(old: Drive, new: Drive | None) -> None:
    """What is in the memory of a TPM was written for one version of it."""
    if old.key != "tpmstate0" or new is None or old.file != new.file:
        return
    if (old.values.get("version") or "v1.2") != (new.values.get("version") or "v1.2"):
        raise Failure("cannot change TPM state version after creation\n")


def _shown(name: str, value: Any) -> str:
    if name == "cipassword":
        return "<hidden>"
    return str(int(value)) if isinstance(value, bool) else str("" if value is None else value)


def encrypted(password: str, world: World) -> str:
    """A password in the form in which it is kept; one that is encrypted already stays as it is."""
    if _ENCRYPTED.match(password):
        return password
    salt = f"{world.random.getrandbits(32):08x}"
    digest = hashlib.sha256(f"{salt}{password}".encode()).digest()
    return f"$5${salt}${base64.b64encode(digest, b'./').decode().rstrip('=')}"
