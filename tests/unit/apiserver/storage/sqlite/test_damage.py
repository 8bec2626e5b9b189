"""Damage to what was acknowledged is refused by name; what was never acknowledged may be anything."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from nagaya.apiserver.storage import ABSENT, ANY, Compacted, CorruptData, backup_directory, open_store, restore
from nagaya.apiserver.storage.errors import DataRefused, StorageFailure
from nagaya.apiserver.storage.sqlite.layout import REVISION_STEP
from nagaya.apiserver.storage.sqlite.mark import BLOCK, Mark, read_mark
from nagaya.apiserver.storage.sqlite.wal import FRAME_BYTES, HEADER_BYTES, Log, examine
from support.thoroughness import choose, seed_of
from unit.apiserver.storage.sqlite.damaged import Killed, Kind, killed, objects_of, start
from unit.apiserver.storage.storage_world import ManualClock, as_after_a_kill, encoded

FLIPS = choose(12, 2000)


@pytest.fixture
async def short(tmp_path: Path, clock: ManualClock) -> Killed:
    return await killed(tmp_path / "data", tmp_path / "copy", clock, "short")


@pytest.fixture
async def restarted(tmp_path: Path, clock: ManualClock) -> Killed:
    return await killed(tmp_path / "long", tmp_path / "long-copy", clock, "restarted")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the machine had been started anew: the mark may be too low."""
    monkeypatch.setattr("nagaya.apiserver.storage.sqlite.mark._boot", lambda: "another")


def log_of(data: Killed) -> bytes:
    return data.files["state.db-wal"]


def frames(data: Killed) -> int:
    return (len(log_of(data)) - HEADER_BYTES) // FRAME_BYTES


def flipped(content: bytes, byte: int, bit: int = 0) -> bytes:
    changed = bytearray(content)
    changed[byte] ^= 1 << bit
    return bytes(changed)


async def refused(data: Killed, directory: Path, clock: ManualClock, **changed: bytes | None) -> str:
    """A start that is refused as damaged, with every file as it was."""
    data.put_into(directory, **changed)
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    for _ in range(2):
        found = await start(directory, clock)
        assert isinstance(found, CorruptData), found
        after = {path.name: path.read_bytes() for path in directory.iterdir() if path.name in before}
        assert after == before
    assert "Nothing was changed" in found.remedy
    assert "nagaya restore --salvage" in found.remedy
    return found.finding


async def same(data: Killed, directory: Path, clock: ManualClock, **changed: bytes | None) -> None:
    """A start that shows exactly what was acknowledged, at the same revision."""
    assert await start(data.put_into(directory, **changed), clock) == (data.objects, data.revision)


@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize("part", ["state.db-wal", "state.db", "state.mark"])
async def test_a_flipped_bit_anywhere_changes_nothing_or_is_refused(
    tmp_path: Path, clock: ManualClock, kind: Kind, part: str, caplog: pytest.LogCaptureFixture
) -> None:
    data = await killed(tmp_path / "data", tmp_path / "copy", clock, kind)
    if part not in data.files:
        return
    caplog.set_level(logging.CRITICAL)
    choices = random.Random(seed_of(1))
    content = data.files[part]
    for _ in range(FLIPS):
        byte, bit = choices.randrange(len(content)), choices.randrange(8)
        changed = {part.removeprefix("state.").replace("-", "_"): flipped(content, byte, bit)}
        found = await start(data.put_into(tmp_path / "damaged", **changed), clock)
        if isinstance(found, tuple):
            assert found == (data.objects, data.revision), (byte, bit)
        else:
            assert part in str(found), (byte, bit)


