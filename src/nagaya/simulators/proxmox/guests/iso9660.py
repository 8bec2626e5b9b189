"""ISO 9660 images, as far as boot data needs them: small trees of files with a label.

Names that a system looks for, such as `user-data`, are not allowed by the plain standard. Writers add them in one of
two ways, as a second tree of names (Joliet) or beside each entry (Rock Ridge); the reader knows both. Written images
carry a Joliet tree.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

SECTOR = 2048
_FIRST_DESCRIPTOR = 16
_PRIMARY, _SUPPLEMENTARY, _END = 1, 2, 255
_JOLIET = (b"%/@", b"%/C", b"%/E")
_DIRECTORY = 2


class NotAnImage(Exception):
    """These bytes are something else."""


@dataclass(frozen=True, slots=True)
class _Record:
    name: bytes
    extent: int
    size: int
    directory: bool
    system_use: bytes


def read_image(image: bytes) -> tuple[str, dict[str, bytes]]:
    """The label of an image, and its files by path."""
    primary = joliet = None
    for sector in range(_FIRST_DESCRIPTOR, len(image) // SECTOR):
        descriptor = image[sector * SECTOR : (sector + 1) * SECTOR]
        if descriptor[1:6] != b"CD001" or descriptor[0] == _END:
            break
        if descriptor[0] == _PRIMARY:
            primary = descriptor
        elif descriptor[0] == _SUPPLEMENTARY and descriptor[88:91] in _JOLIET:
            joliet = descriptor
    if primary is None:
        raise NotAnImage("there is no volume descriptor")
    label = primary[40:72].decode("ascii", "replace").rstrip(" \0")
    files: dict[str, bytes] = {}
    for path, record in _walk(image, _root(joliet or primary), "", joliet is not None, 0):
        files[path] = image[record.extent * SECTOR : record.extent * SECTOR + record.size]
    return label, files


def _root(descriptor: bytes) -> _Record:
    return _record(descriptor[156:190])


def _record(raw: bytes) -> _Record:
    length = raw[32]
    extent, size = struct.unpack_from("<I", raw, 2)[0], struct.unpack_from("<I", raw, 10)[0]
    used = 33 + length + (length + 1) % 2
    return _Record(raw[33 : 33 + length], extent, size, bool(raw[25] & _DIRECTORY), raw[used:])


def _walk(image: bytes, folder: _Record, above: str, joliet: bool, depth: int) -> Iterator[tuple[str, _Record]]:
    if depth > 8:
        raise NotAnImage("folders lie too deep in each other")
    content = image[folder.extent * SECTOR : folder.extent * SECTOR + folder.size]
    position = 0
    while position < len(content):
        length = content[position]
        if not length:
            # The rest of a sector is left empty when the next entry does not fit in it.
            position = (position // SECTOR + 1) * SECTOR
            continue
        if length < 34 or position + length > len(content):
            raise NotAnImage("an entry of a folder is broken")
        record = _record(content[position : position + length])
        position += length
        if record.name in (b"\0", b"\1"):
            continue
        path = above + _name(record, joliet)
        if record.directory:
            yield from _walk(image, record, f"{path}/", joliet, depth + 1)
        else:
            yield path, record


def _name(record: _Record, joliet: bool) -> str:
    if joliet:
        return record.name.decode("utf-16-be", "replace").partition(";")[0]
    position, parts = 0, b""
    use = record.system_use
    while position + 4 < len(use) and use[position + 2]:
        if use[position : position + 2] == b"NM":
            parts += use[position + 5 : position + use[position + 2]]
        position += use[position + 2]
    if parts:
        return parts.decode("utf-8", "replace")
    return record.name.decode("ascii", "replace").partition(";")[0].rstrip(".").lower()


@dataclass(slots=True)
class _Folder:
    name: str
    folders: dict[str, _Folder] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    extents: dict[bool, int] = field(default_factory=dict)
    """Where it lies, in the plain tree and in Joliet's."""


