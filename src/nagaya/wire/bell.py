"""Wakes all who wait for something to change, so that each looks whether it was for them."""

from __future__ import annotations

import asyncio


class Bell:
    """Rung by whoever changes a state; heard by those who wait at that moment, and by nobody later."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        """Wake everyone."""
        for each in self._waiting:
            if not each.done():
                each.set_result(None)

    async def wait(self) -> None:
        """Until it is rung."""
        mine = asyncio.get_running_loop().create_future()
        self._waiting.add(mine)
        try:
            await mine
        finally:
            self._waiting.discard(mine)
