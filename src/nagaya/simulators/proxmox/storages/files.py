"""Files that users bring: ISO images, container templates, disk images to import. Their names, and what is in them.

PVE takes the last part of a name, replaces what is unusual in it, and refuses extensions that do not fit. Before a file
is put in its place, `qemu-img` and `tar` look into it; what they say about a file that is none is in the task's log.
"""

from __future__ import annotations

import io
import re
import tarfile
from dataclasses import dataclass

from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.state.storage import Storage
from nagaya.simulators.proxmox.tasks.runner import Log

_PATH = re.compile(r"^.*[/\\]", re.DOTALL)
_UNUSUAL = re.compile(r"[^a-zA-Z0-9_.-]")
_ISO = re.compile(r"[^/]+\.(?:iso|img)", re.IGNORECASE)
_TEMPLATE = re.compile(r"[^/]+\.tar\.(gz|xz|zst|bz2)", re.IGNORECASE)
_IMPORT = re.compile(r"[a-zA-Z0-9\-.+=_]+\.(ova|qcow2|raw|vmdk)")
_FOLDERS = {
    "images": "images",
    "iso": "template/iso",
    "vztmpl": "template/cache",
    "backup": "dump",
    "snippets": "snippets",
    "import": "import",
}
QCOW2 = b"QFI\xfb"
_VMDK = (b"KDMV", b"COWD", b"# Disk DescriptorFile")
LARGEST_KEPT = 32 << 20
"""Bytes of a file whose content is kept; of a larger one only the size is."""


@dataclass(frozen=True, slots=True)
class BroughtFile:
    """A file that is to come."""

    content: str
    name: str
    image_format: str | None = None
    """As what `qemu-img` has to be able to read it."""
    archive: bool = False
    """Whether it has to be an archive with a description of a machine in it."""

    @property
    def format(self) -> str:
        """The format under which it is listed."""
        return listed_format(self.content, self.name)


def folder(storage: Storage, content: str) -> str:
    """Where a storage keeps files of a kind."""
    root = str(storage.options.get("path", f"/mnt/pve/{storage.name}"))
    overridden = dict(
        part.partition("=")[::2] for part in str(storage.options.get("content-dirs", "")).split(",") if "=" in part
    )
    return f"{root}/{overridden.get(content, _FOLDERS[content])}"


def brought(content: str, name: str) -> BroughtFile:
    """What a file of that name will be. Refuses names that do not fit the kind of content."""
    name = _UNUSUAL.sub("_", _PATH.sub("", name.removesuffix("\n")))
    if content == "import":
        if (found := _IMPORT.search(name)) is None or not name.endswith(found[0]):
            raise ParameterFailure({"filename": "invalid filename or wrong extension"})
        archive = found[1] == "ova"
        return BroughtFile(content, name, None if archive else found[1], archive)
    pattern = _ISO if content == "iso" else _TEMPLATE
    if pattern.fullmatch(name) is None:
        raise ParameterFailure({"filename": "wrong file extension"})
    return BroughtFile(content, name)


def listed_format(content: str, name: str) -> str:
    """The format under which a file is listed."""
    extension = name.rpartition(".")[2].lower()
    if content == "vztmpl":
        return "t" + extension
    return {"iso": "iso", "snippets": "snippet"}.get(content, extension)


def examine(file: BroughtFile, path: str, data: bytes | None, log: Log) -> None:
    """Refuse a file that is not what its name says. Of one without content all is believed."""
    if data is None:
        return
    if file.archive:
        _examine_archive(path, data, log)
    elif file.image_format == "qcow2" and not data.startswith(QCOW2):
        _refuse(file.image_format, path, "Image is not in qcow2 format", log)
    elif file.image_format == "vmdk" and not data.startswith(_VMDK):
        _refuse(file.image_format, path, "Could not open image: Invalid argument", log)


def virtual_size(file: BroughtFile, data: bytes | None, size: int) -> int:
    """How large the disk is that an image file holds."""
    if file.image_format == "qcow2" and data is not None and len(data) >= 32:
        return int.from_bytes(data[24:32], "big")
    return size


def _refuse(format: str, path: str, why: str, log: Log) -> None:
    log.say(f"command '/usr/bin/qemu-img info '--output=json' {path} -f {format}' failed: exit code 1")
    raise Failure(f"qemu-img: Could not open '{path}': {why}\n")


def _examine_archive(path: str, data: bytes, log: Log) -> None:
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            names = archive.getnames()
    except tarfile.TarError:
        log.say("tar: This does not look like a tar archive")
        log.say("tar: Exiting with failure status due to previous errors")
        raise Failure(f"command 'tar -t -f {path}' failed: exit code 2\n") from None
    if not any(name.endswith(".ovf") for name in names):
        raise Failure("ova archive has no .ovf file inside\n")
