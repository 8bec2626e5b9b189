"""What can be listed is listed completely: commands, options, targets, differences, messages, figures."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click
import pytest

from docs.page import ROOT, section
from nagaya.apiserver.admission.plugins import default_plugins
from nagaya.apiserver.builtins.resources import LEFT_OUT
from nagaya.apiserver.web.connection import Patience
from support.cli_commands import commands
from support.known_differences import KNOWN

CLI = (ROOT / "docs/reference/cli.md").read_text()
API_SERVER = (ROOT / "docs/reference/apiserver.md").read_text()
OPERATIONS = (ROOT / "docs/operations.md").read_text()
ERRORS = (ROOT / "docs/reference/errors.md").read_text()


_COMMANDS = dict(commands())


def _options(command: click.Command) -> set[str]:
    return {
        flag
        for each in command.params
        if isinstance(each, click.Option)
        for flag in (*each.opts, *each.secondary_opts)
        if flag.startswith("--")
    }


@pytest.mark.parametrize("path", _COMMANDS)
def test_every_command_and_option_is_documented(path: str) -> None:
    text = section(CLI, f"## {path}")
    rows = set(re.findall(r"^\| `(--[a-z-]+)", text, re.MULTILINE))

    assert text, f"docs/reference/cli.md has no section '{path}'"
    assert rows == _options(_COMMANDS[path])
    for argument in _COMMANDS[path].params:
        if isinstance(argument, click.Argument):
            assert f"`{path} {argument.make_metavar(click.Context(_COMMANDS[path]))}`" in text


def test_no_command_is_documented_that_does_not_exist() -> None:
    assert set(re.findall(r"^## (nagaya.*)$", CLI, re.MULTILINE)) == set(_COMMANDS)


def test_every_make_target_is_documented() -> None:
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    rows = re.findall(r"^\| `make ([a-z-]+)` \|", (ROOT / "docs/develop.md").read_text(), re.MULTILINE)

    assert sorted(rows) == sorted(targets)


def test_every_known_difference_is_explained() -> None:
    rows = section(API_SERVER, "## Differences from the real server")

    for reason in KNOWN.values():
        assert f"| {reason} |" in rows


def test_everything_left_out_is_explained() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", section(API_SERVER, "### What is left out"), re.MULTILINE)

    assert dict(rows) == LEFT_OUT


def test_every_controller_is_documented() -> None:
    rooms = (
        *(ROOT / "src/nagaya/apiserver/controllers").glob("*.py"),
        *(ROOT / "src/nagaya/apiserver/custom").glob("*.py"),
    )
    names = [name for path in rooms for name in re.findall(r'^    name = "([^"]+)"$', path.read_text(), re.MULTILINE)]
    rows = re.findall(r"^\| (`.*?) \|", section(API_SERVER, "### What the server does by itself"), re.MULTILINE)

    assert sorted(re.findall(r"`([^`]+)`", " ".join(rows))) == sorted(names)


def test_every_admission_plugin_is_documented() -> None:
    names = set(re.findall(r"\b([A-Z]\w+)\(", inspect.getsource(default_plugins)))
    rows = re.findall(r"^\| `(\w+)` \|", section(API_SERVER, "## Admission"), re.MULTILINE)

    assert names
    assert sorted(rows) == sorted(names)


def test_the_time_outs_are_those_of_the_server() -> None:
    text = section(API_SERVER, "## Time-outs")
    told = {row[0]: row[1] for row in re.findall(r"^\| (.+?) \| (\d+) \|", text, re.MULTILINE)}
    patience = Patience()

    assert told == {
        "TLS handshake": f"{patience.handshake:g}",
        "request line and headers": f"{patience.head:g}",
        "body": f"{patience.body:g}",
        "an idle connection": f"{patience.idle:g}",
        "a client that does not read": f"{patience.unread:g}",
        "everything but watches": "60",
        "answers under way when the server stops": f"{patience.stop:g}",
    }


def _messages() -> Iterator[str]:
    tables = section(OPERATIONS, "## When it refuses to start") + section(ERRORS, "## Writes that fail")
    for row in re.findall(r"^\| (`.*?) \| ", tables, re.MULTILINE):
        yield from re.findall(r"`([^`]+)`", row)


@pytest.mark.parametrize("message", sorted(_messages()))
def test_messages_in_the_documentation_are_those_of_the_program(message: str) -> None:
    rooms = ("cli", "pki", "apiserver/storage", "apiserver/identity.py")
    sources = [
        path for room in rooms for path in (ROOT / "src/nagaya" / room, *(ROOT / "src/nagaya" / room).rglob("*.py"))
    ]
    text = "\n".join(path.read_text() for path in sources if path.is_file())

    pieces = re.split(r"\b(?:FOLDER|HOST:PORT|FILE|DATE|N)\b:?", message)
    longest = max((piece.strip(": ") for piece in pieces), key=len)
    assert len(longest) > 3
    assert longest in text


def test_every_metric_is_documented() -> None:
    source = (ROOT / "src/nagaya/apiserver/web/metrics.py").read_text()
    names = set(re.findall(r'"((?:apiserver|nagaya|workqueue)_[a-z_]+)"', source))
    told = set(re.findall(r"`((?:apiserver|nagaya|workqueue)_[a-z_]+)`", section(OPERATIONS, "## Metrics")))

    assert names
    assert told == names
