"""`nagaya describe`: what can be said without a management API."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nagaya.cli.main import main


def nowhere(folder: Path) -> Path:
    """A kubeconfig of a server that does not listen."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    config = folder / "kubeconfig"
    config.write_text(
        f"{{clusters: [{{name: a, cluster: {{server: 'http://127.0.0.1:{port}'}}}}], users: [{{name: a, user: {{}}}}],"
        " contexts: [{name: a, context: {cluster: a, user: a}}], current-context: a}"
    )
    return config


def typed(*words: str) -> Result:
    return CliRunner().invoke(main, words)


@pytest.mark.parametrize("words", [("describe", "cluster", "x"), ("timeline", "x")])
def test_an_api_that_is_away_is_said_with_what_to_do(words: tuple[str, ...], tmp_path: Path) -> None:
    result = typed(*words, "--kubeconfig", str(nowhere(tmp_path)))
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "does not answer" in result.stderr
    assert "Start it with `nagaya up`" in result.stderr


def test_a_kubeconfig_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = typed("describe", "cluster", "x", "--kubeconfig", str(tmp_path / "none"))
    assert result.exit_code == 1
    assert "none" in result.stderr
    assert "`nagaya up`" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("describe", "cluster"), "Missing argument 'NAME'"),
        (("describe", "cluster", "x", "--timeout", "5m"), "--timeout goes with --until-available"),
        (("describe", "cluster", "x", "--until-available", "--timeout", "soon"), "is no length of time"),
        (("timeline", "x", "--since", "yesterday"), "is no moment"),
        (("get", "kubeconfig", "x", "--use"), "go with --merge"),
        (("get", "kubeconfig", "x", "--merge", "--to", "y"), "Choose one of --to and --merge"),
        (("get", "clusters", "-o", "xml"), "'xml' is not one of"),
    ],
)
def test_what_is_not_understood_is_a_matter_of_usage(words: tuple[str, ...], said: str) -> None:
    result = typed(*words)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize("words", [("describe", "cluster"), ("get", "clusters"), ("get", "kubeconfig"), ("timeline",)])
def test_help_has_examples(words: tuple[str, ...]) -> None:
    assert f"nagaya {' '.join(words)}" in typed(*words, "--help").output.partition("Examples:")[2]


def test_help_answers_without_the_weight_of_the_work() -> None:
    program = (
        "import sys\nfrom nagaya.cli.main import main\n"
        "for words in (['describe', 'cluster', '--help'], ['get', 'kubeconfig', '-h'], ['timeline', '--help']):\n"
        "    main(words, standalone_mode=False)\n"
        "heavy = {'asyncio', 'aiohttp', 'rich', 'yaml', 'cryptography', 'msgspec'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.endswith("\n[]\n")
