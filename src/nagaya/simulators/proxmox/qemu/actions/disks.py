"""Drives that a call asks for: may the caller have them, and making those that do not exist yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nagaya.simulators.proxmox.access.rights import Rights
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.qemu import firmware_keys, options
from nagaya.simulators.proxmox.qemu.actions.copying import rendered
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.importing import Importing
from nagaya.simulators.proxmox.qemu.configuration import Configuration, cloudinit_drive, drives_of
from nagaya.simulators.proxmox.qemu.drives import (
    CLOUDINIT_SIZE,
    EFI_SIZE,
    OLD_EFI_SIZE,
    TPM_SIZE,
    Drive,
    gibibytes,
    is_drive,
    parse_drive,
)
from nagaya.simulators.proxmox.state.guest import Options
from nagaya.simulators.proxmox.storages.volume_name import FILE_TYPES, split_id
from nagaya.simulators.proxmox.tasks.runner import Log, interruptible

PACKED = "ova+"
"""How the format of an image begins that lies in an archive."""
NO_STORAGE = "no storage ID specified (and no default storage)\n"
ONLY_ROOT = "Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.\n"


def check_volume(rights: Rights, host: Host, vmid: int | None, volume: str, content: str | None = None) -> None:
    """Refuse a volume that the caller may not read."""
    if (parts := split_id(volume)) is None:
        if not rights.caller.root:
            raise Failure(ONLY_ROOT)
        return
    path = f"/storage/{parts[0]}"
    _, name = host.volumes.parse(volume)
    if content is not None and name.content != content:
        raise Failure(f"unable to use volume {volume} - content type needs to be '{content}'\n")
    if rights.may(path, ["Datastore.Allocate"]):
        return
    if name.content in ("iso", "vztmpl", "import"):
        rights.check(path, ["Datastore.AllocateSpace", "Datastore.Audit"], any=True)
    elif name.vmid is not None and name.vmid == vmid:
        return
    elif name.content == "backup" and name.vmid is not None:
        rights.check(path, ["Datastore.AllocateSpace"])
        rights.check(f"/vms/{name.vmid}", ["VM.Backup"])
    elif name.content == "images" and name.vmid is not None:
        rights.check(path, ["Datastore.Audit"])
        rights.check(f"/vms/{name.vmid}", ["VM.Config.Disk"])
    else:
        raise Failure(f"missing privileges to access {volume}\n")


def rename_cdrom(given: Options) -> None:
    """Write the old name of the usual CD-ROM as what it means. Changes `given`."""
    if cdrom := given.get("cdrom"):
        del given["cdrom"]
        given["ide2"] = cdrom if "media=" in cdrom else f"{cdrom},media=cdrom"


def check_form(host: Host, given: Options) -> None:
    """Refuse drives that PVE cannot read, and write the others in its order. Changes `given`."""
    for key in sorted(key for key in given if is_drive(key)):
        if (drive := parse_drive(key, str(given[key]))) is None:
            raise ParameterFailure({key: "unable to parse drive options"})
        if drive.values.get("import-from"):
            _check_import(drive)
        _clean_path(host, drive)
        parts = split_id(drive.file)
        named = parts is not None and parts[1] != "cloudinit" and drive.wish is None
        if named and host.volumes.parse(drive.file)[1].content == "iso" and not drive.cdrom:
            raise ParameterFailure({key: "explicit 'media=cdrom' is required for iso images"})
        given[key] = drive.text()


def _clean_path(host: Host, drive: Drive) -> None:
    """Write a path as the volume that lies there. An empty CD-ROM need not say that it is one."""
    if drive.file in ("none", "cdrom"):
        drive.values.setdefault("media", "cdrom")
    elif ":" not in drive.file and not drive.file.startswith("/dev/") and not drive.file.isdecimal():
        if (volume := host.volumes.at(drive.file)) is None:
            raise ParameterFailure({drive.key: f"unable to associate path '{drive.file}' to any storage"})
        if volume.content == "iso":
            drive.values.setdefault("media", "cdrom")
        expected = {"disk": "images", "cdrom": "iso"}.get(str(drive.values.get("media")), volume.content)
        if volume.content != expected:
            raise ParameterFailure({drive.key: f"unexpected media type ({volume.content} != {expected})"})
        drive.file = volume.id


def _check_import(drive: Drive) -> None:
    wish = drive.wish
    if wish is None or float(wish[1]) != 0:
        raise ParameterFailure(
            {drive.key: "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>"}
        )
    needed = {"efidisk0": ("efitype", "pre-enrolled-keys"), "tpmstate0": ("version",)}.get(drive.key, ())
    for name in needed:
        if drive.values.get(name) is None:
            raise ParameterFailure({drive.key: f"need to specify '{name}' when using 'import-from'"})


def check_access(
    rights: Rights,
    host: Host,
    vmid: int,
    given: Mapping[str, Any],
    default: str | None = None,
    extraction: str | None = None,
) -> None:
    """Refuse storages and volumes that the caller may not use; packed images are unpacked on `extraction`."""
    for drive in _asked(given):
        parts = split_id(drive.file)
        if drive.file in ("", "none", "cloudinit") or (parts and parts[1] == "cloudinit"):
            pass
        elif drive.cdrom and drive.file == "cdrom":
            rights.check("/", ["Sys.Console"])
        elif not drive.cdrom and drive.wish is not None:
            if not (name := drive.wish[0] or default):
                raise Failure(NO_STORAGE)
            rights.check(f"/storage/{name}", ["Datastore.AllocateSpace"])
            if "images" not in host.volumes.storage(name).contents:
                raise ParameterFailure({"storage": f"storage '{name}' does not support vm images"})
        else:
            check_volume(rights, host, vmid, drive.file)
            if parts and host.volumes.parse(drive.file)[1].content not in ("images", "iso"):
                raise ParameterFailure({drive.key: "content type needs to be 'images' or 'iso'"})
        if source := drive.values.get("import-from"):
            _check_source(rights, host, vmid, drive.key, str(source), extraction)
    for key in sorted(key for key in given if options.family(key) == "unused"):
        text = str(given[key] or "")
        volume = parse_drive(key, text)
        if volume is None:
            raise ParameterFailure({key: f"failed to parse value '{text}'"})
        check_volume(rights, host, vmid, volume.file, "images")
    if given.get("vmstatestorage") is not None:
        rights.check(f"/storage/{given['vmstatestorage']}", ["Datastore.AllocateSpace"])


def _check_source(rights: Rights, host: Host, vmid: int, key: str, source: str, extraction: str | None) -> None:
    owner = None
    if split_id(source):
        storage, name = host.volumes.parse(source)
        if name.content not in ("images", "import"):
            raise ParameterFailure(
                {key: f"{source} has wrong type '{name.content}' - needs to be 'images' or 'import'"}
            )
        owner = name.vmid
        if name.format.startswith(PACKED):
            working = storage if extraction is None else host.volumes.storage(extraction)
            if "images" not in working.contents or working.type not in FILE_TYPES:
                told = key if extraction is None else "import-working-storage"
                refused = f"import working storage '{working.name}' does not support 'images' content type"
                raise ParameterFailure({told: f"{refused} or is not file based."})
            rights.check(f"/storage/{working.name}", ["Datastore.AllocateSpace"])
    if owner is not None:
        rights.check(f"/vms/{owner}", ["VM.Clone"])
    else:
        check_volume(rights, host, vmid, source)


def _asked(given: Mapping[str, Any]) -> list[Drive]:
    found = (parse_drive(key, str(given[key])) for key in sorted(key for key in given if is_drive(key)))
    return [drive for drive in found if drive is not None]


class Making:
    """Makes the drives that somebody asked for; when one cannot be made, those before it go again."""

    def __init__(self, host: Host, rights: Rights, configuration: Configuration, log: Log) -> None:
        self._host = host
        self._rights = rights
        self._configuration = configuration
        self._log = log
        self._made: list[str] = []

    async def make(self, given: Mapping[str, Any], default: str | None = None) -> dict[str, str]:
        """The drives as they go into the file."""
        done: dict[str, str] = {}
        try:
            for drive in _asked(given):
                with interruptible(self._log):
                    done[drive.key] = await self._drive(drive, done, default)
        except Failure:
            await self.undo()
            raise
        return done

    async def undo(self) -> None:
        """Remove what was made."""
        for volume in self._made:
            try:
                await self._host.volumes.free(self._log, volume)
            except Failure as failure:
                self._log.say(failure.text.rstrip("\n"))
        self._made.clear()

    async def _drive(self, drive: Drive, done: dict[str, str], default: str | None) -> str:
        parts = split_id(drive.file)
        if drive.file in ("", "none", "cdrom"):
            drive.values.pop("size", None)
            return drive.text()
        if parts and parts[1] == "cloudinit":
            text = await self._cloudinit(drive, parts[0], done)
        elif drive.wish is not None:
            text = await self._new(drive, default)
        else:
            return self._existing(drive, done)
        self._log.say(f"{drive.key}: successfully created disk '{text}'")
        return text

    async def _cloudinit(self, drive: Drive, storage_name: str, done: dict[str, str]) -> str:
        self._check_single(drive, done)
        storage = self._host.volumes.storage(storage_name)
        vmid, name = self._configuration.vmid, f"vm-{self._configuration.vmid}-cloudinit"
        asked = drive.values.pop("format", None)
        if storage.type in FILE_TYPES:
            format = str(asked or "qcow2")
            name = f"{name}.{format}"
        else:
            format = str(asked or "raw")
        volume = await self._host.volumes.allocate(self._log, storage_name, vmid, format, CLOUDINIT_SIZE, name)
        self._made.append(volume.id)
        drive.file = volume.id
        drive.values["media"] = "cdrom"
        return drive.text()

    def _check_single(self, drive: Drive, done: dict[str, str]) -> None:
        for section in (self._configuration.options, self._configuration.pending, done):
            if (other := cloudinit_drive(dict(section), drive.key)) is not None:
                raise Failure(f"{drive.key} - cloud-init drive is already attached at '{other}'\n")

    async def _new(self, drive: Drive, default: str | None) -> str:
        storage_name, number = drive.wish or (None, "0")
        if not (storage_name := storage_name or default):
            raise Failure(NO_STORAGE)
        asked = drive.values.pop("format", None)
        format = str(asked) if asked else None
        source = drive.values.pop("import-from", None)
        if source is not None:
            importing = Importing(self._host, self._rights, self._configuration.vmid, self._log, self._made)
            volume = await importing.take(str(source), drive.key, storage_name, format)
            if self._configuration.template and split_id(str(source)) is None:
                # PVE forgets it for what it takes from a storage.
                volume = await self._host.volumes.make_base(self._log, volume.id)
                self._made[-1] = volume.id
            drive.file, drive.values["size"] = volume.id, volume.size
            return drive.text()
        size = {"tpmstate0": TPM_SIZE, "efidisk0": _efi_size(drive)}.get(drive.key, gibibytes(number))
        volume = await self._host.volumes.allocate(self._log, storage_name, self._configuration.vmid, format, size)
        if drive.key == "efidisk0":
            if drive.values.get("pre-enrolled-keys"):
                drive.values["ms-cert"] = firmware_keys.NEWEST
            for percent in (0, 100, 100):
                told = f"{rendered(size * percent / 100)} of {rendered(size)} ({percent:.2f}%)"
                self._log.say(f"transferred {told}")
        if self._configuration.template:
            volume = await self._host.volumes.make_base(self._log, volume.id)
        self._made.append(volume.id)
        drive.file, drive.values["size"] = volume.id, volume.size
        return drive.text()

    def _existing(self, drive: Drive, done: dict[str, str]) -> str:
        vmid = self._configuration.vmid
        check_volume(self._rights, self._host, vmid, drive.file)
        if split_id(drive.file) is None:
            # Devices of the host: it has none to give away.
            raise Failure(f"volume {drive.file} does not exist\n")
        storage, name = self._host.volumes.parse(drive.file)
        asked = drive.values.get("format")
        if asked and asked != name.format:
            raise Failure(
                f"drive '{drive.key}' - volume '{drive.file}' - 'format={asked}' option different"
                f" from storage format '{name.format}'\n"
            )
        if drive.cloudinit:
            self._check_single(drive, done)
        self._host.volumes.active(storage.name)
        if (volume := self._host.volumes.find(drive.file)) is None:
            raise Failure(f"volume '{drive.file}' does not exist\n")
        drive.values["size"] = volume.size
        return drive.text()


def _efi_size(drive: Drive) -> int:
    return EFI_SIZE if drive.values.get("efitype") == "4m" else OLD_EFI_SIZE


def referenced_volumes(configuration: Configuration) -> list[str]:
    """The volumes that a file names and that may go with the machine when it is destroyed, in PVE's order."""
    found: list[str] = []

    def add_all(section: Options) -> None:
        found.extend(drive.file for drive in drives_of(section) if not drive.plain_cdrom)
        if section.get("vmstate"):
            found.append(str(section["vmstate"]))
        found.extend(str(section[key]) for key in sorted(key for key in section if options.family(key) == "unused"))

    add_all(configuration.options)
    found.extend(str(snapshot["vmstate"]) for snapshot in configuration.snapshots.values() if snapshot.get("vmstate"))
    add_all(configuration.pending)
    return [volume for volume in found if split_id(volume)]
