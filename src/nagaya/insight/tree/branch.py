"""One line of the tree, and those below it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.api.meta import Condition

NEGATIVE: Final = frozenset({"Paused", "Deleting", "RollingOut", "ScalingUp", "ScalingDown", "Updating", "Remediating"})
"""Conditions that are good when they do not hold."""


@dataclass(frozen=True, slots=True)
class State:
    """A condition as it is shown."""

    type: str
    status: str
    reason: str
    since: datetime | None
    message: str = ""

    @property
    def good(self) -> bool | None:
        """Whether it is as it should be; None if nobody knows."""
        if self.status not in ("True", "False"):
            return None
        return (self.status == "True") != (self.type in NEGATIVE)

    @property
    def telling(self) -> bool:
        """Whether there is something to say of it: it is not as it should be, or has a message."""
        return not self.good or bool(self.message)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many machines there are and how they fare; None if that is not said."""

    desired: int | None = None
    replicas: int | None = None
    available: int | None = None
    ready: int | None = None
    up_to_date: int | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """An object, several that are equal, or a heading; with what is below it."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    """Of a heading: its text."""
    version: str = ""
    counts: Counts = Counts()
    state: State | None = None
    """The condition that sums up the object."""
    conditions: tuple[State, ...] = ()
    """All that are to be shown."""
    deleting: datetime | None = None
    simulated: bool = False
    members: tuple[str, ...] = ()
    """The names of equal objects that this line stands for."""
    children: tuple[Branch, ...] = ()

    @property
    def label(self) -> str:
        """What the line is called."""
        if self.members:
            return f"{len(self.members)} {self.kind}s...{self.marks}"
        if not self.kind:
            return self.name
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        version = f", {self.version}" if self.version else ""
        return f"{self.kind} {place}{version}{self.marks}"

    @property
    def marks(self) -> str:
        """What has to be known beside the name."""
        told = (("deleting", self.deleting is not None), ("simulated", self.simulated))
        said = ", ".join(word for word, holds in told if holds)
        return f" ({said})" if said else ""

    @property
    def bad(self) -> bool:
        """Whether it is known not to be as it should be."""
        return self.state is not None and self.state.good is False


def state(condition: Condition | None) -> State | None:
    """A condition as it is shown; a date of the first century means that none is known."""
    if condition is None:
        return None
    since = condition.last_transition_time
    return State(
        condition.type,
        condition.status,
        condition.reason,
        since if since.year > 1 else None,
        condition.message.strip(),
    )
