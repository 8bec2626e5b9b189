"""Waiting for something that announces nothing: a file, a thread, a timer, another process.

Tests wait for a state, never for a time. The limit only ends a test that would hang; a busy machine must not reach it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LIMIT = 120.0
_INTERVAL = 0.005


async def eventually(holds: Callable[[], object], limit: float = LIMIT) -> None:
    """Wait, on the clock of the event loop, until this is true. Raises TimeoutError after the limit."""
    async with asyncio.timeout(limit):
        while not holds():  # noqa: ASYNC110 - see above
            await asyncio.sleep(_INTERVAL)
