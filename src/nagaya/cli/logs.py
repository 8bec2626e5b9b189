"""The log of a process: lines for people, or JSON for programs. Both say which object was worked on, and whose it is.

Code logs sentences and hands nothing on: the object, its owners and the reconcile come from what the worker is busy
with at that moment (`kube/work.py`). Logs go to standard error; what a command answers goes to standard output.

A record is one line, or several of which all but the first are indented; control characters are escaped. So nothing
that a tenant or a server says can pass for a record of its own.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from nagaya.foreign_text import cut, escape, escape_lines
from nagaya.kube.work import CURRENT, Work

Form = Literal["text", "json"]
LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)
"""By how often -v was given."""
_LONGEST: Final = 64_000
"""Characters of a record, its trace included."""


def set_up(verbose: int, form: Form, file: Path | None = None) -> None:
    """Log to standard error from now on, or to a file."""
    handler = logging.StreamHandler() if file is None else logging.FileHandler(file)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=LEVELS[min(verbose, len(LEVELS) - 1)], handlers=[handler], force=True)


class TextLines(logging.Formatter):
    """A line for people: what it is about stands at its end, where it does not get in the way."""

    def __init__(self, form: str = "%(asctime)s %(levelname)s %(name)s: %(message)s") -> None:
        super().__init__(form)

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line without its trace."""
        line = super().formatMessage(record)
        work = CURRENT.get()
        return line if work is None else f"{line} [{_about(work)}]"

    def format(self, record: logging.LogRecord) -> str:
        """The line with its trace, if it has one."""
        return escape_lines(cut(super().format(record), _LONGEST))


class JsonLines(logging.Formatter):
    """A line for programs."""

    def format(self, record: logging.LogRecord) -> str:
        """One JSON object without line ends."""
        said: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": cut(record.getMessage(), _LONGEST),
        }
        work = CURRENT.get()
        if work is not None:
            said["controller"] = work.controller
            said["object"] = {"kind": work.kind.kind, "namespace": work.key.namespace, "name": work.key.name}
            said["owners"] = work.owners()
            said["reconcileID"] = work.id
        if record.exc_info:
            said["trace"] = cut(self.formatException(record.exc_info), _LONGEST)
        return escape(json.dumps(said, default=str))


def _about(work: Work) -> str:
    owners = work.owners()
    whose = f" of {' of '.join(owners)}" if owners else ""
    return f"{work.kind.kind} {work.key}{whose}, {work.id}"
