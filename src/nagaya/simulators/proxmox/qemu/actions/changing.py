"""Making changes effective that wait in a configuration: all of them on a stopped machine, some on a running one."""

from __future__ import annotations

from nagaya.simulators.proxmox.access.rights import Rights
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu import boot, options
from nagaya.simulators.proxmox.qemu.actions.boot_drive import generate
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.configuration import Configuration
from nagaya.simulators.proxmox.qemu.drives import Drive, is_drive, parse_drive
from nagaya.simulators.proxmox.qemu.networks import is_network
from nagaya.simulators.proxmox.qemu.pending import (
    cold_drive_change,
    hotplug,
    is_fast,
    record,
    takes_change,
    takes_deletion,
)
from nagaya.simulators.proxmox.storages.volume_name import split_id
from nagaya.simulators.proxmox.tasks.runner import Log


async def keep_unused(host: Host, configuration: Configuration, drive: Drive, log: Log) -> None:
    """Keep the disk of a drive that goes; the drive with boot data is removed, for it can be made again."""
    if drive.cloudinit:
        try:
            await host.volumes.free(log, drive.file)
        except Failure as failure:
            log.say(failure.text.rstrip("\n"))
        configuration.cloudinit = {}
    elif not drive.cdrom and owns(host, configuration.vmid, drive.file):
        configuration.add_unused(drive.file)


def owns(host: Host, vmid: int, volume: str) -> bool:
    """Whether a volume belongs to a machine."""
    if volume.startswith("/") or split_id(volume) is None:
        return False
    try:
        return host.volumes.owner(volume) == vmid
    except Failure:
        return False


async def free_drive(
    host: Host, configuration: Configuration, drive: Drive, rights: Rights | None, log: Log, *, force: bool = False
) -> bool:
    """Remove the disk of a drive for good, if it belongs to the machine; say whether the drive is gone."""
    if not (force or drive.bus == "unused") or drive.plain_cdrom:
        return False
    if owns(host, configuration.vmid, drive.file):
        if rights is not None and drive.storage is not None:
            rights.check(f"/storage/{drive.storage}", ["Datastore.AllocateSpace"])
        if configuration.in_use(drive.file, drive.key):
            raise Failure(f"unable to delete '{drive.file}' - volume is still in use (snapshot?)\n")
        await host.volumes.free(log, drive.file)
    return True


async def _remove_drive(
    host: Host, configuration: Configuration, key: str, rights: Rights | None, log: Log, *, force: bool
) -> None:
    drive = parse_drive(key, str(configuration.options[key]))
    if drive is None:
        return
    if force:
        if rights is not None:
            rights.check_machine(configuration.vmid, None, ["VM.Config.Disk"])
        await free_drive(host, configuration, drive, rights, log, force=True)
    else:
        await keep_unused(host, configuration, drive, log)


async def apply(host: Host, configuration: Configuration, log: Log, rights: Rights | None = None) -> dict[str, str]:
    """Make all changes, as at the next start, and say which could not be made."""
    errors: dict[str, str] = {}
    if not configuration.pending and not configuration.deletions:
        return errors

    def refuse(option: str, failure: Failure) -> None:
        errors[option] = f"unable to apply pending change {option} : {failure.text}"
        log.say(errors[option].rstrip("\n"))

    for option in sorted(configuration.deletions):
        try:
            if option in configuration.options and is_drive(option):
                force = configuration.deletions[option]
                await _remove_drive(host, configuration, option, rights, log, force=force)
        except Failure as failure:
            refuse(option, failure)
        else:
            del configuration.deletions[option]
            configuration.options.pop(option, None)
    configuration.clean_pending()
    fresh = False
    for option in sorted(configuration.pending):
        drive = parse_drive(option, str(configuration.pending[option])) if is_drive(option) else None
        try:
            if drive is not None and option in configuration.options:
                old = parse_drive(option, str(configuration.options[option]))
                if old is not None:
                    await keep_unused(host, configuration, old, log)
        except Failure as failure:
            refuse(option, failure)
            continue
        fresh = fresh or (drive is not None and drive.cloudinit)
        configuration.options[option] = configuration.pending.pop(option)
    host.write(configuration, log)
    if fresh and await generate(host, configuration, log):
        host.write(configuration, log)
    return errors


class _Later(Exception):
    """A change has to wait for the next start."""


