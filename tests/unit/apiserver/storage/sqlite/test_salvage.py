"""Salvage keeps what is intact, reports the rest, and never lets a revision come again."""

from __future__ import annotations

import logging
import random
from pathlib import Path
from typing import Literal, get_args

import pytest

from nagaya.apiserver.storage import (
    ABSENT,
    CorruptData,
    DataExists,
    DataInUse,
    DataRefused,
    Salvaged,
    backup_directory,
    open_store,
    restore,
    salvage,
)
from nagaya.apiserver.storage.sqlite.layout import REVISION_STEP
from nagaya.apiserver.storage.sqlite.mark import BLOCK, Mark
from nagaya.apiserver.storage.sqlite.pages import Cell, record
from nagaya.apiserver.storage.sqlite.wal import FRAME_BYTES, HEADER_BYTES, Log
from support.thoroughness import choose, seed_of
from unit.apiserver.storage.sqlite.damaged import Killed, Kind, killed, start
from unit.apiserver.storage.sqlite.test_rows import old_database
from unit.apiserver.storage.storage_world import ManualClock, encoded

TRIES = choose(4, 300)
Damage = Literal["a bit", "a block of noise", "a block of zeros"]


def damaged(content: bytes, damage: Damage, choices: random.Random, block: int, head: int) -> bytes:
    changed = bytearray(content)
    at = choices.randrange(len(content))
    if damage == "a bit":
        changed[at] ^= 1 << choices.randrange(8)
        return bytes(changed)
    at = head + max(0, at - head) // block * block
    size = len(changed[at : at + block])
    changed[at : at + block] = bytes(size) if "zeros" in damage else choices.randbytes(size)
    return bytes(changed)


async def salvaged(data: Killed, directory: Path, clock: ManualClock) -> Salvaged:
    """What a salvage keeps, after a look at everything that must hold of it."""
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    result = salvage(directory, clock)
    assert result.moved_aside is not None
    for name in before.keys() - {"state.lock", "state.db-shm", "state.key"}:
        assert (result.moved_aside / name).read_bytes() == before[name], "damaged files stay as they are"
    found = await start(directory, clock)
    assert isinstance(found, tuple), found
    shown, revision = found
    assert revision == result.revision > data.revision + BLOCK
    assert result.objects == len(shown)
    assert {(*key, *record) for key, record in shown.items()} <= data.versions, "only what was acknowledged"
    reported = {number for first, last in result.lost for number in range(first, last + 1)}
    assert not (reported and result.complete)
    assert result.complete <= (shown == data.objects)
    assert reported or shown.keys() <= data.objects.keys()
    # A page whose very number is noise may have held rows that nothing else speaks of, but for the digest.
    for key, shown_record in shown.items():
        if data.objects.get(key) != shown_record:  # it is older, or deleted: its newer version is reported
            assert any(number > shown_record[0] for number in reported), key
    return result


@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize("part", ["state.db-wal", "state.db"])
@pytest.mark.parametrize("damage", get_args(Damage))
async def test_what_was_acknowledged_and_is_intact_is_kept_and_the_rest_reported(
    tmp_path: Path, clock: ManualClock, kind: Kind, part: str, damage: Damage, caplog: pytest.LogCaptureFixture
) -> None:
    data = await killed(tmp_path / "data", tmp_path / "copy", clock, kind)
    if part not in data.files:
        return
    caplog.set_level(logging.CRITICAL)
    choices = random.Random(seed_of(3))
    block, head = (4096, 0) if part == "state.db" else (FRAME_BYTES, HEADER_BYTES)
    for _ in range(TRIES):
        content = damaged(data.files[part], damage, choices, block, head)
        changed = {part.removeprefix("state.").replace("-", "_"): content}
        found = await start(data.put_into(tmp_path / "damaged", **changed), clock)
        if isinstance(found, DataRefused):
            await salvaged(data, data.put_into(tmp_path / "damaged", **changed), clock)
        else:
            assert found == (data.objects, data.revision)


