"""The log of a process: lines for people, or JSON for programs. Both say which object was worked on, and whose it is.

Code logs sentences and hands nothing on: the object, its owners and the reconcile come from what the worker is busy
with at that moment (`kube/work.py`). Logs go to standard error; what a command answers goes to standard output.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeVar

import click
import orjson

from nagaya.kube.work import CURRENT, Work

Form = Literal["text", "json"]
LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)
"""By how often -v was given."""
F = TypeVar("F", bound=Callable[..., Any])


def options(command: F) -> F:
    """The options of commands that stay and log."""
    verbose = click.option("-v", "--verbose", count=True, help="Say what is done (-v), and every detail (-vv).")
    form = click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Lines for people, or one JSON object per line. Both name the object, its owners and the reconcile.",
    )
    return verbose(form(command))


def set_up(verbose: int, form: Form) -> None:
    """Log to standard error from now on."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=LEVELS[min(verbose, len(LEVELS) - 1)], handlers=[handler], force=True)


class TextLines(logging.Formatter):
    """A line for people: what it is about stands at its end, where it does not get in the way."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line without its trace."""
        line = super().formatMessage(record)
        work = CURRENT.get()
        return line if work is None else f"{line} [{_about(work)}]"


class JsonLines(logging.Formatter):
    """A line for programs."""

    def format(self, record: logging.LogRecord) -> str:
        """One JSON object without line ends."""
        said: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        work = CURRENT.get()
        if work is not None:
            said["controller"] = work.controller
            said["object"] = {"kind": work.kind.kind, "namespace": work.key.namespace, "name": work.key.name}
            said["owners"] = work.owners()
            said["reconcileID"] = work.id
        if record.exc_info:
            said["trace"] = self.formatException(record.exc_info)
        return orjson.dumps(said, default=str).decode()


def _about(work: Work) -> str:
    owners = work.owners()
    whose = f" of {' of '.join(owners)}" if owners else ""
    return f"{work.kind.kind} {work.key}{whose}, {work.id}"
