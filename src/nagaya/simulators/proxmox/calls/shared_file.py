"""Changes of a file that all hosts share: one at a time in the whole cluster, and only with quorum."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nagaya.simulators.proxmox.calls.call import Call
from nagaya.simulators.proxmox.failure import Failure


@asynccontextmanager
async def changing(call: Call, lock: str, failed: str = "") -> AsyncIterator[None]:
    """Hold the lock of a file. What goes wrong is told with what failed in front, as a plain error."""
    try:
        async with call.emulator.locks.cluster(lock):
            yield
    except Failure as failure:
        if not failed:
            raise
        raise Failure(f"{failed}: {failure.text}") from failure


def check_digest(call: Call, digest: str) -> None:
    """Refuse a caller who has seen another version of the file."""
    if call.get("digest") and call["digest"] != digest:
        raise Failure("detected modified configuration - file changed by other user? Try again.\n")


def check_quorum(call: Call) -> None:
    """Refuse what needs the agreement of the cluster."""
    if not call.emulator.datacenter.quorate:
        raise Failure("cluster not ready - no quorum?\n")