async def apply_to_running(
    host: Host, configuration: Configuration, modified: set[str], rights: Rights | None, log: Log
) -> dict[str, str]:
    """Make the changes that a running machine can take, and say which went wrong; the rest waits."""
    errors: dict[str, str] = {}
    current = configuration.options
    for option in [option for option in configuration.pending if is_fast(option)]:
        new = configuration.pending.pop(option)
        record(configuration, option, current.get(option), new)
        current[option] = new
    features = hotplug(current.get("hotplug"))
    for option in sorted(configuration.deletions):
        if option not in modified or not takes_deletion(option, current, features):
            continue
        try:
            if is_drive(option):
                _check_unplug(configuration, option)
                force = configuration.deletions[option]
                await _remove_drive(host, configuration, option, rights, log, force=force)
        except Failure as failure:
            errors[option] = f"hotplug problem - {failure.text}"
            continue
        record(configuration, option, current.pop(option, None), None)
        del configuration.deletions[option]
    fresh: str | None = None
    for option in sorted(configuration.pending):
        if option not in modified:
            continue
        new = configuration.pending[option]
        try:
            if is_drive(option):
                drive = parse_drive(option, str(new))
                if drive is not None and drive.cloudinit:
                    fresh = option
                    continue
                await _change_drive(host, configuration, option, str(new), features, log)
            elif not takes_change(option, current, new, features):
                continue
            elif option == "vcpus" and int(new) > int(current.get("sockets", 1)) * int(current.get("cores", 1)):
                raise Failure("you can't add more vcpus than maxcpus\n")
            elif is_network(option) and not host.has_bridge(options.parts(option, str(new)).get("bridge")):
                script = "/usr/libexec/qemu-server/pve-bridge-hotplug"
                raise Failure(
                    f"VM {configuration.vmid} qmp command 'netdev_add' failed - network script {script} failed with"
                    " status 512\n"
                )
        except _Later:
            continue
        except Failure as failure:
            errors[option] = f"hotplug problem - {failure.text}"
            continue
        record(configuration, option, current.get(option), new)
        current[option] = new
        del configuration.pending[option]
    if fresh is not None:
        await _change_boot_drive(host, configuration, fresh, features, errors, log)
    host.write(configuration, log)
    if "cloudinit" in features and configuration.cloudinit and await generate(host, configuration, log):
        host.write(configuration, log)
    return errors


async def _change_boot_drive(
    host: Host, configuration: Configuration, option: str, features: frozenset[str], errors: dict[str, str], log: Log
) -> None:
    new = str(configuration.pending[option])
    try:
        preview = Configuration(configuration.vmid, {**configuration.options, option: new})
        await generate(host, preview, log)
        await _change_drive(host, configuration, option, new, features, log)
    except _Later:
        return
    except Failure as failure:
        errors[option] = f"hotplug problem - {failure.text}"
        return
    configuration.options[option] = configuration.pending.pop(option)


async def _change_drive(
    host: Host, configuration: Configuration, option: str, new: str, features: frozenset[str], log: Log
) -> None:
    drive = parse_drive(option, new)
    if drive is None or drive.bus in ("efidisk", "tpmstate"):
        raise _Later
    if (old := configuration.options.get(option)) and (old_drive := parse_drive(option, str(old))):
        if drive.cdrom != old_drive.cdrom:
            raise Failure("unable to change media type\n")
        if old_drive.cdrom:
            _check_medium(host, drive)
            if drive.file == "none" and old_drive.cloudinit:
                await keep_unused(host, configuration, old_drive, log)
            return
        if drive.file == old_drive.file:
            if cold_drive_change(option, str(old), new):
                raise _Later
            return
        if "disk" not in features:
            raise _Later
        _check_unplug(configuration, option)
        await keep_unused(host, configuration, old_drive, log)
    if "disk" not in features or options.family(option) in ("ide", "sata"):
        raise _Later
    _check_medium(host, drive)


def _check_unplug(configuration: Configuration, option: str) -> None:
    if option in boot.disks(configuration.options):
        raise Failure(f"can't unplug bootdisk '{option}'\n")


def _check_medium(host: Host, drive: Drive) -> None:
    if drive.storage is not None:
        host.volumes.active(drive.storage)
        if host.volumes.find(drive.file) is None:
            raise Failure(f"volume '{drive.file}' does not exist\n")
