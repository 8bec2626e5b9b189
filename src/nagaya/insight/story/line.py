"""One line of a story."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any


class Source(IntEnum):
    """What a line is known from, in the order in which things of the same moment are told."""

    LIFE = 0
    TASK = 1
    CONDITION = 2
    EVENT = 3


@dataclass(frozen=True, slots=True)
class Line:
    """Something that happened to an object."""

    at: datetime
    source: Source
    kind: str
    namespace: str
    name: str
    what: str
    """A sentence whose subject is the object."""
    reason: str = ""
    warning: bool = False
    count: int = 1
    log: tuple[str, ...] = ()
    """The last lines of a task's log."""
    task: str = ""
    """The UPID of a task."""
    step: int = 0
    """Of things of the same moment, those with the lower number come first."""
    identity: Hashable = field(default=None, compare=False)
    """What tells it from any other line: the same in the next picture."""

    @property
    def subject(self) -> str:
        """The object, as it is named."""
        return f"{self.kind} {self.name}"

    def document(self) -> dict[str, Any]:
        """For programs. Fields without a value are left out."""
        found: dict[str, Any] = {
            "time": self.at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "source": self.source.name.lower(),
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "what": self.what,
            "reason": self.reason,
            "warning": self.warning,
            "count": self.count if self.count > 1 else None,
            "task": self.task,
            "log": list(self.log),
        }
        return {name: value for name, value in found.items() if value}
