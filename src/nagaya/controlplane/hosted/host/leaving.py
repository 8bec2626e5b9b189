"""API servers are ended when their clients have gone elsewhere.

The balancer is told who leaves, in its file, and tells how many connections are left, in another one beside it. Nothing
depends on it: an API server that ends with clients goes on serving for a moment, which the balancer notices by itself
(balancer/__init__.py); there is only less time then. So it does no harm if this is interrupted, or if the balancer does
not answer: marks that are left over disappear when the file is written the next time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from nagaya.controlplane.hosted.host.balancer.front import STATUS
from nagaya.controlplane.hosted.host.balancer.goodbye import IDLE
from nagaya.controlplane.hosted.host.roll import Role, Roll
from nagaya.controlplane.hosted.host.tenant_folder import Started, TenantFolder
from nagaya.supervision.status import ProcessStatus, State

log = logging.getLogger(__name__)

LIMIT: Final = IDLE + 5.0
"""Seconds that clients have. Who is still there by then is in the middle of something: it is left to the API server."""
_LOOK: Final = 0.1
Address = tuple[str, int]


class BalancerFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the balancer reads."""

    backends: tuple[Address, ...]
    authority: str
    names: tuple[str, ...] = ()
    """The processes that listen there."""
    leaving: tuple[Address, ...] = ()


class _Status(msgspec.Struct):
    leaving: tuple[tuple[str, int, int], ...] = ()


def who_leaves(
    steps: Roll, balancer: str, started: Mapping[str, Started], processes: Mapping[str, ProcessStatus]
) -> set[str]:
    """Who is about to be ended that clients may be connected to. Without a balancer that works, nobody."""
    front = processes.get(balancer)
    if front is None or front.state not in (State.READY, State.UNCLAIMED) or balancer in steps.stop:
        return set()
    found = set(steps.stop)
    for each in steps.start:
        before = started.get(each.name)
        if each.role is Role.API_SERVER and before is not None and before.digest != each.spec.digest:
            found.add(each.name)
    return {name for name in found if name in processes and processes[name].state in (State.READY, State.UNCLAIMED)}


@asynccontextmanager
async def left(folder: TenantFolder, names: Collection[str], limit: float = LIMIT) -> AsyncIterator[None]:
    """Inside, the clients of these API servers have gone elsewhere, and no others come."""
    known = _read(folder)
    leaving = (
        [] if known is None else [at for at, name in zip(known.backends, known.names, strict=False) if name in names]
    )
    if known is None or not leaving or len(leaving) == len(known.backends):
        yield
        return
    try:
        await _write(folder, msgspec.structs.replace(known, leaving=tuple(leaving)))
        try:
            async with asyncio.timeout(limit):
                while not _gone(folder, leaving):  # noqa: ASYNC110 - another process writes the file
                    await asyncio.sleep(_LOOK)
        except TimeoutError:
            log.info("clients of %s are still there after %.0f s", ", ".join(sorted(names)), limit)
        yield
    finally:
        await _write(folder, msgspec.structs.replace(known, leaving=()))


def _gone(folder: TenantFolder, leaving: Collection[Address]) -> bool:
    content = folder.read(folder.balancer_file.name + STATUS)
    try:
        told = _Status() if content is None else msgspec.json.decode(content, type=_Status)
    except msgspec.MsgspecError:
        return False
    remaining = {(address, port): count for address, port, count in told.leaving}
    return all(remaining.get(each) == 0 for each in leaving)


def _read(folder: TenantFolder) -> BalancerFile | None:
    content = folder.read(folder.balancer_file.name)
    try:
        return None if content is None else msgspec.json.decode(content, type=BalancerFile)
    except msgspec.MsgspecError:
        return None


async def _write(folder: TenantFolder, content: BalancerFile) -> None:
    await asyncio.to_thread(folder.write, {folder.balancer_file.name: msgspec.json.encode(content)})
