"""Archives: what comes out is what went in, or a refusal."""

from __future__ import annotations

import asyncio
import gzip
import io
import os
import random
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.controlplane.hosted.archive import form, writer
from nagaya.controlplane.hosted.archive.errors import ArchiveDamaged, ArchiveError, Refused
from nagaya.controlplane.hosted.archive.reader import Archive, Contents
from nagaya.controlplane.hosted.archive.restore import read_whole
from nagaya.controlplane.hosted.archive.writer import ArchiveWriter
from nagaya.controlplane.hosted.data_store.snapshots import Entry
from support.tenant_archives import OTHER_UID, copy_of, head, write

ENTRIES = st.lists(st.builds(Entry, st.binary(max_size=40), st.binary(max_size=300)), max_size=30)
NAMES = st.sets(st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?", fullmatch=True), max_size=5)


def read(path: Path) -> tuple[Contents, bytes]:
    async def reading() -> tuple[Contents, bytes]:
        archive, contents = await read_whole(path)
        try:
            return contents, b"".join([piece async for piece in archive.data()])
        finally:
            archive.close()

    return asyncio.run(reading())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("archives")


@given(entries=ENTRIES, secrets=NAMES, piece=st.integers(1, 5000))
@settings(max_examples=20)
def test_what_is_read_is_what_was_written(folder: Path, entries: list[Entry], secrets: set[str], piece: int) -> None:
    path = folder / "a.tenant"
    copy = asyncio.run(copy_of(entries))
    write(path, copy, secrets=sorted(secrets), pieces=piece)
    contents, data = read(path)

    assert data == copy
    assert contents.head == head()
    assert contents.keys == len(entries)
    assert contents.revision == 41
    assert set(contents.secrets) == secrets


@given(data=st.data())
@settings(max_examples=60)
def test_a_changed_byte_is_noticed_or_means_nothing(folder: Path, data: st.DataObject) -> None:
    path = folder / "whole.tenant"
    if not path.exists():
        write(path, asyncio.run(copy_of([Entry(b"pods/a", random.Random(1).randbytes(2000)), Entry(b"pods/b", b"x")])))
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda each: each != whole[place]))
    damaged = folder / "damaged.tenant"
    damaged.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
    try:
        found = read(damaged)
    except ArchiveDamaged:
        return
    assert found == read(path), "only what no reader looks at, such as a date of gzip's"


@given(data=st.data())
@settings(max_examples=25)
def test_a_part_of_an_archive_is_none(folder: Path, data: st.DataObject) -> None:
    path = folder / "cut-from.tenant"
    if not path.exists():
        write(path, asyncio.run(copy_of([Entry(b"a", random.Random(1).randbytes(500))])))
    whole = path.read_bytes()
    cut = folder / "cut.tenant"
    cut.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(ArchiveDamaged):
        read(cut)


@given(content=st.binary(max_size=300))
@settings(max_examples=25)
def test_something_else_is_refused(folder: Path, content: bytes) -> None:
    path = folder / "else"
    for each in (content, gzip.compress(content)):
        path.write_bytes(each)
        with pytest.raises(ArchiveDamaged, match=r"damaged|too early"):
            read(path)


def test_data_is_cut_into_pieces_that_other_tools_can_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "PIECE", 1000)
    copy = asyncio.run(copy_of([Entry(b"key", random.Random(1).randbytes(3500))]))
    path = tmp_path / "a.tenant"
    write(path, copy)
    with tarfile.open(path) as tar:
        names = [each.name for each in tar]
        pieces = [tar.extractfile(each) for each in tar if each.name.startswith(form.DATA)]
        joined = b"".join(each.read() for each in pieces if each is not None)

    assert names[:4] == ["archive.json", "objects/cluster.json", "objects/control-plane.json", "secrets/shop-ca.json"]
    assert names[4:] == ["data/00000001", "data/00000002", "data/00000003", "data/00000004", "sums.json"]
    assert joined == copy
    assert read(path)[1] == copy


def test_an_archive_is_private_and_replaces_nothing_unasked(tmp_path: Path) -> None:
    path = tmp_path / "a.tenant"
    copy = asyncio.run(copy_of([]))
    previous = os.umask(0)
    try:
        write(path, copy)
    finally:
        os.umask(previous)
    assert path.stat().st_mode & 0o777 == 0o600
    with ArchiveWriter(path) as other:
        other.finish()
        with pytest.raises(Refused, match="--force"):
            other.keep(overwrite=False)
    assert read(path)[1] == copy
    assert [each.name for each in tmp_path.iterdir()] == ["a.tenant"]


def test_an_archive_that_is_not_finished_leaves_nothing(tmp_path: Path) -> None:
    with ArchiveWriter(tmp_path / "a") as unfinished:
        unfinished.add(form.HEAD, b"{}")
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_newer_form_says_what_this_version_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.tenant"
    write(path, asyncio.run(copy_of([])), first=head(format="nagaya.tenant-archive/2"))
    with pytest.raises(ArchiveDamaged, match=r"tenant-archive/2.*reads 'nagaya.tenant-archive/1'"):
        read(path)


def test_data_of_another_tenant_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tenant"
    write(path, asyncio.run(copy_of([], uid=OTHER_UID)))
    with pytest.raises(ArchiveDamaged, match="another tenant"):
        read(path)


def test_a_damaged_copy_within_is_refused_by_its_own_digest(tmp_path: Path) -> None:
    path = tmp_path / "a.tenant"
    copy = asyncio.run(copy_of([Entry(b"key", b"value")]))
    write(path, copy.replace(b"value", b"other"))
    with pytest.raises(ArchiveDamaged, match="what it holds is not what was written"):
        read(path)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "secrets/../x.json", "data/00000009", "more"])
def test_members_that_do_not_belong_there_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.tenant"
    with ArchiveWriter(path) as hostile:
        hostile.add(form.HEAD, b"{}")
        hostile.add(form.CLUSTER, b"{}")
        hostile.add(form.CONTROL_PLANE, b"{}")
        hostile.add(name, b"x")
        hostile.finish()
        hostile.keep(overwrite=True)
    with pytest.raises(ArchiveDamaged):
        read(path)
    assert [each.name for each in tmp_path.iterdir()] == ["a.tenant"]


def test_a_link_is_no_member(tmp_path: Path) -> None:
    path = tmp_path / "a.tenant"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        link = tarfile.TarInfo(form.HEAD)
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    path.write_bytes(packed.getvalue())
    with pytest.raises(ArchiveDamaged, match="does not belong there"):
        read(path)


def test_a_member_that_would_fill_the_memory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.tenant"
    write(path, asyncio.run(copy_of([Entry(b"key", b"v" * 5000)])))
    monkeypatch.setattr(form, "LARGEST", 4000)
    with pytest.raises(ArchiveDamaged, match="not possible"):
        read(path)
    with writer.ArchiveWriter(tmp_path / "b") as small, pytest.raises(ValueError, match="takes 4000"):
        small.add(form.HEAD, b"x" * 5000)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match=r"nothing\.tenant cannot be read: No such file"):
        Archive(tmp_path / "nothing.tenant")
