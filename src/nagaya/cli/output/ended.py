"""How a command ends that cannot go on: a sentence with the remedy, and a code for scripts."""

from __future__ import annotations

from nagaya.cli.output.exit_code import ExitCode


class Ended(Exception):
    """A command cannot go on."""

    def __init__(self, sentence: str, code: ExitCode = ExitCode.PROBLEM) -> None:
        super().__init__(sentence)
        self.code = code
