"""The log that all hosts keep together: who logged in, which tasks began and ended, and what calls changed.

It is short: what is old is forgotten. Numbers go on, so a reader can tell what is new.
"""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import dataclass

from nagaya.world import Clock

INFORMATION, ERROR = 6, 3
MOST = 5000
"""How many entries are kept, and told to who does not say how many."""
_DAEMON = 900
"""The process that writes what no task does."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One of them."""

    number: int
    time: int
    level: int
    user: str
    node: str
    message: str
    pid: int


class ClusterLog:
    """All of them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = itertools.count(1)
        self._entries: deque[Entry] = deque(maxlen=MOST)

    def say(self, node: str, user: str, message: str, *, level: int = INFORMATION, pid: int = _DAEMON) -> None:
        """Something happened on a host, for a user."""
        now = int(self._clock.now().timestamp())
        self._entries.append(Entry(next(self._numbers), now, level, user, node, message, pid))

    def newest(self, most: int, user: str | None = None) -> list[Entry]:
        """The newest first: of one user, or of all."""
        found = (entry for entry in reversed(self._entries) if user is None or entry.user == user)
        return list(itertools.islice(found, most))
