"""Questions at a terminal. All commands ask through this module.

Most questions are asked from within an event loop, and its runner turns the first Ctrl-C into a cancellation that
arrives only after the question was answered: the command then stops in the middle of what the answer allowed. While a
question is open, a signal therefore ends the process at once, with the exit code that shells expect (130 for Ctrl-C).
The exit unwinds through the command, so connections are closed and the terminal shows what is typed again.

Commands ask before they change anything. Users who interrupt a question can rely on that.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import Any, Final, NoReturn

import click

from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode

_SIGNALS: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


class Unanswered(click.ClickException):
    """Standard input ended before the question was answered."""

    exit_code = int(ExitCode.DECLINED)

    def __init__(self) -> None:
        super().__init__("The question was not answered. Nothing was done.")


def can_ask() -> bool:
    """Whether a user at a terminal can read questions and answer them."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str, **settings: Any) -> Any:
    """Return the answer to a question, as `click.prompt` reads it. Raises SystemExit on a signal, and Unanswered."""
    with _open_question():
        return click.prompt(question, err=True, **settings)


def confirm(question: str, *, default: bool = False) -> bool:
    """Return whether the answer is yes. Raises SystemExit on a signal, and Unanswered."""
    with _open_question():
        return click.confirm(question, default=default, err=True)


def agree(question: str, *, default: bool = False, nothing_done: str = "Nothing was changed.") -> None:
    """Ask before a command changes anything. Raises Ended unless the answer is yes."""
    if not can_ask():
        raise Ended(f"Nobody can be asked here: give --yes, or --dry-run. {nothing_done}", ExitCode.DECLINED)
    if not confirm(question, default=default):
        raise Ended(nothing_done, ExitCode.DECLINED)


def read_secret(question: str) -> str:
    """Return a secret: typed at a terminal, which does not show it, or the first line of another standard input."""
    if sys.stdin.isatty():
        return str(ask(question, hide_input=True))
    with _open_question(), suppress(EOFError):
        return _read_line("")
    return ""


@contextmanager
def _open_question() -> Iterator[None]:
    """End the process on a signal, for as long as a question is open. Only the main thread may ask: a thread would wait
    for Enter when the process has ended."""
    with ExitStack() as stack:
        for number in _SIGNALS:
            stack.callback(signal.signal, number, signal.signal(number, _exit))
        for name, read in (("visible_prompt_func", _read_line), ("hidden_prompt_func", _read_hidden)):
            stack.callback(setattr, click.termui, name, getattr(click.termui, name))
            setattr(click.termui, name, read)
        try:
            if _was_interrupted():  # before the question was asked, and the event loop has not delivered it yet
                _exit(signal.SIGINT, None)
            yield
        except SystemExit:
            with suppress(OSError):  # the terminal may be closed
                click.echo("\nStopped. Nothing was done.", err=True)
            raise
        except click.Abort:
            click.echo(err=True)
            raise Unanswered from None


def _read_line(prompt: str) -> str:
    """Read a line. A signal that arrives just before the read would wait for Enter with `input`: Python runs handlers
    between its own instructions only, and the read does not return."""
    click.echo(prompt, nl=False, err=True)
    signalled, write_end = os.pipe()
    os.set_blocking(write_end, False)
    previous = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    try:
        while sys.stdin not in select.select([sys.stdin, signalled], (), ())[0]:
            os.read(signalled, 1)
    finally:
        signal.set_wakeup_fd(previous)
        os.close(signalled)
        os.close(write_end)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")


def _read_hidden(prompt: str) -> str:
    """Read a line that the terminal does not show."""
    shown = termios.tcgetattr(sys.stdin)
    hidden = [*shown[:3], shown[3] & ~termios.ECHO, *shown[4:]]
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, hidden)
    try:
        line = _read_line(prompt)
        click.echo(err=True)
        return line
    finally:
        with suppress(termios.error):  # the terminal may be closed
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, shown)


def _was_interrupted() -> bool:
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and task.cancelling() > 0


def _exit(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