def write_image(label: str, files: Mapping[str, bytes]) -> bytes:
    """An image of some files, given by path."""
    root = _Folder("")
    for path, content in files.items():
        *folders, name = path.split("/")
        folder = root
        for part in folders:
            folder = folder.folders.setdefault(part, _Folder(part))
        folder.files[name] = content
    every = list(_all(root))
    # Three descriptors, then the folders of both trees, each in a sector of its own, then the files.
    next_free = _FIRST_DESCRIPTOR + 3
    for joliet in (False, True):
        for folder in every:
            folder.extents[joliet] = next_free
            next_free += _sectors(len(_listing(folder, root, joliet, {})))
    places: dict[tuple[int, str], int] = {}
    for number, folder in enumerate(every):
        for name, content in folder.files.items():
            places[number, name] = next_free
            next_free += max(1, _sectors(len(content)))
    image = bytearray(next_free * SECTOR)
    for joliet in (False, True):
        kind = _SUPPLEMENTARY if joliet else _PRIMARY
        _put(image, _FIRST_DESCRIPTOR + joliet, _descriptor(kind, label, root, next_free, joliet))
        for number, folder in enumerate(every):
            own = {name: places[number, name] for name in folder.files}
            _put(image, folder.extents[joliet], _listing(folder, root, joliet, own))
    _put(image, _FIRST_DESCRIPTOR + 2, bytes([_END]) + b"CD001\x01")
    for number, folder in enumerate(every):
        for name, content in folder.files.items():
            _put(image, places[number, name], content)
    return bytes(image)


def _all(folder: _Folder) -> Iterator[_Folder]:
    yield folder
    for below in folder.folders.values():
        yield from _all(below)


def _put(image: bytearray, sector: int, content: bytes) -> None:
    image[sector * SECTOR : sector * SECTOR + len(content)] = content


def _sectors(size: int) -> int:
    return -(-size // SECTOR)


def _both(number: int) -> bytes:
    return struct.pack("<I", number) + struct.pack(">I", number)


def _entry(name: bytes, extent: int, size: int, directory: bool) -> bytes:
    padding = (len(name) + 1) % 2
    body = b"\0" + _both(extent) + _both(size) + bytes(7) + bytes([_DIRECTORY if directory else 0, 0, 0])
    body += struct.pack("<H", 1) + struct.pack(">H", 1) + bytes([len(name)]) + name + bytes(padding)
    return bytes([len(body) + 1]) + body


def _listing(folder: _Folder, root: _Folder, joliet: bool, places: Mapping[str, int]) -> bytes:
    own = folder.extents.get(joliet, 0)
    entries = [
        _entry(b"\0", own, SECTOR, True),
        _entry(b"\1", root.extents.get(joliet, 0), SECTOR, True),
    ]
    for name, below in sorted(folder.folders.items()):
        entries.append(_entry(_written(name, joliet), below.extents.get(joliet, 0), SECTOR, True))
    for name, content in sorted(folder.files.items()):
        entries.append(_entry(_written(name, joliet) + b"", places.get(name, 0), len(content), False))
    listing = b""
    for entry in entries:
        if len(listing) % SECTOR + len(entry) > SECTOR:
            listing += bytes(SECTOR - len(listing) % SECTOR)
        listing += entry
    return listing


def _written(name: str, joliet: bool) -> bytes:
    if joliet:
        return name.encode("utf-16-be")
    return name.upper().replace("-", "_").encode("ascii", "replace") + b";1"


def _descriptor(kind: int, label: str, root: _Folder, sectors: int, joliet: bool) -> bytes:
    blank = b"\0 " * 16 if joliet else b" " * 32
    name = label.encode("utf-16-be") if joliet else label.encode("ascii", "replace")
    raw = bytearray(SECTOR)
    raw[0:7] = bytes([kind]) + b"CD001\x01"
    raw[8:40], raw[40:72] = blank, (name + blank)[:32]
    raw[80:88] = _both(sectors)
    if joliet:
        raw[88:91] = b"%/E"
    for place, number in ((120, 1), (124, 1), (128, SECTOR)):
        raw[place : place + 4] = struct.pack("<H", number) + struct.pack(">H", number)
    raw[156:190] = _entry(b"\0", root.extents[joliet], SECTOR, True)
    raw[881] = 1
    return bytes(raw)
