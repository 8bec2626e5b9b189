"""Whose turn it is: pods with the lowest order first, and the next only when all of those are gone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from nagaya.core.machine.deletion.drain.judgement import Fate, Verdict

Verdicts = tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Turns:
    """The pods that a drain waits for, each in one of these."""

    evict: Verdicts = ()
    evict_later: Verdicts = ()
    going: Verdicts = ()
    """Evicted already, or deleted by somebody else, but still there."""
    wait: Verdicts = ()
    wait_later: Verdicts = ()

    def ends(self, now: datetime) -> datetime | None:
        """When the first of those that go has to be gone; None if none has to or all should have been by now."""
        dates = (each.pod.metadata.deletion_timestamp for each in self.going)
        return min((date for date in dates if date is not None and date > now), default=None)


def turns(verdicts: Iterable[Verdict]) -> Turns:
    """Sort out what is to be done with pods now."""
    blocking = [each for each in verdicts if each.blocks]
    lowest = min((each.order for each in blocking), default=0)
    evicted = [each for each in blocking if each.fate is Fate.EVICT]
    waited = [each for each in blocking if each.fate is Fate.WAIT]
    staying = [each for each in evicted if not each.pod.metadata.deleting]
    return Turns(
        evict=tuple(each for each in staying if each.order == lowest),
        evict_later=tuple(each for each in staying if each.order != lowest),
        going=tuple(each for each in evicted if each.pod.metadata.deleting),
        wait=tuple(each for each in waited if each.order == lowest),
        wait_later=tuple(each for each in waited if each.order != lowest),
    )
