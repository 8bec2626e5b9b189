"""How the cost of something grows with its size, measured so that a busy machine does not matter much.

Times are CPU seconds of this process, the least of several tries. What costs less than `NOTHING` is not looked at: too
little to hold anybody up, and too little to be measured.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable

TIMES = 4
"""Sizes are compared with four times as large ones: twice doubled."""
MOST = 8.0
"""n log n makes four times the size cost about five times as much, n squared sixteen times."""
NOTHING = 0.04
_TRIES = 4

Cost = Callable[[int], Awaitable[float]]


async def cpu_seconds(work: Callable[[], Awaitable[object]]) -> float:
    """What one go costs. The collector of garbage would be charged to whoever is unlucky."""
    gc.disable()
    try:
        began = time.process_time()
        await work()
        return time.process_time() - began
    finally:
        gc.enable()


async def growth(cost: Cost, size: int) -> float:
    """By which factor the cost grows when the size is twice doubled; at most `MOST` if it is as good as linear."""
    small, large = await cost(size), await cost(size * TIMES)
    for _ in range(_TRIES):
        if large < NOTHING or large <= MOST * small:
            break
        small, large = min(small, await cost(size)), min(large, await cost(size * TIMES))
    return 1.0 if large < NOTHING else large / small
