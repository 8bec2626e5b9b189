"""`nagaya lint`: reading files, printing, exit codes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from nagaya.cli.lint import lint
from nagaya.cli.main import main
from nagaya.cli.output.screen import Screen

MANIFESTS = Path(__file__).parents[1] / "cloud/lint/manifests"
ARTICLE = str(MANIFESTS / "article-deployment.yaml")
CORRECT = str(MANIFESTS / "correct.yaml")


def _run(*arguments: str, input: str | bytes | None = None) -> Result:
    return CliRunner().invoke(lint, list(arguments), input=input)


def test_an_error_is_told_with_its_place_its_reason_and_the_lines_that_mend_it() -> None:
    result = _run("-f", ARTICLE)

    assert result.exit_code == 1
    assert f"error L4  Deployment kube-system/cloud-controller-manager  ({ARTICLE})" in result.output
    assert "  at    spec.template.spec.tolerations (node-role.kubernetes.io/control-plane:NoSchedule)" in result.output
    assert "        - key: node-role.kubernetes.io/control-plane\n          operator: Exists" in result.output
    assert result.output.endswith("Found 2 errors, 1 warning.\n")


def test_a_correct_set_ends_well() -> None:
    result = _run("-f", CORRECT)

    assert result.exit_code == 0
    assert result.output.endswith("Found nothing that would keep the cluster from starting.\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 0),
        (["--fail-on", "error"], 0),
        (["--fail-on", "warning"], 1),
        (["--fail-on", "info"], 1),
        (["--fail-on", "never"], 0),
    ],
)
def test_the_exit_code_is_1_from_the_severity_that_is_asked_for(arguments: Sequence[str], code: int) -> None:
    assert _run("-f", str(MANIFESTS / "aws-daemonset.yaml"), *arguments).exit_code == code


def test_files_folders_and_standard_input_make_one_set(tmp_path: Path) -> None:
    inner = tmp_path / "base"
    inner.mkdir()
    for name in ("proxmox-deployment", "proxmox-surroundings"):
        (inner / f"{name}.yml").write_bytes((MANIFESTS / f"{name}.yaml").read_bytes())
    (inner / "notes.txt").write_text("not: [yaml")

    result = _run("-f", str(tmp_path), "-f", "-", "-o", "json", input=Path(ARTICLE).read_bytes())

    found = json.loads(result.output)
    assert found["objects"] == 11
    assert {"L4", "L14", "L22"} <= {each["check"] for each in found["findings"]}
    assert "standard input" in {each["source"] for each in found["findings"]}


def test_json_and_yaml_say_the_same() -> None:
    as_json = json.loads(_run("-f", ARTICLE, "-o", "json").output)
    as_yaml = yaml.safe_load(_run("-f", ARTICLE, "-o", "yaml").output)

    assert as_json == as_yaml
    first = as_json["findings"][0]
    assert (first["check"], first["severity"]) == ("L4", "error")
    assert set(first) == {"check", "severity", "object", "source", "path", "subject", "why", "fix"}


def test_broken_yaml_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("kind: Pod\nmetadata:\n  name: [open\n")

    result = _run("-f", str(file))

    assert result.exit_code == 2
    assert str(file) in result.output
    assert "line 4" in result.output


def test_a_file_that_does_not_exist_is_named() -> None:
    result = _run("-f", "/nowhere/at-all.yaml")

    assert result.exit_code == 2
    assert "/nowhere/at-all.yaml" in result.output


def test_other_kinds_are_counted() -> None:
    result = _run("-f", "-", input="{apiVersion: example.com/v1, kind: Teapot, metadata: {name: some}}")

    assert result.exit_code == 0
    assert "(1 object, 1 of kinds that do not matter here)" in result.output
    assert "little to judge" in result.output


def test_on_a_terminal_sentences_are_folded_and_severities_stand_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("nagaya.cli.lint.Screen", lambda: Screen(terminal=True))

    with redirect_stdout(io.StringIO()) as said, pytest.raises(SystemExit):
        lint.main(["-f", ARTICLE])

    assert "\x1b[1;31merror L4" in said.getvalue()
    folded = [line for line in said.getvalue().splitlines() if line.startswith(("  why", "        "))]
    assert all(len(line) <= 60 for line in folded)


def test_a_check_is_explained() -> None:
    result = _run("--explain", "l7")

    assert result.exit_code == 0
    assert result.output.startswith("L7: ")
    assert "maxUnavailable" in result.output
    assert _run("--explain", "all").output.count("(at worst: ") == 26
    (told,) = json.loads(_run("--explain", "l7", "-o", "json").stdout)
    assert (told["check"], "maxUnavailable" in told["lesson"]) == ("L7", True)
    assert len(yaml.safe_load(_run("--explain", "all", "-o", "yaml").stdout)) == 26


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Name either manifests"),
        (["-f", CORRECT, "--cluster", "demo"], "Name either manifests"),
        (["--explain", "L99"], "There is no check L99"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(arguments: Sequence[str], sentence: str) -> None:
    result = _run(*arguments)

    assert result.exit_code == 2
    assert sentence in result.output


def test_a_management_api_that_does_not_answer_is_told(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "current-context": "a",
                "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
                "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:9"}}],
                "users": [{"name": "a", "user": {}}],
            }
        )
    )

    result = _run("--cluster", "demo", "--kubeconfig", str(kubeconfig))

    assert result.exit_code == 1
    assert "127.0.0.1" in result.output


def test_it_is_on_the_menu_and_loads_nothing_before_it_is_called() -> None:
    code = (
        "import sys, nagaya.cli.lint; "
        "print([each for each in sys.modules if each.startswith(('nagaya.cloud', 'nagaya.kube', 'aiohttp', 'yaml'))])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert loaded.strip() == "[]"
    assert "lint" in CliRunner().invoke(main, ["--help"]).output
