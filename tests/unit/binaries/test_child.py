from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from nagaya.binaries.child import Child, ChildFailed
from support.life import alive
from support.waiting import eventually


def run(folder: Path, text: str, heard: list[str] | None = None) -> str:
    lines = heard if heard is not None else []
    with (folder / "lock").open("w") as lock:
        return Child(["/bin/sh", "-c", text], folder, os.environ, lock.fileno()).run(lines.append)


def test_its_output_is_the_result_and_its_complaints_are_progress(tmp_path: Path) -> None:
    heard: list[str] = []
    assert run(tmp_path, "echo result; echo one >&2; echo two >&2", heard) == "result\n"
    assert heard == ["one", "two"]


def test_lines_are_heard_while_it_runs(tmp_path: Path) -> None:
    seen: list[bool] = []
    with (tmp_path / "lock").open("w") as lock:
        command = ["/bin/sh", "-c", f"echo ready >&2; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done"]

        def heard(line: str) -> None:
            seen.append((tmp_path / "go").exists())
            (tmp_path / "go").touch()

        Child(command, tmp_path, os.environ, lock.fileno()).run(heard)
    assert seen == [False]


def test_a_quiet_child_still_ticks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nagaya.binaries.child._TICK", 0.01)
    ticks: list[None] = []

    def tick() -> None:
        ticks.append(None)
        if len(ticks) > 3:
            (tmp_path / "go").touch()

    with (tmp_path / "lock").open("w") as lock:
        command = ["/bin/sh", "-c", f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done"]
        Child(command, tmp_path, os.environ, lock.fileno()).run(lambda line: None, tick=tick)
    assert len(ticks) > 3


def test_a_failure_keeps_its_words_and_ends_with_the_last_of_them(tmp_path: Path) -> None:
    with pytest.raises(ChildFailed) as caught:
        run(tmp_path, "echo first >&2; echo; printf 'last\\n\\n' >&2; exit 4")
    assert caught.value.last_line == "last"
    assert caught.value.words.splitlines()[0] == "first"
    assert str(caught.value) == "ended with code 4: last"


def test_a_last_line_without_its_end_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ChildFailed) as caught:
        run(tmp_path, "printf unfinished >&2; exit 1")
    assert caught.value.last_line == "unfinished"


def test_a_silent_death_is_told_by_its_signal(tmp_path: Path) -> None:
    with pytest.raises(ChildFailed, match="killed by SIGKILL"):
        run(tmp_path, "kill -9 $$")


def test_a_command_that_is_not_there_fails(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock, pytest.raises(ChildFailed, match="/does/not/exist: No such file"):
        Child(["/does/not/exist"], tmp_path, os.environ, lock.fileno()).run(lambda line: None)


def test_an_interrupt_ends_the_whole_tree(tmp_path: Path) -> None:
    pids: list[int] = []

    def heard(line: str) -> None:
        pids.append(int(line))
        if len(pids) == 2:
            raise KeyboardInterrupt

    with (tmp_path / "lock").open("w") as lock:
        # The grandchild ignores the polite request.
        text = "trap '' TERM; sleep 60 & echo $! >&2; trap 'exit' TERM; echo $$ >&2; wait"
        child = Child(["/bin/sh", "-c", text], tmp_path, os.environ, lock.fileno())
        with pytest.raises(KeyboardInterrupt):
            child.run(heard)
    deadline = time.monotonic() + 60
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    assert [alive(pid) for pid in pids] == [False, False]


def test_an_interrupt_while_it_starts_ends_it_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self.pid)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, "sleep 60")
    assert not alive(started[0])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_before_it_starts_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        signal.raise_signal(signal.SIGINT)
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, "true")


async def test_a_child_beside_other_work_is_ended_with_that_work(tmp_path: Path) -> None:
    started = tmp_path / "started"
    text = (
        f"echo noise; sleep 600 & echo $! > {tmp_path}/inner; echo $$ > {started}.new; mv {started}.new {started}; wait"
    )
    with (tmp_path / "lock").open("w") as lock:
        with Child(["/bin/sh", "-c", text], tmp_path, os.environ, lock.fileno()).run_beside():
            await eventually(started.exists)
            assert os.getpriority(os.PRIO_PROCESS, int(started.read_text())) == 19
        pids = [int(file.read_text()) for file in (started, tmp_path / "inner")]
        await eventually(lambda: not any(map(alive, pids)))
        with Child(["/bin/sh", "-c", "exit 1"], tmp_path, os.environ, lock.fileno()).run_beside():
            pass


@pytest.mark.parametrize("broken", ["subprocess.Popen", "os.setpriority"])
def test_a_child_beside_other_work_that_cannot_be_started_or_slowed_does_not_keep_it_from_being_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(broken, refuse)
    done = False
    with Child(["/bin/sh", "-c", "exit 0"], tmp_path, os.environ, None).run_beside():
        done = True
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


PARENT = """
import os, sys
from pathlib import Path
from nagaya.binaries.child import Child
from nagaya.binaries.lock import exclusive
from nagaya.binaries.progress import Silent
from nagaya.world import SystemClock
folder = Path(sys.argv[1])
command = ["/bin/sh", "-c", "echo $$ > new; mv new started; exec sleep 600"]
with exclusive(folder / "lock", "installing", Silent(), SystemClock()) as lock:
    with Child(command, folder, os.environ, lock).run_beside():
        sys.stdin.read()
"""


def test_a_child_beside_other_work_neither_holds_the_lock_nor_outlives_a_killed_parent(tmp_path: Path) -> None:
    started = tmp_path / "started"
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        while not started.exists():
            time.sleep(0.01)  # another process, which announces nothing
        process.kill()
    pid = int(started.read_text())
    try:
        with (tmp_path / "lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        while shutil.which("setpriv") and alive(pid):
            time.sleep(0.01)  # another process, which announces nothing
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
