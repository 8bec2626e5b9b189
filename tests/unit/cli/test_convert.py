from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from nagaya.cli.convert import convert

OLD = """\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineSet
metadata: {name: set, namespace: ns}
spec:
  clusterName: c
  deletePolicy: Oldest
  selector: {}
  template:
    spec:
      clusterName: c
      bootstrap: {dataSecretName: s}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: K, name: n}
"""
LOSSY = OLD + "  colour: blue\n"


@pytest.fixture
def runner() -> CliRunner:
    return CliRunner()


def test_manifests_are_printed_and_findings_go_to_standard_error(runner: CliRunner, tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(LOSSY)
    result = runner.invoke(convert, ["-f", str(tmp_path / "set.yaml")])
    assert result.exit_code == 0
    assert "apiVersion: cluster.x-k8s.io/v1beta2" in result.stdout
    assert "order: Oldest" in result.stdout
    assert result.stderr == "lost: MachineSet ns/set: spec.colour: not carried over: v1beta2 has no such field.\n"


@pytest.mark.parametrize(("text", "code"), [(OLD, 0), (LOSSY, 1)])
def test_strict_fails_only_if_something_was_lost(runner: CliRunner, text: str, code: int) -> None:
    result = runner.invoke(convert, ["-f", "-", "--strict"], input=text)
    assert result.exit_code == code
    assert "kind: MachineSet" in result.stdout


def test_a_folder_gives_all_its_manifests_in_order(runner: CliRunner, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("{apiVersion: v1, kind: Second}")
    (tmp_path / "a.json").write_text('{"apiVersion": "v1", "kind": "First"}')
    (tmp_path / "notes.txt").write_text("not a manifest")
    result = runner.invoke(convert, ["-f", str(tmp_path)])
    assert result.stdout == "apiVersion: v1\nkind: First\n---\napiVersion: v1\nkind: Second\n"


def test_a_file_that_is_not_there_is_an_error(runner: CliRunner, tmp_path: Path) -> None:
    result = runner.invoke(convert, ["-f", str(tmp_path / "absent.yaml")])
    assert result.exit_code == 1
    assert "absent.yaml" in result.stderr
    assert result.stdout == ""


def test_a_file_that_is_no_yaml_prints_nothing(runner: CliRunner, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(OLD)
    (tmp_path / "b.yaml").write_text("kind: [")
    result = runner.invoke(convert, ["-f", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "b.yaml: not YAML" in result.stderr
