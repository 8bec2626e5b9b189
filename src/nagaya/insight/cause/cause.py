"""A cause: the chain that leads to it, how certain it is, and what helps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from nagaya.insight.cause.step import Step


class Weight(IntEnum):
    """What a cause means for whoever reads it, the most important first."""

    HELD = 0
    """Nothing happens until somebody does something."""
    FAILED = 1
    """Something went wrong. It may be tried again, but that alone rarely helps."""
    UNKNOWN = 2
    """Nobody knows how it is: that is as far as the evidence goes."""
    WORKING = 3
    """It is on its way."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason why the first object of the chain is as it is."""

    steps: tuple[Step, ...]
    """From the object that was asked for to the deepest one that is known."""
    weight: Weight
    headline: str
    """The cause in a sentence, without its end."""
    remedy: str = ""
    evidence: tuple[str, ...] = ()
    """What it is known from, a sentence each."""
    log: tuple[str, ...] = ()
    """The last lines of a task's log."""
    task: str = ""
    """The UPID of a task."""
    also: tuple[str, ...] = ()
    """What else it holds up."""
    late: bool = False
    """Whether it only means that news have not come through yet: worth telling if there is nothing else."""

    @property
    def deepest(self) -> Step:
        """The last link."""
        return self.steps[-1]

    def below(self, above: Step) -> Cause:
        """The same cause, seen from an object further up."""
        return replace(self, steps=(above, *self.steps))
