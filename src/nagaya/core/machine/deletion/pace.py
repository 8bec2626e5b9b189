"""How soon a tenant is looked at again while pods or volumes of it are waited for.

Most pods end within seconds, and some never do; no event tells, since pods of tenants are not followed. So the first
looks follow each other soon and the later ones seldom: a drain is noticed to be over after about twice the time that it
took, and one that hangs costs a tenant no more than a look now and then. Pure but for the jitter, which keeps machines
that go together from asking together.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

FIRST: Final = 1.0
"""Seconds until the second look."""
LONGEST: Final = 20.0
"""Seconds between looks in the end."""
JITTER: Final = 0.1
"""By which part of it a pause may be shorter."""
AFTER_THE_END: Final = 1.0
"""Seconds after the end of a pod's grace: its kubelet needs a moment to tell."""


def pause(last: float | None, *, progress: bool) -> float:
    """How long to wait, given the pause before: twice as long, but from the beginning after what promises an end."""
    return FIRST if last is None or progress else min(last * 2, LONGEST)


def jittered(pause: float, chance: Callable[[], float]) -> float:
    """A pause that differs from that of others. `chance` is from 0 to 1."""
    return pause * (1 - JITTER * chance())


def until_end(ends: datetime | None, now: datetime) -> float | None:
    """In how many seconds to look because a pod has to be gone by a date; None if there is none ahead."""
    if ends is None or ends <= now:
        return None
    return (ends - now).total_seconds() + AFTER_THE_END
