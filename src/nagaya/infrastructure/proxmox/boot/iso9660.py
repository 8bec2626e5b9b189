"""A CD image with a few files in its root directory: ISO 9660 with Rock Ridge and Joliet.

Just what a seed for cloud-init needs, so it is written here rather than by a library. Readers find the real names
twice: Linux by Rock Ridge, others by Joliet. The same files and time always make the same bytes, so an image that is
already there need not be uploaded again.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

SECTOR: Final = 2048
_SYSTEM_AREA: Final = 16
_DESCRIPTORS: Final = 3
_PATH_TABLES: Final = 4
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,60}")
_LABEL: Final = re.compile(r"[A-Za-z0-9_]{1,16}")
_LONGEST: Final = 20
"""Of plain identifiers, before the number that keeps them apart."""
_DIRECTORY: Final = 0o040555
_FILE: Final = 0o100400
"""For root alone: boot data have keys in them."""
_ROCK_RIDGE: Final = b"RRIP_1991A"


@dataclass(frozen=True, slots=True)
class _Extent:
    """Where something is."""

    sector: int
    size: int


def image(label: str, files: Mapping[str, bytes], made: datetime) -> bytes:
    """The image. The label has up to 16 letters and digits, names have up to 60 of those and `.`, `_`, `-`."""
    if not _LABEL.fullmatch(label):
        raise ValueError(f"{label!r} cannot be the label of a CD image")
    wrong = [name for name in files if not _NAME.fullmatch(name) or set(name) == {"."}]
    if wrong:
        raise ValueError(f"{wrong[0]!r} cannot be the name of a file in a CD image")
    when = made.astimezone(UTC)
    names = sorted(files)
    plain = _plain_names(names)
    first = _SYSTEM_AREA + _DESCRIPTORS + _PATH_TABLES
    # Where directories end depends on how large they are, and not on what is in them.
    nowhere = _Extent(0, 0)
    empty = dict.fromkeys(names, nowhere)
    plain_size = len(_rock_ridge(nowhere, empty, plain, when))
    root = _Extent(first, plain_size)
    joliet_root = _Extent(first + plain_size // SECTOR, len(_joliet(nowhere, empty, when)))
    sector = joliet_root.sector + joliet_root.size // SECTOR
    extents: dict[str, _Extent] = {}
    for name in names:
        extents[name] = _Extent(sector, len(files[name]))
        sector += -(-len(files[name]) // SECTOR)
    tables = _SYSTEM_AREA + _DESCRIPTORS
    parts = [
        bytes(_SYSTEM_AREA * SECTOR),
        _descriptor(1, label, sector, root, tables, when),
        _descriptor(2, label, sector, joliet_root, tables + 2, when),
        _sectors(b"\xffCD001\x01"),
        *(_sectors(_path_table(order, extent.sector)) for extent in (root, joliet_root) for order in "<>"),
        _rock_ridge(root, extents, plain, when),
        _joliet(joliet_root, extents, when),
        *(_sectors(files[name]) for name in names),
    ]
    return b"".join(parts)


def _plain_names(names: Sequence[str]) -> dict[str, bytes]:
    """Identifiers for readers that know neither extension: capitals, digits and underlines, none twice."""
    plain: dict[str, bytes] = {}
    for number, name in enumerate(names):
        stem = re.sub("[^A-Z0-9]", "_", name.upper())
        shortened = len(stem) > _LONGEST
        identifier = f"{stem[:_LONGEST]}_{number}" if shortened else stem
        while f"{identifier}.;1".encode() in plain.values():
            identifier = f"{identifier[:_LONGEST]}_{number}"
        plain[name] = f"{identifier}.;1".encode()
    return plain


def _rock_ridge(root: _Extent, extents: Mapping[str, _Extent], plain: Mapping[str, bytes], when: datetime) -> bytes:
    announced = b"SP\x07\x01\xbe\xef\x00"
    extension = struct.pack("<2s6B", b"ER", 8 + len(_ROCK_RIDGE), 1, len(_ROCK_RIDGE), 0, 0, 1) + _ROCK_RIDGE
    directory = _attributes(_DIRECTORY, 2, when)
    records = [
        _record(b"\x00", root, when, announced + directory + extension, directory=True),
        _record(b"\x01", root, when, directory, directory=True),
    ]
    for name in sorted(extents, key=lambda each: plain[each]):
        named = struct.pack("<2s3B", b"NM", 5 + len(name), 1, 0) + name.encode()
        records.append(_record(plain[name], extents[name], when, _attributes(_FILE, 1, when) + named))
    return _packed(records)


def _joliet(root: _Extent, extents: Mapping[str, _Extent], when: datetime) -> bytes:
    records = [_record(identifier, root, when, directory=True) for identifier in (b"\x00", b"\x01")]
    records += [_record(name.encode("utf-16-be"), extents[name], when) for name in sorted(extents)]
    return _packed(records)


def _attributes(mode: int, links: int, when: datetime) -> bytes:
    owner = b"".join(_both(value) for value in (mode, links, 0, 0))
    return struct.pack("<2s2B", b"PX", 36, 1) + owner + struct.pack("<2s3B", b"TF", 26, 1, 0x0E) + _short(when) * 3


def _record(
    identifier: bytes, extent: _Extent, when: datetime, system_use: bytes = b"", directory: bool = False
) -> bytes:
    padding = b"" if len(identifier) % 2 else b"\x00"
    end = b"" if len(system_use) % 2 == 0 else b"\x00"
    body = b"".join(
        (
            b"\x00",
            _both(extent.sector),
            _both(extent.size),
            _short(when),
            bytes((2 if directory else 0, 0, 0)),
            _both_short(1),
            bytes((len(identifier),)),
            identifier,
            padding,
            system_use,
            end,
        )
    )
    return bytes((len(body) + 1,)) + body


def _packed(records: Sequence[bytes]) -> bytes:
    """A directory: no record may lie across the border of two sectors."""
    content = b""
    for record in records:
        room = SECTOR - len(content) % SECTOR
        content += (bytes(room) if len(record) > room else b"") + record
    return _sectors(content)


def _descriptor(kind: int, label: str, sectors: int, root: _Extent, tables: int, when: datetime) -> bytes:
    wide = kind == 2

    def text(value: str, length: int) -> bytes:
        encoded = value.encode("utf-16-be" if wide else "ascii")
        blank = b"\x00 " if wide else b" "
        filled = encoded + blank * length
        return filled[: length - 1] + b"\x00" if wide and length % 2 else filled[:length]

    path_table = len(_path_table("<", 0))
    moment = when.strftime("%Y%m%d%H%M%S00").encode() + b"\x00"
    return _sectors(
        b"".join(
            (
                struct.pack("<B5s2B", kind, b"CD001", 1, 0),
                text("LINUX", 32),
                text(label, 32),
                bytes(8),
                _both(sectors),
                b"%/E".ljust(32, b"\x00") if wide else bytes(32),
                _both_short(1) + _both_short(1) + _both_short(SECTOR) + _both(path_table),
                struct.pack("<2I", tables, 0) + struct.pack(">2I", tables + 1, 0),
                _record(b"\x00", root, when, directory=True),
                *(text("", 128) for _ in range(3)),
                text("NAGAYA", 128),
                *(text("", 37) for _ in range(3)),
                moment * 2,
                b"0" * 16 + b"\x00",
                moment,
                b"\x01\x00",
            )
        )
    )


def _path_table(order: str, sector: int) -> bytes:
    return struct.pack(f"{order}2BIH2B", 1, 0, sector, 1, 0, 0)


def _sectors(content: bytes) -> bytes:
    return content + bytes(-len(content) % SECTOR)


def _both(value: int) -> bytes:
    return struct.pack("<I", value) + struct.pack(">I", value)


def _both_short(value: int) -> bytes:
    return struct.pack("<H", value) + struct.pack(">H", value)


def _short(when: datetime) -> bytes:
    return bytes((when.year - 1900, when.month, when.day, when.hour, when.minute, when.second, 0))
