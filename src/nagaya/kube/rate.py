"""A limit on how fast a client asks, so that a busy controller does not crowd out everyone else.

A bucket holds `burst` tokens and gains `qps` of them a second; a call takes one. Whoever comes takes the next moment
that is free, so callers go in the order in which they came and none needs a lock. What always holds: within any span of
t seconds at most burst + qps * t calls go through.
"""

from __future__ import annotations

import asyncio

from nagaya.world import Clock


class RateLimit:
    """A token bucket. Nothing runs in the background."""

    def __init__(self, qps: float, burst: int, clock: Clock) -> None:
        if qps <= 0 or burst < 1:
            raise ValueError(f"a limit needs a positive rate and a burst of at least one, not {qps} and {burst}")
        self._interval = 1 / qps
        self._slack = (burst - 1) / qps
        self._clock = clock
        self._full_at = float("-inf")  # when the bucket is full again if nobody takes a token

    async def wait(self) -> float:
        """Take a token, waiting for it if need be. Returns the seconds waited."""
        now = self._clock.monotonic()
        start = max(self._full_at, now)
        self._full_at = start + self._interval
        delay = start - self._slack - now
        if delay <= 0:
            return 0.0
        try:
            await asyncio.sleep(delay)
        except asyncio.CancelledError:
            if self._full_at == start + self._interval:  # nobody is behind: the moment is free again
                self._full_at = start
            raise
        return delay