async def test_a_flipped_bit_in_the_log_loses_nothing_but_its_row(tmp_path: Path, clock: ManualClock) -> None:
    data = await killed(tmp_path / "data", tmp_path / "copy", clock, "short")
    content = bytearray(data.files["state.db-wal"])
    content[content.rindex(b"team/s5") + 40] ^= 1  # all later frames hold this row too: this is its last copy
    directory = data.put_into(tmp_path / "x", db_wal=bytes(content))
    assert isinstance(await start(directory, clock), CorruptData)
    result = await salvaged(data, data.put_into(directory, db_wal=bytes(content)), clock)
    assert result.complete
    assert not result.lost


async def test_without_the_log_everything_of_the_last_checkpoint_is_kept(tmp_path: Path, clock: ManualClock) -> None:
    data = await killed(tmp_path / "data", tmp_path / "copy", clock, "restarted")
    result = await salvaged(data, data.put_into(tmp_path / "x", db_wal=None), clock)
    assert result.objects == 25
    assert result.lost == [(27, data.revision)]


async def test_without_the_database_everything_in_the_log_is_kept(tmp_path: Path, clock: ManualClock) -> None:
    data = await killed(tmp_path / "data", tmp_path / "copy", clock, "short")
    result = await salvaged(data, data.put_into(tmp_path / "x", db=None), clock)
    assert result.complete


async def test_the_log_of_another_database_is_left_out(tmp_path: Path, clock: ManualClock) -> None:
    other = await killed(tmp_path / "other", tmp_path / "other-copy", clock, "short")
    data = await killed(tmp_path / "data", tmp_path / "copy", clock, "stopped")
    log = other.files["state.db-wal"]
    assert isinstance(await start(data.put_into(tmp_path / "x", db_wal=log), clock), CorruptData)
    result = salvage(data.put_into(tmp_path / "x", db_wal=log), clock)
    assert result.complete
    assert await start(tmp_path / "x", clock) == (data.objects, result.revision)


async def test_without_a_mark_salvage_still_counts_far_ahead(tmp_path: Path, clock: ManualClock) -> None:
    data = await killed(tmp_path / "data", tmp_path / "copy", clock, "short")
    content = bytearray(data.files["state.db-wal"])
    content[HEADER_BYTES + 30 * FRAME_BYTES + 3000] ^= 1
    result = salvage(data.put_into(tmp_path / "x", mark=None, db_wal=bytes(content)), clock)
    assert not result.complete
    assert result.revision == data.revision + REVISION_STEP
    assert await start(tmp_path / "x", clock) == (data.objects, result.revision)


@pytest.mark.parametrize("copy", [0, 4096])
async def test_a_mark_with_a_damaged_copy_does_not_prove_that_nothing_is_lost(
    tmp_path: Path, clock: ManualClock, copy: int
) -> None:
    """The other copy may be that of the write before, which an earlier digest confirms."""
    data = await killed(tmp_path / "data", tmp_path / "copy", clock, "short")
    mark = bytearray(data.files["state.mark"])
    mark[copy] ^= 1
    ends = [frame.number for frame in Log(tmp_path / "copy" / "state.db-wal").frames() if frame.commits]
    log = data.files["state.db-wal"][: HEADER_BYTES + ends[-2] * FRAME_BYTES]
    result = salvage(data.put_into(tmp_path / "x", mark=bytes(mark), db_wal=log), clock)
    assert not result.complete
    assert result.revision > data.revision


async def test_data_of_the_first_schema_is_salvaged(directory: Path, tmp_path: Path, clock: ManualClock) -> None:
    old_database(directory / "state.db")
    content = (directory / "state.db").read_bytes()
    at = content.index(b'"old"')
    (directory / "state.db").write_bytes(content[: at + 1] + b"0" + content[at + 2 :])
    with pytest.raises(CorruptData):
        await open_store(directory, clock)
    result = salvage(directory, clock)
    assert (result.objects, result.lost) == (2, [(2, 2)])
    store = await open_store(directory, clock)
    secret = store.get("secrets", "s")
    assert secret is not None
    assert secret.object()["content"] == "new"
    await store.close()


