"""How long to wait before a process that ended is started again.

The pause doubles with every end until it reaches its limit, and is forgotten once a life lasted long enough to count as
stable. Jitter keeps processes that died of the same cause from coming back in the same instant.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Backoff:
    """The rule; the count of failures is kept by whoever follows it."""

    first: float = 1.0
    limit: float = 60.0
    jitter: float = 0.2
    """The part of a pause by which it may be shorter or longer."""
    stable: float = 60.0
    """Seconds after which a life counts as a success."""

    def failures_after(self, failures: int, lived: float) -> int:
        """How many ends in a row there are, after one more life of this length."""
        return 1 if lived >= self.stable else failures + 1

    def pause(self, failures: int, random: Random) -> float:
        """Seconds to wait after so many ends in a row."""
        # Beyond 2**32 the limit has long been reached, and floats would overflow.
        whole = min(self.first * 2.0 ** min(failures - 1, 32), self.limit)
        return whole * (1 + self.jitter * (2 * random.random() - 1))
