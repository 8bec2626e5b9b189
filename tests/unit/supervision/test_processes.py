from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nagaya.supervision.processes import boot_id, command_of, holders_of, identity_of, start_of
from nagaya.supervision.record import Record

NOWHERE = Path("/does/not/exist")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["/bin/sleep", "1000"]) as process:
        yield process
        process.kill()


def test_a_running_process_is_known_by_its_start(sleeper: subprocess.Popen[bytes]) -> None:
    identity = identity_of(sleeper.pid)
    assert identity is not None
    assert identity.is_alive()
    assert 0 <= identity.age < 60


def test_another_process_of_the_same_number_is_another(sleeper: subprocess.Popen[bytes]) -> None:
    identity = identity_of(sleeper.pid)
    assert identity is not None
    assert not replace(identity, started=identity.started - 1).is_alive()
    assert not replace(identity, boot="of yesterday").is_alive()


def test_one_that_ended_and_waits_to_be_collected_is_dead(sleeper: subprocess.Popen[bytes]) -> None:
    identity = identity_of(sleeper.pid)
    assert identity is not None
    os.kill(sleeper.pid, signal.SIGKILL)
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert not identity.is_alive()
    assert start_of(sleeper.pid) is None


def test_a_program_whose_name_looks_like_fields_is_read_right(tmp_path: Path) -> None:
    odd = tmp_path / "a) R 1 (b"
    odd.symlink_to("/bin/sleep")
    with subprocess.Popen([odd, "1000"]) as process:
        try:
            identity = identity_of(process.pid)
            assert identity is not None
            assert identity.age < 60
        finally:
            process.kill()


def test_a_number_that_nobody_has_is_no_process() -> None:
    assert identity_of(2**22 + 1) is None
    assert command_of(2**22 + 1) == ()


def test_those_who_hold_a_file_are_found_and_we_are_not_among_them(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as file:
        script = "import sys, time; print(flush=True); time.sleep(1000)"
        command = [sys.executable, "-c", script]
        with subprocess.Popen(command, pass_fds=(file.fileno(),), stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                process.stdout.readline()
                assert holders_of(path) == [process.pid]
            finally:
                process.kill()
    assert holders_of(path) == []


def test_a_record_is_believed_only_if_the_command_is_the_recorded_one(sleeper: subprocess.Popen[bytes]) -> None:
    identity = identity_of(sleeper.pid)
    assert identity is not None
    assert Record(identity, "", ("/bin/sleep", "1000"), 1.0).is_alive(NOWHERE)
    assert not Record(identity, "", ("/bin/sleep", "1001"), 1.0).is_alive(NOWHERE)
    assert not Record(identity, "", ("/bin/other", "1000"), 1.0).is_alive(NOWHERE)


def test_a_program_that_renamed_itself_is_known_by_its_lock(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with lock.open("w") as held, subprocess.Popen(["/bin/sleep", "1000"], pass_fds=(held.fileno(),)) as process:
        try:
            identity = identity_of(process.pid)
            assert identity is not None
            assert Record(identity, "", ("/bin/other",), 1.0).is_alive(lock)
            assert not Record(replace(identity, started=1), "", ("/bin/other",), 1.0).is_alive(lock)
        finally:
            process.kill()


def test_a_script_is_recognised_behind_its_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho\nread line\n")
    script.chmod(0o755)
    with subprocess.Popen([script, "x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            identity = identity_of(process.pid)
            assert identity is not None
            assert Record(identity, "", (os.fspath(script), "x"), 1.0).is_alive(NOWHERE)
        finally:
            process.kill()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pid": "x"}', '{"pid": 1, "started": 1, "boot": "b"}'])
def test_a_record_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "record.json"
    assert Record.read(path) is None
    path.write_text(text)
    assert Record.read(path) is None


def test_the_boot_has_an_id() -> None:
    assert len(boot_id()) == 36
