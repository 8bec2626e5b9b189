"""The log of a process: lines for people, or JSON for programs. Both say which object was worked on, and whose it is.

Code logs sentences and hands nothing on: the object, its owners and the reconcile come from what the worker is busy
with at that moment (`kube/work.py`). Logs go to standard error; what a command answers goes to standard output.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import orjson

from nagaya.kube.work import CURRENT, Work

Form = Literal["text", "json"]
LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)
"""By how often -v was given."""


def set_up(verbose: int, form: Form, file: Path | None = None) -> None:
    """Log to standard error from now on, or to a file."""
    handler = logging.StreamHandler() if file is None else logging.FileHandler(file)
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