async def test_salvaged_data_goes_on_as_any_other(tmp_path: Path, clock: ManualClock) -> None:
    data = await killed(tmp_path / "data", tmp_path / "copy", clock, "short")
    directory = data.put_into(tmp_path / "x", db_wal=data.files["state.db-wal"][:-5])
    salvage(directory, clock)
    clock.advance(1)
    store = await open_store(directory, clock, check=True)
    record = await store.put("secrets", "new", encoded("new"), expected=ABSENT)
    await store.close()
    backup_directory(directory, tmp_path / "backup.db")
    restore(tmp_path / "backup.db", directory, clock, force=True)
    store = await open_store(directory, clock, check=True)
    assert store.revision > record.revision
    assert store.get("secrets", "new") is not None
    await store.close()


async def test_nothing_is_salvaged_from_a_folder_in_use_or_without_anything_intact(
    directory: Path, tmp_path: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    with pytest.raises(DataInUse):
        salvage(directory, clock)
    await store.close()
    with pytest.raises(DataRefused, match="there is no database in it"):
        salvage(tmp_path / "empty", clock)
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    (directory / "state.db").write_bytes(b"nothing" * 3000)
    with pytest.raises(CorruptData, match="nothing in it is intact"):
        salvage(directory, clock)
    assert (directory / "state.db").read_bytes() == b"nothing" * 3000
    assert (directory / "state.mark").read_bytes() == before["state.mark"]


@pytest.mark.parametrize("way", ["salvage", "restore"])
@pytest.mark.parametrize("step", range(8))
async def test_one_that_is_interrupted_can_be_finished(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, step: int, way: str
) -> None:
    """The process ends before any of its changes of the folder: nothing is lost, and the same command goes on."""
    data = await killed(tmp_path / "data", tmp_path / "copy", clock, "short")
    directory = data.put_into(tmp_path / "x", db_wal=data.files["state.db-wal"][:-5])
    backup = data.put_into(tmp_path / "stopped")
    await (await open_store(backup, clock)).close()

    class Ended(BaseException):
        pass

    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1
        if steps > step:
            raise Ended

    def again() -> int:
        return (
            salvage(directory, clock) if way == "salvage" else restore(backup / "state.db", directory, clock)
        ).objects

    with monkeypatch.context() as patch:
        rename, unlink, write = Path.rename, Path.unlink, Mark._write_all
        patch.setattr(Path, "rename", lambda path, target: (count(), rename(path, target))[1])
        patch.setattr(Path, "unlink", lambda path, missing_ok=False: (count(), unlink(path, missing_ok))[1])
        patch.setattr(Mark, "_write_all", lambda mark: (count(), write(mark))[1])
        try:
            if way == "restore":
                restore(backup / "state.db", directory, clock, force=True)
            else:
                salvage(directory, clock)
            ended = False
        except Ended:
            ended = True
    clock.advance(1)
    if ended:
        assert isinstance(await start(directory, clock), DataRefused)
        try:
            again()
        except DataExists:  # the data is there as it was
            restore(backup / "state.db", directory, clock, force=True)
    found = await start(directory, clock)
    assert isinstance(found, tuple)
    assert found[0].items() <= data.objects.items()
    assert len(found[0]) >= len(data.objects) - 1
    assert found[1] > data.revision + BLOCK


def test_a_record_of_an_impossible_size_is_not_followed() -> None:
    """Damaged pages may lead in a circle: a size that nobody could have written is not read page by page."""
    asked = 0

    def page_at(_: int) -> bytes:
        nonlocal asked
        asked += 1
        return b"\x00\x00\x00\x07" * 1024

    assert record(Cell(5, 2**56, b"", 7), page_at) is None
    assert asked == 0
    assert record(Cell(5, 20_000, b"", 7), page_at) is not None
    assert asked == 5
