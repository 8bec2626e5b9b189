from __future__ import annotations

import os
from pathlib import Path

import pytest

from nagaya.supervision.logs import LogLimits, last_lines, open_log, rotate


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def say(log: Path, words: str) -> None:
    descriptor = open_log(log)
    os.write(descriptor, words.encode())
    os.close(descriptor)


def test_a_small_log_is_left_alone(log: Path) -> None:
    say(log, "1234")
    assert not rotate(log, LogLimits(size=4))
    assert log.read_text() == "1234"


def test_a_log_that_does_not_exist_is_not_rotated(log: Path) -> None:
    assert not rotate(log, LogLimits(size=4))


def test_a_writer_goes_on_in_the_emptied_file_without_a_hole(log: Path) -> None:
    writer = open_log(log)
    os.write(writer, b"first")
    assert rotate(log, LogLimits(size=4))
    os.write(writer, b"second")
    os.close(writer)
    assert (log.read_text(), (log.parent / "log.1").read_text()) == ("second", "first")


def test_only_so_many_are_kept_and_the_oldest_goes(log: Path) -> None:
    for number in range(5):
        say(log, f"life {number}")
        assert rotate(log, LogLimits(size=4, kept=2))
    assert sorted(path.name for path in log.parent.iterdir()) == ["log", "log.1", "log.2"]
    assert [(log.parent / name).read_text() for name in ("log.1", "log.2")] == ["life 4", "life 3"]


def test_none_need_be_kept(log: Path) -> None:
    say(log, "12345")
    assert rotate(log, LogLimits(size=4, kept=0))
    assert [path.name for path in log.parent.iterdir()] == ["log"]
    assert log.read_text() == ""


def test_what_a_crash_left_of_a_rotation_is_no_obstacle(log: Path) -> None:
    say(log, "12345")
    (log.parent / "log.copy").write_text("half")
    assert rotate(log, LogLimits(size=4))
    assert (log.parent / "log.1").read_text() == "12345"
    assert not (log.parent / "log.copy").exists()


def test_logs_are_private(log: Path) -> None:
    say(log, "12345")
    rotate(log, LogLimits(size=4))
    assert [path.stat().st_mode & 0o777 for path in log.parent.iterdir()] == [0o600, 0o600]


def test_the_last_words_are_found_in_a_long_log(log: Path) -> None:
    say(log, "x" * 100_000 + "\n" + "\n".join(f"line {number}" for number in range(50)) + "\n")
    assert last_lines(log, 3) == ("line 47", "line 48", "line 49")


def test_there_are_no_last_words_without_a_log(log: Path) -> None:
    assert last_lines(log) == ()


def test_of_a_log_that_is_far_too_long_the_end_is_kept(log: Path) -> None:
    """Its program can make it as long as it likes without writing anything."""
    say(log, "first")
    os.truncate(log, 1 << 40)
    say(log, "the end")
    assert rotate(log, LogLimits(size=4, longest=100))
    kept = (log.parent / "log.1").read_bytes()
    assert (len(kept), kept.lstrip(b"\0")) == (100, b"the end")
    assert log.read_text() == ""
