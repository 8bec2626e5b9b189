"""`nagaya why` and `nagaya plan`: what can be said without a management API."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nagaya.cli.main import main
from unit.cli.test_describe import nowhere


def typed(*words: str, given: str = "") -> Result:
    return CliRunner().invoke(main, words, input=given)


@pytest.mark.parametrize("words", [("why", "a/b/c"), ("why", "machine/"), ("why", "a", "b", "c"), ("why", "/x")])
def test_what_is_no_object_is_a_matter_of_usage(words: tuple[str, ...]) -> None:
    result = typed(*words)
    assert result.exit_code == 2
    assert "KIND/NAME" in result.stderr


def test_an_api_that_is_away_is_said_with_what_to_do(tmp_path: Path) -> None:
    config = str(nowhere(tmp_path))
    manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
    for words in (("why", "x"), ("plan", "-f", "-")):
        result = typed(*words, "--kubeconfig", config, given=manifest)
        assert result.exit_code == 1
        assert "does not answer" in result.stderr


def test_files_that_cannot_be_understood_are_named(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("a: [")
    (tmp_path / "odd.yaml").write_text("just: text")
    (tmp_path / "inner").mkdir()
    (tmp_path / "empty").mkdir()
    for source, said in (
        ("bad.yaml", "not YAML"),
        ("odd.yaml", "has no kind"),
        ("none.yaml", "cannot be read: No such file"),
        ("empty", "There is no object in"),
    ):
        result = typed("plan", "-f", str(tmp_path / source))
        assert result.exit_code == 2
        assert said in result.stderr
        assert result.stdout == ""


@pytest.mark.parametrize("word", ["why", "plan"])
def test_help_has_examples(word: str) -> None:
    assert f"nagaya {word}" in typed(word, "--help").output.partition("Examples:")[2]
