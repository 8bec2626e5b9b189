"""What can go wrong, and with which calls or tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase


class Kind(StrEnum):
    """How a call goes wrong."""

    FAIL = "fail"
    """It is answered with an error, and nothing was done."""
    HANG = "hang"
    """It is never answered, and nothing was done."""
    SLOW = "slow"
    """It is done later, and answered then."""
    LATE = "late"
    """It is done at once, and answered later."""
    LOST = "lost"
    """It is done, but the answer is lost between hosts: 596."""
    CLOSED = "closed"
    """It is done, but the connection ends without an answer."""
    REFUSED = "refused"
    """There is no connection, and nothing was done."""


class TaskKind(StrEnum):
    """How a task goes wrong."""

    FAIL = "fail"
    """It ends with an error."""
    HANG = "hang"
    """It goes no further; somebody has to stop it."""
    DIE = "die"
    """Its worker dies and says nothing."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Which calls are meant. Patterns are those of file names: `*` stands for anything, slashes included."""

    method: str = "*"
    path: str = "*"
    """Without /api2/json, e.g. `/nodes/*/qemu/*/clone`."""
    node: str = "*"
    """The host that was contacted."""
    caller: str = "*"
    """user@realm or user@realm!token, as the client says it is; empty for somebody without credentials."""

    def mean(self, method: str, path: str, node: str, caller: str) -> bool:
        """Whether a call is one of them."""
        return (
            fnmatchcase(method, self.method.upper())
            and fnmatchcase(path, self.path)
            and fnmatchcase(node, self.node)
            and fnmatchcase(caller, self.caller)
        )


@dataclass(frozen=True, slots=True)
class Steps:
    """Which points of which tasks are meant."""

    type: str = "*"
    """E.g. `qmclone`."""
    id: str = "*"
    node: str = "*"
    step: str = "begin"
    """The point at which it happens, e.g. begin, allocate, clone, free, copy, download."""

    def mean(self, type: str, id: str, node: str, step: str) -> bool:
        """Whether a task at a point is one of them."""
        return (
            fnmatchcase(type, self.type)
            and fnmatchcase(id, self.id)
            and fnmatchcase(node, self.node)
            and fnmatchcase(step, self.step)
        )


@dataclass(frozen=True, slots=True)
class When:
    """How often something that fits goes wrong."""

    after: int = 0
    """So many go well first."""
    times: int | None = None
    """So many go wrong; all, if not said."""
    probability: float = 1.0


@dataclass(slots=True)
class Fault:
    """Something that is to go wrong with calls."""

    kind: Kind
    calls: Calls = field(default_factory=Calls)
    when: When = field(default_factory=When)
    status: int = 500
    reason: str = "an emulated failure"
    seconds: float = 10.0
    """For those that take long."""
    number: int = 0
    met: int = 0
    """How many fitted."""
    happened: int = 0
    """How many went wrong."""


@dataclass(slots=True)
class TaskFault:
    """Something that is to go wrong with tasks."""

    kind: TaskKind
    steps: Steps = field(default_factory=Steps)
    when: When = field(default_factory=When)
    text: str = "an emulated failure"
    number: int = 0
    met: int = 0
    happened: int = 0
