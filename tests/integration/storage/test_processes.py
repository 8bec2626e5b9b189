"""Several processes and several users around one data directory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from integration.storage import opening_process
from nagaya.apiserver.storage import backup_directory, open_store, restore
from nagaya.world import SystemClock

NOBODY = 65534


@contextmanager
def process(directory: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, opening_process.__file__, str(directory), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.kill()


def said(running: subprocess.Popen[str]) -> str:
    assert running.stdout is not None
    return running.stdout.readline().strip()


def test_a_second_process_is_told_which_one_has_the_data(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    with process(directory) as first:
        assert said(first) == "open"
        with process(directory) as second:
            message = said(second)
            assert message == (
                f"DataInUse: {directory}: in use by process {first.pid}. "
                "Stop that process, or choose another data directory"
            )
            assert second.wait() == 0
        first.communicate("\n")


def test_a_killed_process_leaves_no_lock_behind(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    for _ in range(3):
        with process(directory) as running:
            assert said(running) == "open"
            running.kill()
    with process(directory) as last:
        assert said(last) == "open"
        last.communicate("\n")
        assert last.returncode == 0


async def test_another_process_can_make_a_backup_of_a_running_server(tmp_path: Path) -> None:
    directory, backup = tmp_path / "data", tmp_path / "backup.db"
    with process(directory) as server:
        assert said(server) == "open"
        backup_directory(directory, backup)
        server.communicate("\n")
        assert server.returncode == 0
    assert restore(backup, tmp_path / "other", SystemClock()).objects == 1
    store = await open_store(directory, SystemClock(), check=True)
    assert store.count("configmaps") == 1
    await store.close()


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A directory that other users can get to. Not one of pytest's: every run that starts closes their parent."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory(prefix="nagaya-reachable-") as name:
        path = Path(name)
        path.chmod(0o711)
        if closed := [parent for parent in path.parents if parent.stat().st_mode & 0o001 == 0]:
            pytest.skip(f"{closed[0]} is closed to other users")
        yield path


def refusal_for_nobody(directory: Path) -> str:
    with process(directory, str(NOBODY)) as running:
        return said(running)


def test_a_directory_of_another_user_is_refused(reachable: Path) -> None:
    directory = reachable / "data"
    directory.mkdir(mode=0o700)
    message = refusal_for_nobody(directory)
    assert message.startswith(f"DataNotPermitted: {directory}: this user may not read and write in it")
    assert list(directory.iterdir()) == []


def test_a_directory_that_cannot_be_made_is_refused(reachable: Path) -> None:
    message = refusal_for_nobody(reachable / "data")
    assert message.startswith(f"DataNotPermitted: {reachable / 'data'}: cannot be used as a data directory")
    assert "Permission denied" in message
    assert not (reachable / "data").exists()


async def test_a_database_of_another_user_is_refused(reachable: Path) -> None:
    directory = reachable / "data"
    store = await open_store(directory, SystemClock())
    await store.close()
    os.chown(directory, NOBODY, NOBODY)
    os.chown(directory / "state.lock", NOBODY, NOBODY)
    message = refusal_for_nobody(directory)
    assert message.startswith(f"DataNotPermitted: {directory / 'state.db'}: cannot be read and written")
    os.chown(directory / "state.db", NOBODY, NOBODY)
    assert refusal_for_nobody(directory).startswith(f"DataNotPermitted: {directory / 'state.mark'}: cannot be read")
    os.chown(directory / "state.mark", NOBODY, NOBODY)
    assert refusal_for_nobody(directory).startswith(f"DataNotPermitted: {directory / 'state.key'}: cannot be read")
    os.chown(directory / "state.key", NOBODY, NOBODY)
    assert refusal_for_nobody(directory) == "open"


async def test_a_lock_file_of_another_user_is_refused(reachable: Path) -> None:
    directory = reachable / "data"
    store = await open_store(directory, SystemClock())
    await store.close()
    os.chown(directory, NOBODY, NOBODY)
    message = refusal_for_nobody(directory)
    assert message.startswith(f"DataNotPermitted: {directory / 'state.lock'}: cannot be opened")
