"""What `make test` prints at its end, and when it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.tools import load_tool

run_tests: Any = load_tool("run_tests")


def record(test: str, **changes: Any) -> dict[str, Any]:
    usual = {"outcome": "passed", "reason": "", "seconds": 0.1, "cpu": 0.01, "delay": 0.0, "stated": None}
    return {"test": test, **usual, **changes}


def missing(test: str) -> dict[str, Any]:
    return record(test, outcome="skipped", reason=f"{run_tests.NOT_INSTALLED}kube-apiserver")


def test_the_last_line_counts_tests_without_programs_and_names_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [record("tests/unit/a.py::test_a"), missing("tests/real/b.py::test_b"), missing("tests/real/b.py::test_c")]
    assert run_tests.print_skipped(rows, required=False)
    *_, counts, last = capsys.readouterr().out.splitlines()
    assert counts == "1 passed, 0 failed, 2 skipped"
    assert last.startswith("2 tests of the real tier were skipped")
    assert "`make kubernetes`" in last
    assert f"{run_tests.BUILD_MINUTES} minutes" in last


def test_missing_programs_fail_a_run_that_requires_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert not run_tests.print_skipped([missing("tests/real/b.py::test_b")], required=True)
    assert capsys.readouterr().out.splitlines()[-1].startswith("FAILED: 1 tests of the real tier")


def test_a_run_that_requires_the_real_tier_accepts_no_skipped_test_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    skipped = record("tests/real/b.py::test_b", outcome="skipped", reason="needs root")
    assert not run_tests.print_skipped([skipped], required=True)
    printed = capsys.readouterr().out
    assert "skipped: 1 x needs root" in printed
    assert printed.splitlines()[-1].startswith("FAILED: 1 tests of the real tier were skipped")
    assert run_tests.print_skipped([skipped], required=False)
    elsewhere = record("tests/integration/b.py::test_b", outcome="skipped", reason="makes no sense in a process")
    assert run_tests.print_skipped([elsewhere], required=True)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("core", "core"),
        ("core/", "core"),
        ("core.machine", "core/machine"),
        ("nagaya.core.machine", "core/machine"),
        ("nagaya/core", "core"),
        ("src/nagaya/core", "core"),
        ("./src/nagaya/core/machine/plan.py", "core/machine/plan"),
        (str(run_tests.ROOT / "tests/unit/core"), "core"),
        ("tests/unit/core/test_lint.py", "core/test_lint"),
        (".", "."),
        ("src/nagaya", "."),
        ("world.py", "world"),
    ],
)
def test_a_package_is_named_as_a_path_or_as_in_python(given: str, name: str) -> None:
    assert run_tests.name_package(given) == name


@pytest.mark.parametrize(("value", "expected"), [(None, False), ("", False), ("0", False), ("1", True)])
def test_every_variant_is_played_if_the_environment_says_so(
    value: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NAGAYA_TEST_ALL", raising=False)
    if value is not None:
        monkeypatch.setenv("NAGAYA_TEST_ALL", value)
    assert run_tests.thorough() is expected


def test_progress_names_each_failed_test_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_tests, "PROGRESS_INTERVAL", 0)
    progress = run_tests.Progress(tmp_path)
    second = json.dumps(record("tests/unit/b.py::test_b", outcome="failed"))
    (tmp_path / "two.jsonl").write_text(f"{second}\n")
    progress.tick()
    first = json.dumps(record("tests/unit/a.py::test_a", outcome="failed"))
    (tmp_path / "one.jsonl").write_text(f"{first}\n")
    progress.tick()
    failed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FAILED")]
    assert failed == ["FAILED tests/unit/b.py::test_b", "FAILED tests/unit/a.py::test_a"]


def test_a_long_test_without_a_reason_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        record("tests/unit/quick.py::test_a", seconds=4.9),
        record("tests/unit/delayed.py::test_a", seconds=9.0, delay=4.5),
        record("tests/unit/stated.py::test_a", seconds=9.0, stated="waits for a kubelet"),
        record("tests/unit/long.py::test_a", seconds=9.0, delay=1.0),
    ]
    run_tests.print_table(rows, wall=12.0)
    printed = capsys.readouterr().out
    _, _, listed = printed.partition("1 tests took more than 5 s without @pytest.mark.long(reason), in:\n")
    assert listed.split() == ["tests/unit/long.py"]


def test_the_most_expensive_case_decides_whether_make_check_runs_a_test() -> None:
    rows = [
        record("tests/unit/a.py::test_a[one]"),
        record("tests/unit/a.py::test_a[two]", cpu=0.05),
        record("tests/unit/a.py::test_waits", seconds=0.3),
        record("tests/unit/a.py::test_b"),
        record("tests/real/a.py::test_c", cpu=9.0),
    ]
    assert run_tests.slow_tests(rows) == ["tests/unit/a.py::test_a", "tests/unit/a.py::test_waits"]


def test_records_of_a_line_that_is_being_written_are_left_out(tmp_path: Path) -> None:
    whole = json.dumps(record("tests/unit/a.py::test_a"))
    (tmp_path / "one.jsonl").write_text(f'{whole}\n{{"test": "tests/un')
    assert [row["test"] for row in run_tests.read_records(tmp_path)] == ["tests/unit/a.py::test_a"]


def test_coverage_never_mixes_two_runs(tmp_path: Path) -> None:
    run_tests.begin_coverage(tmp_path / "new")
    assert f"data_file = {tmp_path / 'new' / 'data'}" in (tmp_path / "new" / run_tests.SETTINGS).read_text()
    with pytest.raises(SystemExit, match="is not empty"):
        run_tests.begin_coverage(tmp_path / "new")


def test_a_failed_step_prints_the_failures_without_the_dots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    step = run_tests.Step("unit tests", [], code=1, output=tmp_path / "output")
    step.output.write_text("bringing up nodes...\n..u.F [100%]\n=== FAILURES ===\n__ test_a __\nE assert 1 == 2\n")
    run_tests.Progress(tmp_path).ended(step)
    printed = capsys.readouterr().out.splitlines()
    assert printed[:4] == ["", "=== FAILURES ===", "__ test_a __", "E assert 1 == 2"]
    assert printed[-1].startswith("FAILED unit tests")
    step.output.write_text("usage: pytest\n")
    run_tests.Progress(tmp_path).ended(step)
    assert "usage: pytest" in capsys.readouterr().out


def test_too_few_inotify_instances_are_raised_and_enough_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    setting = tmp_path / "max_user_instances"
    monkeypatch.setattr(run_tests, "INOTIFY", setting)
    run_tests.raise_inotify_limit()  # a kernel without it
    setting.write_text("128\n")
    run_tests.raise_inotify_limit()
    assert setting.read_text() == "1024\n"
    assert capsys.readouterr().out == "Set fs.inotify.max_user_instances to 1024, until this machine restarts.\n"
    setting.write_text("8192\n")
    run_tests.raise_inotify_limit()
    assert (setting.read_text(), capsys.readouterr().out) == ("8192\n", "")
