"""Disks, file systems, files, folders and links."""

from __future__ import annotations

import re
from typing import Any, Final

from nagaya.bootstrap.ignition.container_linux.fields import (
    Place,
    Table,
    Translator,
    absolute,
    boolean,
    every,
    integer,
    mapping,
    mode,
    one_of,
    text,
    texts,
    translate,
    unsupported,
    url,
)
from nagaya.bootstrap.ignition.disks import FORMATS
from nagaya.bootstrap.ignition.files import DEFAULT_MODE, ROOT_FILESYSTEM, data_url

DEFAULT_FOLDER_MODE: Final = 0o755
_MEBIBYTE: Final = 1 << 20
_SIZE: Final = re.compile(r"\s*(?:([0-9]+)([KMGTPE]?)(?:iB|B))+\s*")
_SIZE_PART: Final = re.compile(r"([0-9]+)([KMGTPE]?)(?:iB|B)")
_LABEL_LIMITS: Final = {"ext4": 16, "btrfs": 256, "xfs": 12, "swap": 15, "vfat": 11}
_GUID: Final = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_GUIDS: Final = {
    "raid_containing_root": "be9067b9-ea49-4f15-b4f6-f36f8c9e1818",
    "linux_filesystem_data": "0fc63daf-8483-4772-8e79-3d69d8477de4",
    "swap_partition": "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f",
    "raid_partition": "a19d880f-05fc-4d3b-a006-743f0f84911e",
}
_LEVELS: Final = (
    *("linear", "raid0", "0", "stripe", "raid1", "1", "mirror", "raid4", "4", "raid5", "5", "raid6", "6"),
    *("raid10", "10"),
)
_OWNER: Final = mapping({"id": integer, "name": text})
_HASH: Final[Table] = {"function": one_of("sha512"), "sum": text}


def verification(value: Any, place: Place) -> dict[str, Any]:
    """What a download must be equal to."""
    found = translate(value, place, {"hash": mapping(_HASH)}).get("hash", {})
    if not found.get("function") or not found.get("sum"):
        return {}
    return {"hash": f"{found['function']}-{found['sum']}"}


def _size(value: Any, place: Place) -> int:
    found = text(value, place)
    if not _SIZE.fullmatch(found):
        raise place.refusal("it is no size", "Give one such as 512MiB")
    total = sum(int(count) << (10 * " KMGTPE".index(unit or " ")) for count, unit in _SIZE_PART.findall(found))
    if total % _MEBIBYTE:
        raise place.refusal("Ignition counts in whole MiB", "Round it")
    return total // _MEBIBYTE


def _guid(value: Any, place: Place) -> str:
    found = text(value, place)
    if found and not _GUID.fullmatch(found):
        raise place.refusal("it is no GUID", "Give one, or a name of Container Linux Config such as swap_partition")
    return found


def _type_guid(value: Any, place: Place) -> str:
    return _GUIDS.get(text(value, place)) or _guid(value, place)


def _partition(value: Any, place: Place) -> dict[str, Any]:
    fields: Table = {
        "label": text,
        "number": integer,
        "size": _size,
        "start": _size,
        "guid": _guid,
        "type_guid": _type_guid,
    }
    found = translate(value, place, fields)
    names = {"size": "sizeMiB", "start": "startMiB"}
    return {names.get(name, name): each for name, each in found.items()}


def _mount(value: Any, place: Place) -> dict[str, Any]:
    fields: Table = {
        "device": absolute,
        "format": one_of(*FORMATS),
        "create": mapping({"force": boolean, "options": texts}),
        "wipe_filesystem": boolean,
        "label": text,
        "uuid": text,
        "options": texts,
    }
    found = translate(value, place, fields)
    for name in ("device", "format"):
        if name not in found:
            raise place.at(name).refusal("it is missing", "Give it")
    if len(found.get("label", "")) > _LABEL_LIMITS[found["format"]]:
        raise place.at("label").refusal(f"it is too long for {found['format']}", "Give a shorter one")
    if "create" in found:
        if found.get("wipeFilesystem") or found.get("options"):
            raise place.at("create").refusal("it excludes wipe_filesystem and options", "Use those alone")
        place.at("create").warn("it is deprecated", "Use wipe_filesystem and options")
    return found


def _filesystem(value: Any, place: Place) -> dict[str, Any]:
    found = translate(value, place, {"name": text, "mount": _mount, "path": absolute})
    if ("mount" in found) == ("path" in found):
        raise place.refusal("it needs one of mount and path", "Give either")
    return found


def _contents(value: Any, place: Place) -> dict[str, Any]:
    remote: Table = {"url": url, "compression": one_of("", "gzip"), "verification": verification}
    fields: Table = {
        "remote": mapping(remote),
        "inline": _inline,
        "local": unsupported("there is no folder that it could come from", "Write the content inline"),
    }
    found = translate(value, place, fields)
    fetched = found.get("remote", {})
    if fetched.get("url") and found.get("inline"):
        raise place.refusal("it has two contents", "Give one of inline and remote")
    source = fetched.pop("url", "") or data_url(found.get("inline", b""))
    return {"source": source, **{name: each for name, each in fetched.items() if each}}


def _inline(value: Any, place: Place) -> bytes:
    return value if isinstance(value, bytes) else text(value, place).encode()


_NODE: Final[Table] = {"filesystem": text, "path": absolute, "user": _OWNER, "group": _OWNER, "overwrite": boolean}
_FILE: Final[Table] = {**_NODE, "mode": mode, "contents": _contents, "append": boolean}
_FOLDER: Final[Table] = {**_NODE, "mode": mode}
_LINK: Final[Table] = {**_NODE, "hard": boolean, "target": text}


def _node(table: Table, default_mode: int | None) -> Translator:
    def translated(value: Any, place: Place) -> dict[str, Any]:
        found = translate(value, place, table)
        if "path" not in found:
            raise place.at("path").refusal("it is missing", "Give it")
        found["filesystem"] = found.get("filesystem") or ROOT_FILESYSTEM
        if default_mode is not None and "mode" not in found:
            place.at("mode").warn("it is missing", f"Give one, such as 0{default_mode:o}")
            found["mode"] = default_mode
        if found.get("append") and found.get("overwrite"):
            raise place.refusal("append excludes overwrite", "Give one of them")
        return found

    return translated


def _file(value: Any, place: Place) -> dict[str, Any]:
    found = _node(_FILE, DEFAULT_MODE)(value, place)
    return {"contents": {"source": data_url(b"")}, **found}


_DISK: Final[Table] = {"device": absolute, "wipe_table": boolean, "partitions": every(_partition)}
_ARRAY: Final[Table] = {
    "name": text,
    "level": one_of(*_LEVELS),
    "devices": every(absolute),
    "spares": integer,
    "options": texts,
}
STORAGE: Final[Table] = {
    "disks": every(mapping(_DISK)),
    "raid": every(mapping(_ARRAY)),
    "filesystems": every(_filesystem),
    "files": every(_file),
    "directories": every(_node(_FOLDER, DEFAULT_FOLDER_MODE)),
    "links": every(_node(_LINK, None)),
}
