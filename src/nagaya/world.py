"""Time and randomness, handed in instead of reached for.

Nothing in Nagaya calls `time.time()` or `random` on its own: whoever builds a part gives it a `World`. That lets the
whole plane run on virtual time from one seed. Two clocks, because they answer different questions: `now` says what
date to write on an object, `monotonic` measures how long something took and never jumps.
"""

from __future__ import annotations

import random
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where dates and durations come from."""

    def now(self) -> datetime:
        """The current date, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back; only differences mean anything."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """The current date, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some moment in the past."""
        return time.monotonic()


@dataclass(slots=True)
class World:
    """What a part of Nagaya may know of the outside besides its inputs.

    `random` serves names, jitter and identifiers. Keys and tokens that must be unguessable come from the operating
    system through `cryptography` and `secrets`, and only there.
    """

    clock: Clock = field(default_factory=SystemClock)
    random: random.Random = field(default_factory=random.SystemRandom)

    def uid(self) -> str:
        """A new random identifier in the form that Kubernetes gives objects (UUID version 4)."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))
