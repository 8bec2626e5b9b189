"""Waiting for a task while telling how far it is. Downloads and copies say so in their log, and nowhere else."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Final

from nagaya.infrastructure.proxmox.client import Proxmox, Upid
from nagaya.infrastructure.proxmox.client.calls import path_of
from nagaya.infrastructure.proxmox.client.errors import ProxmoxError

EVERY: Final = 2.0
"""Seconds between two looks at the log."""
_LINES: Final = 500
_PERCENT: Final = re.compile(r"(?<![\d.])(\d{1,3})(?:\.\d+)?%")

Progress = Callable[[int], None]
"""Told how much of a hundred is done."""


def percent(line: str) -> int | None:
    """How far a line of the log says that a task is."""
    found = _PERCENT.search(line)
    return min(100, int(found[1])) if found is not None else None


async def follow(proxmox: Proxmox, task: Upid, progress: Progress) -> None:
    """Wait for its end. Raises what `Tasks.wait` raises."""
    waiting = asyncio.ensure_future(proxmox.tasks.wait(task))
    path, read, told = path_of("nodes", task.node, "tasks", task.text, "log"), 0, -1
    try:
        while not (await asyncio.wait([waiting], timeout=EVERY))[0]:
            try:
                lines = await proxmox.calls.rows(path, {"start": read, "limit": _LINES})
            except ProxmoxError:
                continue  # how far it is does not matter to whether it ends
            numbered = [line for line in lines if int(line.get("n") or 0) > read]
            read += len(numbered)
            far = [each for line in numbered if (each := percent(str(line.get("t", "")))) is not None]
            if far and far[-1] != told:
                told = far[-1]
                progress(told)
        await waiting
    finally:
        waiting.cancel()
