"""Backups through a pipe: what comes out goes in again."""

from __future__ import annotations

import errno
import json
import shutil
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from nagaya.apiserver.storage import ANY, open_store
from nagaya.cli.backup import backup, restore
from unit.apiserver.storage.storage_world import ManualClock, encoded


async def filled(directory: Path) -> None:
    store = await open_store(directory, ManualClock())
    await store.put("configmaps", "a", encoded("a", None), expected=ANY)
    await store.close()


async def test_a_backup_goes_to_standard_output_and_comes_back_from_standard_input(tmp_path: Path) -> None:
    await filled(tmp_path / "data")
    made = CliRunner().invoke(backup, ["-", f"--data-dir={tmp_path / 'data'}"])
    assert (made.exit_code, made.stderr) == (0, "")
    assert made.stdout_bytes.startswith(b"SQLite format 3\0")
    assert not Path("-").exists()
    back = CliRunner().invoke(restore, ["-", f"--data-dir={tmp_path / 'other'}"], input=made.stdout_bytes)
    assert "Restored 1 objects" in back.output
    assert stat.S_IMODE((tmp_path / "other/state.db").stat().st_mode) == 0o600


async def test_programs_are_told_what_was_written_and_restored(tmp_path: Path) -> None:
    await filled(tmp_path / "data")
    file, data = tmp_path / "monday.db", f"--data-dir={tmp_path / 'data'}"
    made = CliRunner().invoke(backup, [str(file), data, "-o", "json"])
    assert json.loads(made.output) == {"file": str(file), "bytes": file.stat().st_size}
    back = json.loads(CliRunner().invoke(restore, [str(file), data, "--force", "-o", "json"]).output)
    assert (back["objects"], back["dataDir"]) == (1, str(tmp_path / "data"))
    assert Path(back["movedAside"]).exists()
    other = CliRunner().invoke(restore, [str(file), f"--data-dir={tmp_path / 'other'}", "-o", "yaml"])
    assert "movedAside: null" in other.output


async def test_a_backup_to_standard_output_is_nothing_but_the_backup(tmp_path: Path) -> None:
    await filled(tmp_path)
    refused = CliRunner().invoke(backup, ["-", f"--data-dir={tmp_path}", "-o", "json"])
    assert (refused.exit_code, refused.stdout_bytes) == (2, b"")
    assert "name a file, or leave it out" in refused.stderr


async def test_a_stream_without_space_is_reported_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copyfileobj(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    await filled(tmp_path / "data")
    monkeypatch.setattr(shutil, "copyfileobj", copyfileobj)
    for command, finding in ((backup, "standard output does not take"), (restore, "does not take the backup")):
        done = CliRunner().invoke(command, ["-", f"--data-dir={tmp_path / 'data'}"], input=b"x")
        assert done.exit_code == 1
        assert finding in done.stderr
        assert done.stderr.endswith("No space left on device. Nothing was changed.\n")


def test_nothing_is_written_to_standard_output_if_there_is_no_backup(tmp_path: Path) -> None:
    made = CliRunner().invoke(backup, ["-", f"--data-dir={tmp_path}"])
    assert (made.exit_code, made.stdout_bytes) == (1, b"")
    assert "there is no database in it" in made.stderr


async def test_what_is_no_backup_changes_nothing(tmp_path: Path) -> None:
    await filled(tmp_path)
    before = (tmp_path / "state.db").read_bytes()
    refused = CliRunner().invoke(restore, ["-", "--force", f"--data-dir={tmp_path}"], input=b"hello" * 100)
    assert refused.exit_code == 1
    assert "Nothing was changed. Name a file made by `nagaya backup`" in refused.stderr
    assert (tmp_path / "state.db").read_bytes() == before


async def test_salvage_says_what_is_lost(tmp_path: Path) -> None:
    store = await open_store(tmp_path, ManualClock())
    for number in range(3):
        await store.put("configmaps", f"{number}", encoded("a", "content"), expected=ANY)
    await store.close()
    data = (tmp_path / "state.db").read_bytes()
    at = data.rindex(b"content")
    (tmp_path / "state.db").write_bytes(data[:at] + b"C" + data[at + 1 :])
    done = CliRunner().invoke(restore, ["--salvage", f"--data-dir={tmp_path}"])
    assert f"Salvaged 2 objects into {tmp_path}." in done.output
    assert "Lost: 1 revision (" in done.output
    assert "The data that was there is in" in done.output
    again = json.loads(CliRunner().invoke(restore, ["--salvage", f"--data-dir={tmp_path}", "-o", "json"]).output)
    assert (again["objects"], again["complete"], again["lostRevisions"]) == (2, True, [])


def test_salvage_takes_no_file_and_restore_needs_one() -> None:
    assert "leave FILE out" in CliRunner().invoke(restore, ["--salvage", "monday.db"]).output
    assert "Name a FILE made by `nagaya backup`" in CliRunner().invoke(restore, []).output
