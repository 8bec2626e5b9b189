"""How a command that stays ends: a signal stops its work in good order, and a second one does not wait for anything."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, Final

import click

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """Ctrl-C, a polite kill and a closed terminal, from now on. To be made in a running event loop."""

    def __init__(self) -> None:
        self._came = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        for each in _SIGNALS:
            self._loop.add_signal_handler(each, self._stop)

    async def until(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do work until it ends by itself, which is False, or a signal comes: then it is cancelled, and ends in its own
        time. Raises what the work raises."""
        working = asyncio.create_task(work, name="work")
        signalled = asyncio.create_task(self._came.wait(), name="signals")
        try:
            await asyncio.wait([working, signalled], return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                click.echo("Stopping ...")
        finally:
            for task in (working, signalled):
                task.cancel()
            await asyncio.wait([working, signalled])
        if working.cancelled():
            return True
        working.result()
        return False

    def _stop(self) -> None:
        self._came.set()
        for each in _SIGNALS:
            self._loop.remove_signal_handler(each)