async def test_a_damaged_frame_is_named_with_what_would_be_lost(
    short: Killed, tmp_path: Path, clock: ManualClock
) -> None:
    offset = HEADER_BYTES + 20 * FRAME_BYTES
    finding = await refused(short, tmp_path / "x", clock, db_wal=flipped(log_of(short), offset + 2000))
    assert f"frame 21 of {frames(short)} in the write-ahead log (at byte {offset}) is damaged" in finding
    assert f"{frames(short) - 21} intact frames that follow it would be ignored" in finding
    assert f"to {short.revision} were acknowledged and are missing" in finding


async def test_every_part_of_every_frame_counts(short: Killed, tmp_path: Path, clock: ManualClock) -> None:
    for number in (0, 1, frames(short) // 2, frames(short) - 1):
        at = HEADER_BYTES + number * FRAME_BYTES
        for byte in (0, 3, 4, 7, 8, 15, 16, 20, 23, 24, FRAME_BYTES - 1):
            finding = await refused(short, tmp_path / "x", clock, db_wal=flipped(log_of(short), at + byte))
            assert f"{short.revision} were acknowledged and are missing" in finding


async def test_every_byte_of_the_header_of_the_log_counts(short: Killed, tmp_path: Path, clock: ManualClock) -> None:
    for byte in range(HEADER_BYTES):
        if 12 <= byte < 16:  # how often the log has started over: part of its checksum all the same
            assert examine(short.put_into(tmp_path / "y", db_wal=flipped(log_of(short), byte)) / "state.db-wal")
        finding = await refused(short, tmp_path / "x", clock, db_wal=flipped(log_of(short), byte))
        assert "the header of the write-ahead log is damaged" in finding
        assert f"{short.revision} were acknowledged and are missing" in finding


async def test_damage_is_proven_without_the_mark_by_the_frames_that_follow(
    short: Killed, tmp_path: Path, clock: ManualClock
) -> None:
    """After a power cut nothing else may be left that says what was acknowledged."""
    last = last_transaction(short)
    for number in range(0, last - 3, choose(9, 1)):
        at = HEADER_BYTES + number * FRAME_BYTES
        for byte in choose((18, 1000), (5, 10, 18, 1000)):
            finding = await refused(short, tmp_path / "x", clock, mark=None, db_wal=flipped(log_of(short), at + byte))
            assert f"frame {number + 1} of" in finding
    for byte in range(0, HEADER_BYTES, choose(3, 1)):
        finding = await refused(short, tmp_path / "x", clock, mark=None, db_wal=flipped(log_of(short), byte))
        assert "the header of the write-ahead log is damaged" in finding


def last_transaction(data: Killed) -> int:
    """The number of its first frame."""
    log = Log(Path("/nowhere"))
    log._file = log_of(data)
    log.count = frames(data)
    log.salts = log_of(data)[16:24]
    ends = [frame.number for frame in log.frames() if frame.commits]
    return ends[-2] + 1


async def test_a_log_that_ends_too_early_is_refused(short: Killed, tmp_path: Path, clock: ManualClock) -> None:
    whole = log_of(short)
    cuts = [0, 1, HEADER_BYTES - 1, HEADER_BYTES, len(whole) - 1, len(whole) - FRAME_BYTES]
    cuts += [random.Random(1).randrange(len(whole)) for _ in range(choose(5, 300))]
    for cut in cuts:
        finding = await refused(short, tmp_path / "x", clock, db_wal=whole[:cut])
        assert f"{short.revision} were acknowledged and are missing" in finding
    finding = await refused(short, tmp_path / "x", clock, db_wal=None)
    assert "there is no write-ahead log, or this is an older copy" in finding
    finding = await refused(short, tmp_path / "x", clock, db_wal=bytes(len(whole)))
    assert "the write-ahead log is cut off" in finding


def unacknowledged(data: Killed, tail: bytes) -> Iterator[bytes]:
    """The log when a crash broke off the writing of a further transaction, in every way in which that can look."""
    whole = log_of(data)
    end = end_of(data)
    for cut in {0, 1, 23, 24, 25, FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 30, len(tail) - 1}:
        yield whole[:end] + tail[:cut] + whole[end + cut :]
        yield whole[:end] + tail[:cut]
        if cut:
            yield whole[:end] + bytes(cut) + tail[cut:]
        yield whole[:end] + tail[:cut] + bytes(len(tail) - cut)
    choices = random.Random(seed_of(2))
    for _ in range(choose(5, 200)):
        garbled = bytearray(tail)
        at = choices.randrange(len(tail))
        garbled[at : at + 512] = choices.randbytes(min(512, len(tail) - at))
        yield whole[:end] + bytes(garbled)


def end_of(data: Killed) -> int:
    """Where the acknowledged part of the log ends."""
    log = Log(Path("/nowhere"))
    log._file = log_of(data)
    log.count = frames(data)
    log.salts = log_of(data)[16:24]
    return HEADER_BYTES + max(frame.number for frame in log.frames()) * FRAME_BYTES


@pytest.mark.parametrize("which", ["short", "restarted"])
async def test_a_transaction_that_broke_off_is_no_damage(tmp_path: Path, clock: ManualClock, which: Kind) -> None:
    data = await killed(tmp_path / "data", tmp_path / "copy", clock, which)
    directory = data.put_into(tmp_path / "further")
    with pytest.MonkeyPatch.context() as patch:  # the log goes on where it was
        patch.setattr("nagaya.apiserver.storage.sqlite.database.Database.empty_log", lambda _: None)
        store = await open_store(directory, clock)
    await store.put("pods", "late", encoded("late", "y" * 9000), expected=ABSENT)
    further = (directory / "state.db-wal").read_bytes()
    await store.close()
    start_, length = end_of(data), 0
    log = Log(tmp_path / "nowhere")
    log._file, log.count, log.salts = further, (len(further) - HEADER_BYTES) // FRAME_BYTES, further[16:24]
    length = HEADER_BYTES + max(frame.number for frame in log.frames()) * FRAME_BYTES - start_
    tail = further[start_ : start_ + length]
    assert length >= 3 * FRAME_BYTES
    for content in unacknowledged(data, tail):
        if content[start_ : start_ + length] == tail:
            continue  # complete after all
        await same(data, tmp_path / "x", clock, db_wal=content)


async def test_a_log_that_starts_over_and_breaks_off_is_no_damage(
    restarted: Killed, tmp_path: Path, clock: ManualClock
) -> None:
    """The header of the next log over that of the last, and some of its frames: everything is in the database."""
    directory = restarted.put_into(tmp_path / "moved")
    store = await open_store(directory, clock)
    await store.close()
    database, mark = (directory / "state.db").read_bytes(), (directory / "state.mark").read_bytes()
    old = log_of(restarted)
    salts = (int.from_bytes(old[16:20], "big") + 1).to_bytes(4, "big") + b"new!"
    header = old[:12] + (int.from_bytes(old[12:16], "big") + 1).to_bytes(4, "big") + salts + b"checksum"
    for cut in range(HEADER_BYTES + 1):
        await same(restarted, tmp_path / "x", clock, db=database, mark=mark, db_wal=header[:cut] + old[cut:])
    frame = old[HEADER_BYTES : HEADER_BYTES + 8] + salts + old[HEADER_BYTES + 16 : HEADER_BYTES + FRAME_BYTES]
    for cut in (1, 24, 2000, FRAME_BYTES):
        content = old[:HEADER_BYTES] + frame[:cut] + old[HEADER_BYTES + cut :]
        found = await start(restarted.put_into(tmp_path / "x", db=database, mark=mark, db_wal=content), clock)
        assert isinstance(found, tuple) or "write-ahead log" in found.finding
        if isinstance(found, tuple):
            assert found == (restarted.objects, restarted.revision)


async def test_frames_from_before_a_checkpoint_are_no_damage(
    restarted: Killed, tmp_path: Path, clock: ManualClock
) -> None:
    assert end_of(restarted) < len(log_of(restarted)), "older frames follow"
    await same(restarted, tmp_path / "x", clock)
    at = end_of(restarted) + 100
    await same(restarted, tmp_path / "x", clock, db_wal=flipped(log_of(restarted), at))


@pytest.mark.parametrize("index", [b"", b"\xff" * 32768, b"\x00" * 32768, b"garbage" * 5000])
async def test_the_index_of_the_log_is_never_trusted(
    short: Killed, tmp_path: Path, clock: ManualClock, index: bytes
) -> None:
    directory = short.put_into(tmp_path / "x")
    (directory / "state.db-shm").write_bytes(index)
    assert await start(directory, clock) == (short.objects, short.revision)


async def test_the_log_of_another_database_is_refused(
    short: Killed, restarted: Killed, tmp_path: Path, clock: ManualClock
) -> None:
    other = await killed(tmp_path / "other", tmp_path / "other-copy", clock, "short")
    await refused(restarted, tmp_path / "x", clock, db_wal=log_of(other))
    store = await open_store(short.put_into(tmp_path / "stopped"), clock)
    await store.close()
    stopped = (tmp_path / "stopped" / "state.db").read_bytes()
    finding = await refused(short, tmp_path / "x", clock, db=stopped, db_wal=log_of(other))
    assert "it is not the database that was here" in finding


async def test_an_earlier_log_of_the_same_database_is_refused(
    short: Killed, tmp_path: Path, clock: ManualClock
) -> None:
    directory = short.put_into(tmp_path / "later")
    store = await open_store(directory, clock)
    for number in range(30):
        await store.put("secrets", f"later{number}", encoded("later", "x" * 500), expected=ABSENT)
    await store.close()
    changed = {"db": (directory / "state.db").read_bytes(), "mark": (directory / "state.mark").read_bytes()}
    await refused(short, tmp_path / "x", clock, **changed)


async def test_an_older_copy_of_the_database_is_refused_until_it_is_restored(
    short: Killed, directory: Path, tmp_path: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    await store.put("secrets", "new", encoded("new"), expected=ABSENT)
    await store.close()
    copy = (directory / "state.db").read_bytes()
    store = await open_store(directory, clock)
    seen = [await store.put("secrets", f"{n}", encoded("x"), expected=ABSENT) for n in range(5)][-1].revision
    await store.close()
    (directory / "state.db").write_bytes(copy)
    with pytest.raises(CorruptData, match=rf"to {seen} were acknowledged and are missing: .* this is an older copy"):
        await open_store(directory, clock)
    (tmp_path / "copy.db").write_bytes(copy)
    restored = restore(tmp_path / "copy.db", directory, clock, force=True)
    assert restored.revision > seen + BLOCK
    store = await open_store(directory, clock)
    assert store.revision == restored.revision
    await store.close()


async def test_a_database_that_was_removed_is_not_replaced_by_an_empty_one(
    directory: Path, tmp_path: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    record = await store.put("secrets", "a", encoded("a"), expected=ABSENT)
    await store.backup(tmp_path / "backup.db")
    await store.close()
    (directory / "state.db").unlink()
    with pytest.raises(CorruptData, match=f"it is missing, and held everything .* revision {record.revision}"):
        await open_store(directory, clock)
    assert not (directory / "state.db").exists()
    assert restore(tmp_path / "backup.db", directory, clock).revision > BLOCK + REVISION_STEP
    (directory / "state.db").unlink()
    (directory / "state.mark").unlink()
    store = await open_store(directory, clock)
    assert store.revision == 1
    await store.close()


async def test_another_database_in_its_place_is_refused(directory: Path, tmp_path: Path, clock: ManualClock) -> None:
    for place in (directory, tmp_path / "other"):
        store = await open_store(place, clock)
        await store.put("secrets", "a", encoded("a"), expected=ABSENT)
        await store.close()
    (directory / "state.db").write_bytes((tmp_path / "other" / "state.db").read_bytes())
    with pytest.raises(CorruptData, match="it is not the database that was here"):
        await open_store(directory, clock)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda mark: None, id="missing"),
        pytest.param(lambda mark: b"", id="empty"),
        pytest.param(lambda mark: b"\x00" * len(mark), id="zeros"),
        pytest.param(lambda mark: mark.replace(b"nagaya", b"nagaja"), id="both copies damaged"),
        pytest.param(lambda mark: b"\xff" * 9000, id="something else"),
    ],
)
async def test_without_a_mark_revisions_continue_far_ahead(
    short: Killed,
    tmp_path: Path,
    clock: ManualClock,
    damage: Callable[[bytes], bytes | None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    directory = short.put_into(tmp_path / "x", mark=damage(short.files["state.mark"]))
    assert await start(directory, clock) == (short.objects, short.revision + REVISION_STEP)
    assert "state.mark is missing or damaged: revisions continue above" in caplog.text
    store = await open_store(directory, clock)
    assert store.revision == short.revision + REVISION_STEP
    with pytest.raises(Compacted):
        store.watch("secrets", short.revision)
    record = await store.put("secrets", "next", encoded("next"), expected=ABSENT)
    assert record.revision == short.revision + REVISION_STEP + 1
    await store.close()


async def test_files_of_different_moments_show_the_newest_or_are_refused(
    directory: Path, tmp_path: Path, clock: ManualClock
) -> None:
    """What is acknowledged at the moment of the mark is never lost, whatever database and log are beside it."""
    moments: list[Killed] = []
    store = await open_store(directory, clock)
    for turn in range(5):
        for number in range(6):
            await store.put("secrets", f"{number}", encoded(f"{number}", "x" * 500 * turn), expected=ANY)
        await store.delete("secrets", f"{turn}")
        if turn in (1, 3):  # moves the log into the database
            await store.close()
            store = await open_store(directory, clock)
            await store.put("secrets", "again", encoded("again", turn), expected=ANY)
        files = {path.name: path.read_bytes() for path in as_after_a_kill(directory, tmp_path / f"{turn}").iterdir()}
        moments.append(Killed(files, objects_of(store), frozenset(), store.revision))
    await store.close()
    combinations = [*product(range(5), repeat=3)]
    outcomes = set()
    for database, log, mark in choose(random.Random(seed_of(1)).sample(combinations, 12), combinations):
        place = moments[database].put_into(
            tmp_path / "mixed",
            db_wal=moments[log].files["state.db-wal"],
            mark=moments[mark].files["state.mark"],
        )
        found = await start(place, clock)
        outcomes.add(isinstance(found, tuple))
        shown = [number for number, each in enumerate(moments) if isinstance(found, tuple) and each.objects == found[0]]
        assert isinstance(found, DataRefused) or max(shown) >= mark, (database, log, mark)
    assert outcomes == {True, False}


async def test_what_is_lost_twice_does_not_continue_at_the_same_revision(
    directory: Path, tmp_path: Path, clock: ManualClock
) -> None:
    """The same older data without its mark, or the same backup on two new machines, one after the other."""
    store = await open_store(directory, clock)
    await store.put("configmaps", "a", encoded("a"), expected=ANY)
    await store.backup(tmp_path / "backup.db")
    await store.close()
    older, revisions = (directory / "state.db").read_bytes(), []
    for turn in range(3):
        clock.advance(3600)
        (directory / "state.db").write_bytes(older)
        (directory / "state.mark").unlink()
        machine = tmp_path / f"{turn}"
        machine.mkdir(mode=0o700)
        (machine / "state.key").write_bytes((directory / "state.key").read_bytes())
        (machine / "state.key").chmod(0o600)
        restore(tmp_path / "backup.db", machine, clock)
        for place in (directory, machine):
            store = await open_store(place, clock)
            for number in range(5 - turn):
                record = await store.put("configmaps", f"{number}", encoded("x"), expected=ANY)
            revisions.append(record.revision)
            await store.close()
    assert revisions[::2] == sorted(set(revisions[::2]))
    assert revisions[1::2] == sorted(set(revisions[1::2]))


async def test_one_damaged_copy_of_the_mark_does_no_harm(short: Killed, tmp_path: Path, clock: ManualClock) -> None:
    mark = short.files["state.mark"]
    for copy in (mark[:20] + b"?" + mark[21:], mark[:4120] + b"?" + mark[4121:]):
        await same(short, tmp_path / "x", clock, mark=copy)


async def test_an_older_mark_is_noticed(directory: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    store = await open_store(directory, clock)
    await store.put("secrets", "a", encoded("a"), expected=ABSENT)
    await store.close()
    older = (directory / "state.mark").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nagaya.apiserver.storage.sqlite.mark.BLOCK", 1)
        (directory / "state.mark").unlink()
        store = await open_store(directory, clock)
        await store.put("secrets", "b", encoded("b"), expected=ABSENT)
        await store.close()
    (directory / "state.mark").write_bytes(older)
    store = await open_store(directory, clock)
    assert store.revision == 2 * REVISION_STEP + 3
    assert "state.mark is older than the database" in caplog.text
    await store.close()


async def test_after_a_power_cut_revisions_continue_above_all_that_were_reserved(
    short: Killed, tmp_path: Path, clock: ManualClock, elsewhere: None
) -> None:
    """The last transaction is damaged, and the mark on the disk was not of the last moment."""
    reserved = read_mark(short.put_into(tmp_path / "y") / "state.mark")
    assert reserved is not None
    directory = short.put_into(tmp_path / "x")
    Mark(directory / "state.mark", reserved.identity, short.revision - 1, reserved.reserved).close()
    at = HEADER_BYTES + (last_transaction(short) - 1) * FRAME_BYTES
    (directory / "state.db-wal").write_bytes(flipped(log_of(short), at + 100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nagaya.apiserver.storage.sqlite.mark._boot", lambda: "after the power cut")
        found = await start(directory, clock)
    assert isinstance(found, tuple)
    shown, revision = found
    assert revision == reserved.reserved >= short.revision
    assert {key for key in short.objects if key not in shown} == {("pods", "team/last")}


async def test_revisions_are_reserved_in_blocks_before_they_are_used(
    directory: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nagaya.apiserver.storage.sqlite.mark.BLOCK", 5)
    store = await open_store(directory, clock)
    reservations = set()
    for number in range(23):
        record = await store.put("secrets", f"{number}", encoded("x"), expected=ABSENT)
        mark = read_mark(directory / "state.mark")
        assert mark is not None
        assert mark.reserved >= record.revision
        assert mark.acknowledged in (record.revision, record.revision - 1)
        reservations.add(mark.reserved)
    assert len(reservations) == 4
    await store.close()


async def test_a_mark_that_cannot_be_written_fails_the_write(
    directory: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(directory, clock)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("nagaya.apiserver.storage.sqlite.mark.os.fdatasync", fail)
        with pytest.raises(StorageFailure, match="the disk is full"):
            await store.put("secrets", "a", encoded("a"), expected=ABSENT)
    await store.put("secrets", "a", encoded("a"), expected=ABSENT)
    await store.close()


async def test_a_backup_of_data_that_lost_its_end_is_refused(short: Killed, tmp_path: Path, clock: ManualClock) -> None:
    at = HEADER_BYTES + 20 * FRAME_BYTES
    directory = short.put_into(tmp_path / "x", db_wal=flipped(log_of(short), at + 99))
    with pytest.raises(StorageFailure, match=f"it ends at revision .* but {short.revision} was acknowledged"):
        backup_directory(directory, tmp_path / "backup.db")
    assert not (tmp_path / "backup.db").exists()
    assert (directory / "state.db-wal").read_bytes() == flipped(log_of(short), at + 99)
