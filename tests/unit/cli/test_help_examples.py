"""What `--help` gives as examples can be typed: commands, options and numbers of arguments are those that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click

from nagaya.cli.main import main
from support.cli_commands import leaves
from support.subtest_cases import subtest_cases

_PIECES = re.compile(r"[|;&]+|\$\(|<\(|\)")


def _examples() -> Iterator[tuple[str, str]]:
    for path, command in leaves().items():
        told = (command.help or "").partition("Examples:")[2]
        for line in re.sub(r"\\\n\s*", "", told).splitlines():
            for piece in _PIECES.split(line.partition("#")[0]):
                if piece.strip().startswith("nagaya "):
                    yield path, piece.partition(" > ")[0].strip()


@subtest_cases(("path", "line"), lambda: sorted(set(_examples())))
def test_an_example_is_understood(path: str, line: str) -> None:
    command, context, words = main, click.Context(main, info_name="nagaya"), shlex.split(line)[1:]
    while isinstance(command, click.Group):
        found = command.get_command(context, words.pop(0))
        assert found is not None, f"`{line}` in the help of `{path}` names no command"
        command = found
    try:
        command.make_context(command.name or "", words, parent=context)
    except click.UsageError as error:
        # Files that it names need not be on this machine.
        assert "does not exist" in error.message, f"`{line}` in the help of `{path}`: {error.format_message()}"


def test_every_command_has_examples() -> None:
    assert not [path for path, command in leaves().items() if "Example" not in (command.help or "")]
