"""Every acknowledged write survives SIGKILL at any instant, and none is half there."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from integration.storage import writing_process
from nagaya.apiserver.storage import Event, Store, open_store
from nagaya.world import SystemClock
from support.thoroughness import seed_of

KILLS = 16


@dataclass(frozen=True)
class Acknowledged:
    """What a client was told about its newest write to a key."""

    count: int
    revision: int
    deleted: bool


def run_and_kill(directory: Path, number: int, writes: int) -> list[tuple[str, Acknowledged]]:
    """Let a process write, kill it in the midst of that once it has told of so many writes, and return what it said was
    written."""
    program = [sys.executable, writing_process.__file__, str(directory), str(number)]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(writes)]
        process.kill()
        lines += process.stdout
    assert process.returncode == -signal.SIGKILL
    return [parse(line) for line in lines if line.endswith(b"\n")]


def parse(line: bytes) -> tuple[str, Acknowledged]:
    _, key, count, revision, what = line.decode().split()
    return key, Acknowledged(int(count), int(revision), what == "delete")


def check_present(store: Store, newest: dict[str, Acknowledged]) -> None:
    """Each key holds what its client was last told, or something newer that it was not told about any more."""
    for key, acknowledged in newest.items():
        record = store.get("configmaps", key)
        if record is None:
            # An acknowledged put may be gone only by a later deletion, which is then in the history.
            deletions = [event for event in history(store) if event.key == key and event.record is None]
            assert acknowledged.deleted or any(event.revision > acknowledged.revision for event in deletions), key
            continue
        assert record.revision >= acknowledged.revision, key
        if record.revision == acknowledged.revision:
            assert not acknowledged.deleted
            assert record.object()["count"] == acknowledged.count


def observed(store: Store, newest: dict[str, Acknowledged]) -> dict[str, Acknowledged]:
    """What is there now, which the next process starts from: with the last writes, of which nobody was told."""
    found = {record.key: record for record in store.list("configmaps").records}
    return {
        key: Acknowledged(found[key].object()["count"], found[key].revision, False)
        if key in found
        else Acknowledged(0, store.revision, True)
        for key in {*newest, *found}
    }


def check_whole(store: Store) -> None:
    """Each object is exactly what one write made."""
    for record in store.list("configmaps").records:
        value = record.object()
        assert value["metadata"]["resourceVersion"] == str(record.revision)
        assert value["content"] == writing_process.content(value["count"])


def check_history(store: Store, acknowledged: list[tuple[str, Acknowledged]]) -> None:
    """Watches can be resumed, and every acknowledged write that is not compacted is in them, once and in order."""
    revisions = [event.revision for event in history(store)]
    assert revisions == sorted(set(revisions))
    expected = {told.revision for _, told in acknowledged if told.revision > store.compacted_revision}
    assert expected <= set(revisions)


def history(store: Store) -> list[Event]:
    watch = store.watch("configmaps", store.compacted_revision)
    events: list[Event] = []
    while batch := watch.poll():
        events.extend(batch)
    return events


async def test_every_acknowledged_write_survives_a_kill_at_any_instant(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    choices = random.Random(seed_of(20260101))
    newest: dict[str, Acknowledged] = {}
    total = 0
    for number in range(KILLS):
        acknowledged = run_and_kill(directory, number, choices.randint(1, 400))
        newest.update(acknowledged)
        total += len(acknowledged)
        store = await open_store(directory, SystemClock())
        assert store.revision >= max(told.revision for told in newest.values())
        check_present(store, newest)
        check_whole(store)
        check_history(store, acknowledged)
        newest = observed(store, newest)
        await store.close()
    assert total > KILLS * 100
