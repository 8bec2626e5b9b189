from __future__ import annotations

import io
import itertools
import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nagaya.binaries.errors import BinariesError, CacheUnusable
from nagaya.binaries.lock import exclusive
from nagaya.binaries.progress import PlainReporter
from support.standing_clock import StandingClock

HOLDER = """
import subprocess, sys
from pathlib import Path
from nagaya.binaries.lock import exclusive
from nagaya.binaries.progress import Silent
from nagaya.world import SystemClock
with exclusive(Path(sys.argv[1]), "installing Kubernetes v1.36.3", Silent(), SystemClock()) as lock:
    if len(sys.argv) > 2:
        child = subprocess.Popen(["sleep", "60"], pass_fds=(lock,), stdout=subprocess.DEVNULL)
        print(child.pid, flush=True)
    else:
        print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(path: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process that holds the lock until its input ends."""
    command = [sys.executable, "-c", HOLDER, str(path), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
        process.kill()


def wait_for(
    path: Path, reporter: PlainReporter, clock: StandingClock, *, patience: float = math.inf
) -> threading.Thread:
    """A thread that takes the lock and lets it go."""

    def take() -> None:
        with exclusive(path, "waiting", reporter, clock, patience):
            pass

    thread = threading.Thread(target=take)
    thread.start()
    return thread


def until(condition: object, said: io.StringIO) -> None:
    deadline = time.monotonic() + 60
    while str(condition) not in said.getvalue() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert str(condition) in said.getvalue()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "install.lock"


def test_a_free_lock_is_taken_without_a_word(
    path: Path, reporter: PlainReporter, said: io.StringIO, clock: StandingClock
) -> None:
    with exclusive(path, "installing", reporter, clock):
        told = json.loads(path.read_text())
    assert told == {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "purpose": "installing",
        "since": "2026-11-01T12:00:00+00:00",
    }
    assert said.getvalue() == ""
    assert path.read_text() == ""


def test_whoever_waits_is_told_for_whom_and_gets_it_afterwards(
    path: Path, reporter: PlainReporter, said: io.StringIO, clock: StandingClock
) -> None:
    with holder(path) as (process, _):
        waiting = wait_for(path, reporter, clock)
        until(f"Waiting for process {process.pid} on {socket.gethostname()} (installing Kubernetes v1.36.3", said)
        assert waiting.is_alive()
        process.communicate("")
        waiting.join(5)
        assert not waiting.is_alive()
    assert "done in" in said.getvalue()


def test_whoever_has_no_patience_is_told_who_holds_it_and_what_to_do(
    path: Path, reporter: PlainReporter, clock: StandingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "monotonic", itertools.count(0.0, 2.0).__next__)
    with holder(path) as (process, _), pytest.raises(BinariesError) as caught:  # noqa: SIM117
        with exclusive(path, "waiting", reporter, clock, patience=5):
            pytest.fail("another process holds it")
    first, second = str(caught.value).splitlines()
    assert first.startswith(f"process {process.pid} on {socket.gethostname()} (installing Kubernetes v1.36.3, since 20")
    assert first.endswith(f") is using {path.parent}.")
    assert second == "Run the command again when it has finished, or without --no-build to wait."


def test_a_holder_that_ends_in_time_is_waited_for_with_little_patience(
    path: Path, reporter: PlainReporter, said: io.StringIO, clock: StandingClock
) -> None:
    with holder(path) as (process, _):
        waiting = wait_for(path, reporter, clock, patience=5)
        until("Waiting for process", said)
        clock.seconds += 4
        process.communicate("")
        waiting.join(5)
    assert not waiting.is_alive()
    assert "Waiting for process" in said.getvalue()
    assert "done in 4 s" in said.getvalue()


def test_a_killed_holder_frees_the_lock(path: Path, reporter: PlainReporter, clock: StandingClock) -> None:
    with holder(path) as (process, _):
        process.send_signal(signal.SIGKILL)
        process.wait()
        with exclusive(path, "next", reporter, clock):
            assert json.loads(path.read_text())["purpose"] == "next"


def test_a_build_that_outlives_its_killed_parent_keeps_others_out(
    path: Path, reporter: PlainReporter, said: io.StringIO, clock: StandingClock
) -> None:
    with holder(path, "with a child") as (process, child):
        process.send_signal(signal.SIGKILL)
        process.wait()
        waiting = wait_for(path, reporter, clock)
        until(f"Waiting for a build that process {process.pid} left running when it ended", said)
        assert waiting.is_alive()
        os.kill(int(child), signal.SIGKILL)
        waiting.join(5)
        assert not waiting.is_alive()


def test_threads_of_one_process_take_turns_too(path: Path, reporter: PlainReporter, clock: StandingClock) -> None:
    inside = 0
    most = 0

    def take() -> None:
        nonlocal inside, most
        with exclusive(path, "thread", reporter, clock):
            inside += 1
            most = max(most, inside)
            time.sleep(0.02)
            inside -= 1

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert most == 1


def test_a_holder_that_has_not_introduced_itself_is_still_waited_for(
    path: Path, reporter: PlainReporter, said: io.StringIO, clock: StandingClock
) -> None:
    with exclusive(path, "mine", reporter, clock):
        path.write_text("")
        waiting = wait_for(path, reporter, clock)
        until(f"Waiting for another process that holds {path}", said)
    waiting.join(5)
    assert not waiting.is_alive()


def test_a_cache_that_cannot_be_made_is_told(tmp_path: Path, reporter: PlainReporter, clock: StandingClock) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheUnusable, match=r"cannot lock .*Let XDG_CACHE_HOME name a folder of yours"):  # noqa: SIM117
        with exclusive(tmp_path / "file" / "install.lock", "x", reporter, clock):
            pytest.fail("there is no such folder")
