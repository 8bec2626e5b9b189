"""Entries of storage.cfg: which options a type of storage has, what it can hold, and how an entry is written.

An option is required, fixed (never changed after the entry was made), both, or neither. Options of other types are
refused by name, although the route takes them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.storage import Storage
from nagaya.simulators.proxmox.verification import split_list

_FILES = frozenset({"images", "rootdir", "vztmpl", "iso", "backup", "snippets", "none", "import"})
_DISKS = frozenset({"images", "rootdir"})
_COMMON = "nodes disable content bwlimit"
_BACKUPS = "prune-backups max-protected-backups"
_FOLDERS = "content-dirs mkdir create-base-path create-subdirs preallocation"
_CHAIN = "snapshot-as-volume-chain"
_CEPH = "monhost username keyring"


@dataclass(frozen=True, slots=True)
class Type:
    """What there is to know of a type of storage."""

    content: frozenset[str]
    default: str
    """What it holds when the entry does not say."""
    required: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    formats: tuple[str, ...] = ("raw",)
    shared: bool = False
    mounted: bool = False
    """Whether it gets a folder below /mnt/pve if no path is given."""

    @property
    def options(self) -> frozenset[str]:
        """All of its options."""
        return self.required | self.fixed | self.optional


def _type(
    content: Iterable[str],
    default: str,
    required: str = "",
    optional: str = "",
    *,
    fixed: str = "",
    formats: str = "raw",
    shared: bool = False,
    mounted: bool = False,
) -> Type:
    needed = frozenset(required.split())
    return Type(
        frozenset(content),
        default,
        needed,
        needed | frozenset(fixed.split()),
        frozenset(f"{_COMMON} {optional}".split()),
        tuple(formats.split()),
        shared,
        mounted,
    )


_IMAGES = "raw qcow2 vmdk"
TYPES: Mapping[str, Type] = {
    "btrfs": _type(_FILES, "images,rootdir", "path", f"shared format is_mountpoint nocow {_BACKUPS} {_FOLDERS}",
                   formats="raw qcow2 vmdk subvol"),
    "cephfs": _type({"vztmpl", "iso", "backup", "snippets", "import"}, "backup", "",
                    f"fuse subdir fs-name {_CEPH} {_BACKUPS} {_FOLDERS}", fixed="path", shared=True, mounted=True),
    "cifs": _type(_FILES, "images", "server share",
                  f"username password domain smbversion subdir options format {_BACKUPS} {_FOLDERS}",
                  fixed=f"path {_CHAIN}", formats=_IMAGES, shared=True, mounted=True),
    "dir": _type(_FILES, "images,rootdir", "path", f"shared format is_mountpoint {_BACKUPS} {_FOLDERS}",
                 fixed=_CHAIN, formats="raw qcow2 vmdk subvol"),
    "esxi": _type({"import"}, "import", "server", "username password skip-cert-verification port", shared=True),
    "iscsi": _type({"images", "none"}, "images", "portal target", shared=True),
    "iscsidirect": _type({"images", "none"}, "images", "portal target", shared=True),
    "lvm": _type(_DISKS, "images,rootdir", "vgname",
                 "shared saferemove saferemove_throughput saferemove-stepsize tagged_only", fixed="base",
                 formats="raw qcow2"),
    "lvmthin": _type(_DISKS, "images,rootdir", "thinpool vgname"),
    "nfs": _type(_FILES, "images", "server export", f"options format {_BACKUPS} {_FOLDERS}", fixed=f"path {_CHAIN}",
                 formats=_IMAGES, shared=True, mounted=True),
    "pbs": _type({"backup", "none"}, "backup", "server datastore",
                 f"namespace username password fingerprint encryption-key master-pubkey port {_BACKUPS}", shared=True),
    "rbd": _type(_DISKS, "images", "", f"pool data-pool namespace authsupported krbd {_CEPH}", shared=True),
    "zfs": _type({"images"}, "images", "iscsiprovider portal target pool",
                 "blocksize sparse nowritecache comstar_hg comstar_tg lio_tpg zfs-base-path", shared=True),
    "zfspool": _type(_DISKS, "images,rootdir", "pool", "blocksize sparse mountpoint", formats="raw subvol"),
}  # fmt: skip
ALWAYS_THERE = "local"
"""The storage that every host has, on no host more than on others: without an entry it is as PVE thinks best."""
_FOLDER = re.compile(r"/[-/a-zA-Z0-9_.@]+")
_SENSITIVE = frozenset({"password", "encryption-key", "keyring", "master-pubkey"})


def formats_of(storage: Storage) -> tuple[list[str], str]:
    """The formats of disks that it can hold, and the one it takes if nobody says."""
    supported = list(TYPES[storage.type].formats) if storage.type in TYPES else ["raw"]
    default = str(storage.options.get("format", "raw"))
    return supported, default if default in supported else supported[0]


def shown_content(storage: Storage) -> str:
    """What it holds, as lists show it."""
    return ",".join(storage.contents) or "none"


def shown(storage: Storage, digest: str) -> dict[str, Any]:
    """An entry as the API shows it."""
    entry: dict[str, Any] = {"storage": storage.name, "type": storage.type, "digest": digest}
    entry |= {name: value for name, value in storage.options.items() if name not in _SENSITIVE}
    entry["content"] = shown_content(storage)
    if TYPES[storage.type].shared:
        entry["shared"] = 1
    return entry


def digest_of(storages: Iterable[Storage]) -> str:
    """What changes with the file."""
    lines = []
    for storage in storages:
        lines.append(f"{storage.type}: {storage.name}")
        lines += [f"\t{name} {storage.options[name]}" for name in sorted(storage.options)]
        lines.append("")
    return hashlib.sha1("\n".join(lines).encode(), usedforsecurity=False).hexdigest()


def created(name: str, kind: str, given: Mapping[str, Any]) -> Storage:
    """A new entry."""
    facts = TYPES[kind]
    options = _checked(facts, given)
    if facts.mounted:
        options.setdefault("path", f"/mnt/pve/{name}")
    for required in sorted(facts.required):
        if required not in options:
            raise Failure(f"missing value for required option '{required}'\n")
    if kind == "dir":
        if _FOLDER.fullmatch(str(options["path"])) is None:
            raise Failure(f"illegal path for directory storage: {options['path']}\n")
        options["path"] = _plain(str(options["path"]))
    options.setdefault("content", facts.default)
    return Storage(name, kind, options)


def by_itself(gone: Storage) -> Storage:
    """What comes back when the entry of the storage that is always there was taken out."""
    content = "backup,images,iso,rootdir,snippets,vztmpl"
    options = {"path": "/var/lib/vz", "content": content, "prune-backups": "keep-all=1", "priority": 0}
    return Storage(ALWAYS_THERE, "dir", options, gone.capacity, gone.foreign)


def _plain(path: str) -> str:
    """A path without what changes nothing in it: slashes in a row or at its end, and single dots."""
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))


def change(storage: Storage, given: Mapping[str, Any], deleted: Iterable[str]) -> None:
    """Give options of an entry other values, and take some out."""
    facts = TYPES[storage.type]
    for name in given:
        if name in facts.fixed:
            raise Failure(f"can't change value of fixed parameter '{name}'\n")
    options = _checked(facts, given)
    gone = list(deleted)
    for name in gone:
        if name not in facts.options:
            raise Failure(f"no such option '{name}'\n")
        if name in facts.required:
            raise Failure(f"unable to delete required option '{name}'\n")
        if name in facts.fixed:
            raise Failure(f"unable to delete fixed option '{name}'\n")
        if name in options:
            raise Failure(f"cannot set and delete property '{name}' at the same time!\n")
    for name in gone:
        storage.options.pop(name, None)
    storage.options |= options
    storage.options.setdefault("content", facts.default)
    if storage.name == ALWAYS_THERE:
        storage.options.pop("nodes", None)


def _checked(facts: Type, given: Mapping[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, value in given.items():
        if name not in facts.options:
            raise Failure(f"unexpected property '{name}'\n")
        options[name] = int(value) if isinstance(value, bool) else value
    if "content" in options:
        options["content"] = _content(facts, str(options["content"]))
    if "format" in options and options["format"] not in facts.formats:
        raise Failure(f"storage does not support format '{options['format']}'\n")
    if "nodes" in options:
        options["nodes"] = ",".join(sorted(set(split_list(str(options["nodes"])))))
        if not options["nodes"]:
            del options["nodes"]
    return options


def _content(facts: Type, text: str) -> str:
    kinds = [kind for kind in dict.fromkeys(split_list(text)) if kind in facts.content]
    if "none" in kinds and len(kinds) > 1:
        raise Failure("unable to combine 'none' with other content types\n")
    if not kinds and "none" not in facts.content:
        raise Failure("storage does not support configured content type(s)\n")
    return ",".join(kinds) or "none"
