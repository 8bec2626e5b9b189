"""A CD image is read back as it was meant, by each of the three ways that readers find names."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.boot.iso9660 import SECTOR, image
from nagaya.simulators.proxmox.guests.iso9660 import read_image

MADE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SEED = {"user-data": b"#cloud-config\n" * 400, "meta-data": b"instance-id: a\n", "vendor-data": b""}
names = st.text("abzABZ019._-", min_size=1, max_size=60).filter(lambda name: set(name) != {"."})
files = st.dictionaries(names, st.binary(max_size=5000), max_size=40)


def both(content: bytes, at: int) -> int:
    """A number that is there in both byte orders."""
    little, big = struct.unpack_from("<I", content, at)[0], struct.unpack_from(">I", content, at + 4)[0]
    assert little == big
    return int(little)


def records(content: bytes, descriptor: int) -> list[bytes]:
    """The records of the root directory that a volume descriptor names, without those of the directory itself."""
    root = descriptor * SECTOR + 156
    start, size = both(content, root + 2) * SECTOR, both(content, root + 10)
    assert size % SECTOR == 0
    found: list[bytes] = []
    for sector in range(start, start + size, SECTOR):
        at = sector
        while at < sector + SECTOR and content[at]:
            found.append(content[at : at + content[at]])
            assert at + content[at] <= sector + SECTOR, "a record lies across a border"
            at += content[at]
    assert [each[33 : 33 + each[32]] for each in found[:2]] == [b"\x00", b"\x01"]
    return found[2:]


def data(content: bytes, record: bytes) -> bytes:
    start = both(record, 2) * SECTOR
    return content[start : start + both(record, 10)]


def system_use(record: bytes) -> dict[bytes, bytes]:
    at = 33 + record[32] + (record[32] + 1) % 2
    fields: dict[bytes, bytes] = {}
    while at + 4 <= len(record) and record[at]:
        fields[record[at : at + 2]] = record[at + 4 : at + record[at + 2]]
        at += record[at + 2]
    return fields


def rock_ridge(content: bytes) -> dict[str, bytes]:
    return {system_use(each)[b"NM"][1:].decode(): data(content, each) for each in records(content, 16)}


def joliet(content: bytes) -> dict[str, bytes]:
    return {each[33 : 33 + each[32]].decode("utf-16-be"): data(content, each) for each in records(content, 17)}


@settings(max_examples=60, deadline=None)
@given(files)
def test_all_names_and_contents_are_read_back(wanted: dict[str, bytes]) -> None:
    content = image("cidata", wanted, MADE)
    assert rock_ridge(content) == wanted
    assert joliet(content) == wanted
    assert read_image(content) == ("cidata", wanted)
    identifiers = [each[33 : 33 + each[32]] for each in records(content, 16)]
    assert len(set(identifiers)) == len(wanted)
    assert identifiers == sorted(identifiers)
    assert all(len(each) <= 31 for each in identifiers)
    assert len(content) == both(content, 16 * SECTOR + 80) * SECTOR


def test_the_label_is_where_cloud_init_looks_for_it() -> None:
    content = image("cidata", SEED, MADE)
    assert content[16 * SECTOR + 40 : 16 * SECTOR + 72] == b"cidata".ljust(32)
    assert content[17 * SECTOR + 40 : 17 * SECTOR + 72].decode("utf-16-be").rstrip() == "cidata"
    assert [content[sector * SECTOR : sector * SECTOR + 6] for sector in (16, 17, 18)] == [
        b"\x01CD001",
        b"\x02CD001",
        b"\xffCD001",
    ]


@pytest.mark.parametrize("descriptor", [16, 17], ids=["Rock Ridge", "Joliet"])
def test_the_volume_was_made_when_it_is_said_to_and_never_expires(descriptor: int) -> None:
    there = MADE.astimezone(timezone(timedelta(hours=9)))
    content = image("cidata", SEED, there)[descriptor * SECTOR :]
    created, modified, expires, effective = (content[start : start + 17] for start in range(813, 881, 17))
    assert {created, modified, effective} == {b"2026010203040500\x00"}, "in UTC, with hundredths of seconds"
    assert expires == b"0" * 16 + b"\x00"
    assert content[881] == 1, "the version of the format"


def test_the_same_files_and_time_make_the_same_bytes() -> None:
    there = MADE.astimezone(timezone(timedelta(hours=9)))
    assert image("cidata", SEED, MADE) == image("cidata", dict(reversed(SEED.items())), there)
    assert image("cidata", SEED, MADE) != image("cidata", SEED, MADE + timedelta(seconds=1))


def test_only_root_reads_the_files() -> None:
    modes = [struct.unpack_from("<I", system_use(each)[b"PX"])[0] for each in records(image("cidata", SEED, MADE), 16)]
    assert modes == [0o100400] * len(SEED)


def test_names_that_only_differ_after_shortening_stay_apart() -> None:
    wanted = {f"a-name-that-is-much-too-long-{number}": bytes([number]) for number in range(30)}
    wanted |= {"a-b": b"1", "a_b": b"2", "a.b": b"3", "A-B": b"4"}
    content = image("cidata", wanted, MADE)
    assert rock_ridge(content) == wanted
    assert len({each[33 : 33 + each[32]] for each in records(content, 16)}) == len(wanted)


@pytest.mark.parametrize(
    ("label", "name"), [("", "a"), ("x" * 17, "a"), ("ä", "a"), ("cd", "a/b"), ("cd", ".."), ("cd", "")]
)
def test_what_cannot_be_written_is_refused(label: str, name: str) -> None:
    with pytest.raises(ValueError, match="CD image"):
        image(label, {name: b""}, MADE)
