"""Memory goes back to the system after a burst.

The allocator of glibc keeps what is free in the middle of its heap, and the buffers of a few hundred TLS connections
leave the heap full of holes: without this, two thirds of what a burst had taken stayed with the process.
"""

from __future__ import annotations

import asyncio
import ctypes
from typing import Final

from nagaya.apiserver.web.limits import MIB

_BURST: Final = 32 * MIB  # less is not worth the while
_CALM: Final = 5.0  # seconds after which a burst is over, and at least between two looks at the heap


class Heap:
    """Counts what was freed."""

    def __init__(self) -> None:
        self._freed = 0
        self._timer: asyncio.TimerHandle | None = None

    def freed(self, size: int) -> None:
        """So many bytes are no longer needed."""
        self._freed += size
        if self._freed >= _BURST and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_CALM, self._trim)

    def close(self) -> None:
        """Count no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _trim(self) -> None:
        self._timer, self._freed = None, 0
        asyncio.get_running_loop().run_in_executor(None, trim)


def trim() -> None:
    """Give free memory back to the system. Other C libraries have no such call, and need none."""
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back is not None:
        give_back(0)
