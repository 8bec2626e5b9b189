"""What `nagaya doctor` prints, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from nagaya.cli.doctor import _document, _print
from nagaya.cli.main import main
from nagaya.cli.output.screen import Screen
from nagaya.insight.checkup.finding import Finding, Subject

API, PVE = Subject("Management API"), Subject("ProxmoxConnection default/pve")


def printed(found: list[Finding], capsys: pytest.CaptureFixture[str]) -> list[str]:
    _print(found, Screen(terminal=False))
    return capsys.readouterr().out.splitlines()


def test_findings_are_grouped_by_subject_with_what_to_do_below(capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        API.ok("reachable", "It answers."),
        PVE.problem("privileges", "Something lacks.", "pveum one", "pveum two"),
        API.unchecked("clock", "No date."),
        PVE.warning("hosts", "One is off."),
    ]
    assert printed(found, capsys) == [
        "Management API",
        "  ok       reachable: It answers.",
        "  unknown  clock: No date.",
        "",
        "ProxmoxConnection default/pve",
        "  PROBLEM  privileges: Something lacks.",
        "           -> pveum one",
        "           -> pveum two",
        "  warning  hosts: One is off.",
        "",
        "Found 1 problem and 1 warning; 1 check went well. 1 thing could not be checked.",
    ]


def test_where_all_is_well_one_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    found = [API.ok("reachable", "It answers."), API.ok("clock", "Right.")]
    assert printed(found, capsys)[-1] == "Found nothing wrong; 2 checks went well."


def test_long_evidence_is_folded_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    _print([API.warning("clock", "word " * 30, "do it")], Screen(terminal=True))
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines[:-1]) <= 50
    assert lines[2].startswith("           word")


def test_programs_get_every_finding() -> None:
    found = _document([API.ok("reachable", "It answers."), PVE.problem("privileges", "Lacks.", "pveum one")])
    assert found["status"] == "problem"
    assert found["findings"][1] == {
        "subject": "ProxmoxConnection default/pve",
        "check": "privileges",
        "status": "problem",
        "evidence": "Lacks.",
        "remedy": ["pveum one"],
    }


def test_a_cluster_and_all_namespaces_exclude_each_other() -> None:
    ended = CliRunner().invoke(main, ["doctor", "--cluster", "demo", "-A"])
    assert ended.exit_code == 2
    assert "--cluster" in ended.output


@pytest.mark.parametrize("command", ["doctor", "gc"])
def test_without_a_kubeconfig_it_says_how_to_get_one(command: str, tmp_path: Path) -> None:
    ended = CliRunner().invoke(main, [command, "--kubeconfig", str(tmp_path / "nowhere")])
    assert ended.exit_code == 1
    assert "nagaya up" in ended.output
