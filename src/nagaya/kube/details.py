"""Since when there are details to tell: what can wait for a moment must not wait for ever.

A detail waits from the moment at which it could first be told. More that comes meanwhile is told with it and does not
put it off, nor does a write that fails. A server that takes long to answer has better things to do, so the wait is
longer then, within bounds. Nothing is kept that matters after a crash: whoever starts anew sees what is not told, and
waits anew.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final

from nagaya.kube.queue import RETRY_JITTER, RETRY_MAXIMUM, SHORTEST_DELAY

DETAILS_WAIT: Final = 0.5
"""For how many seconds details of a status may wait for what is told with them: no person notices."""
LONGEST_WAIT: Final = 5.0
"""For how many seconds they wait at most, however slow the server is."""
WRITES_WAITED: Final = 3.0
"""For as long as so many writes take, details wait at least."""
_WEIGHT: Final = 0.2
"""How much a single write counts for how long writes take."""
_FORGOTTEN_AFTER: Final = 2 * RETRY_MAXIMUM * (1 + RETRY_JITTER)
"""Seconds after which nobody will ask any more, not even to try again: the object went before its details were told."""


class Details:
    """Objects whose status lacks details at present."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Since when there are some, and when that was last asked for; whoever was asked for last is last."""
        self._pace = 0.0

    def wait(self, uid: str, seconds: float) -> float | None:
        """How many of these seconds details may wait yet, more if writes take long; None if it is time."""
        now = asyncio.get_running_loop().time()
        since, _ = self._waiting.get(uid, (now, now))
        self._waiting[uid] = (since, now)
        self._waiting.move_to_end(uid)
        self._forget(now)
        left = since + min(max(seconds, WRITES_WAITED * self._pace), max(seconds, LONGEST_WAIT)) - now
        return left if left >= SHORTEST_DELAY else None

    def took(self, seconds: float) -> None:
        """Hear how long a write took, the time included in which it had to wait for its turn."""
        self._pace += _WEIGHT * (seconds - self._pace)

    def told(self, uid: str) -> None:
        """Nothing is left to tell of an object."""
        self._waiting.pop(uid, None)

    def _forget(self, now: float) -> None:
        while True:
            uid, (_, asked) = next(iter(self._waiting.items()))
            if now - asked <= _FORGOTTEN_AFTER:
                return
            del self._waiting[uid]
