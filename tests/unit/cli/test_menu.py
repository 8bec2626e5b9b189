"""The menu of commands answers at once: nothing is imported before a command is called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import ModuleType

import pytest
from click.testing import CliRunner

from nagaya.cli.main import main

_HEAVY = {"aiohttp", "asyncio", "cryptography", "msgspec", "orjson", "prometheus_client", "rich", "uvloop", "yaml"}
_MEASURE = """
import json, sys
from nagaya.cli.main import main
from contextlib import suppress
with suppress(SystemExit):
    main({arguments!r}, prog_name="nagaya")
sys.stdout.write("\\n" + json.dumps(sorted(sys.modules)))
"""


def _imported(*arguments: str, **environment: str) -> tuple[str, set[str]]:
    text = _MEASURE.format(arguments=list(arguments))
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    said, _, modules = done.stdout.rpartition("\n")
    return said, set(json.loads(modules))


def test_help_imports_no_command() -> None:
    said, modules = _imported("--help")
    assert "create" in said
    assert not _HEAVY & modules
    assert {each for each in modules if each.startswith("nagaya.")} == {
        "nagaya.cli",
        "nagaya.cli.main",
        "nagaya.cli.menu",
        "nagaya.foreign_text",
    }


@pytest.mark.parametrize("words", [("up",), ("demo",), ("create", "cluster"), ("describe", "cluster")])
def test_help_of_a_command_imports_no_more_than_its_options(words: tuple[str, ...]) -> None:
    said, modules = _imported(*words, "--help")
    assert "Examples:" in said
    assert not _HEAVY & modules


def test_a_word_is_completed_without_importing_what_it_may_become() -> None:
    words = {"COMP_WORDS": "nagaya cr", "COMP_CWORD": "1", "_NAGAYA_COMPLETE": "bash_complete"}
    said, modules = _imported(**words)
    assert {"plain,create", "plain,crds"} <= set(said.split())
    assert not {"nagaya.cli.create", "nagaya.cli.crds"} & modules


def test_an_option_is_completed() -> None:
    line = "nagaya create cluster a --infra"
    said, _ = _imported(COMP_WORDS=line, COMP_CWORD="4", _NAGAYA_COMPLETE="bash_complete")
    assert said.split() == ["plain,--infrastructure"]
    line = "nagaya create cluster a --infrastructure "
    said, _ = _imported(COMP_WORDS=line, COMP_CWORD="5", _NAGAYA_COMPLETE="bash_complete")
    assert said.split() == ["plain,proxmox", "plain,simulated"]


def test_an_interruption_has_its_exit_code_wherever_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while a command is being imported, which may take a second on a busy machine."""

    def interrupted(name: str) -> ModuleType:
        raise KeyboardInterrupt

    monkeypatch.setattr("nagaya.cli.menu.importlib.import_module", interrupted)
    done = CliRunner().invoke(main, ["doctor"])
    assert (done.exit_code, done.output) == (130, "")


def test_a_closed_standard_input_is_empty(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SystemExit) as ended:
        main(["create", "cluster", "first"])
    sys.stdin.close()
    assert ended.value.code == 2
    assert "nobody can be asked here" in capsys.readouterr().err
