"""API servers behind the balancer are ended only after the balancer has confirmed that no request reaches them.

`balancer.json` lists the API servers that shall leave, and `balancer.json.status` beside it says how far they are
(balancer/__init__.py). Both carry a generation, so a status that an earlier exchange left behind confirms nothing.

Every step can be interrupted. Marks in `balancer.json` are removed only when the exchange is complete. A mark that is
found therefore means that an exchange was begun: the API server may be an old process although `started.json` already
describes the new one, and is drained again before anything is done with it. The mark of one that nobody has claimed yet
is kept until its turn comes. If the exchange is no longer wanted, the next write removes the mark (plan.py).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Final

import msgspec

from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.controlplane.hosted.host.balancer.front import STATUS
from nagaya.controlplane.hosted.host.roll import Role, Roll
from nagaya.controlplane.hosted.host.tenant_folder import BALANCER_FILE, Started, TenantFolder
from nagaya.supervision.status import ProcessStatus, State

log = logging.getLogger(__name__)

DRAIN_TIMEOUT: Final = 60.0
"""Seconds for which one reconcile waits for the balancer. The next one goes on waiting: nothing is ended undrained."""
_POLL_INTERVAL: Final = 0.1
_LONGEST_STATUS: Final = 1 << 20
_RUNNING: Final = (State.STARTING, State.READY, State.UNCLAIMED)
"""States in which clients may be connected. One that is starting may have become ready a moment ago."""
Address = tuple[str, int]


class BalancerFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the balancer reads."""

    backends: tuple[Address, ...]
    authority: str
    names: tuple[str, ...] = ()
    """The processes that listen there."""
    leaving: tuple[Address, ...] = ()
    closed: tuple[Address, ...] = ()
    generation: int = 0

    def addresses_of(self, names: Collection[str]) -> tuple[Address, ...]:
        """The addresses of processes, as far as the balancer knows them."""
        return tuple(at for at, name in zip(self.backends, self.names, strict=False) if name in names)

    def marked(self) -> frozenset[str]:
        """The processes that are marked as leaving."""
        pairs = zip(self.backends, self.names, strict=False)
        return frozenset(name for address, name in pairs if address in self.leaving)


class BalancerStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What the balancer writes."""

    observed_generation: int = -1
    leaving: tuple[tuple[str, int, int], ...] = ()
    closed: tuple[Address, ...] = ()

    def is_drained(self, addresses: Collection[Address]) -> bool:
        """Whether no connection is left that has to be ended before."""
        remaining = {(host, port): count for host, port, count in self.leaving}
        return all(remaining.get(address) == 0 for address in addresses)

    def is_closed(self, addresses: Collection[Address]) -> bool:
        """Whether no request reaches them any more."""
        return set(addresses) <= set(self.closed)


def servers_to_drain(
    steps: Roll,
    balancer: str,
    *,
    started: Mapping[str, Started],
    processes: Mapping[str, ProcessStatus],
    marked: Collection[str] = (),
) -> set[str]:
    """API servers that are about to be ended and may have clients. None if the balancer ends as well, or never was.

    A balancer that does not run right now comes back at any moment, and has to confirm then.
    """
    starts = {wanted.name for wanted in steps.start}
    if balancer in steps.stop or not (balancer in processes or balancer in starts):
        return set()
    found = {name for name in steps.stop if f".{KUBE_APISERVER}-" in name}
    for wanted in steps.start:
        before = started.get(wanted.name)
        is_changed = before is not None and before.digest != wanted.spec.digest
        if wanted.role is Role.API_SERVER and (is_changed or wanted.name in marked):
            found.add(wanted.name)
    return {name for name in found if name in processes and processes[name].state in _RUNNING}


def read_balancer_file(folder: TenantFolder) -> BalancerFile | None:
    """The balancer's file; None if there is none that makes sense."""
    content = folder.read(BALANCER_FILE)
    try:
        return None if content is None else msgspec.json.decode(content, type=BalancerFile)
    except msgspec.MsgspecError:
        return None


def marked_servers(folder: TenantFolder) -> frozenset[str]:
    """API servers whose exchange was begun and is not complete."""
    known = read_balancer_file(folder)
    return frozenset() if known is None else known.marked()


def waits_for_connections(folder: TenantFolder) -> str:
    """What an exchange that was begun waits for, in a sentence; empty if it does not wait for connections."""
    known, status = read_balancer_file(folder), _read_status(folder)
    if known is None or status.observed_generation != known.generation:
        return ""
    programs = {address: name.partition(".")[2] for address, name in zip(known.backends, known.names, strict=False)}
    waits = [
        f"{count} connection{'s' if count > 1 else ''} to {programs.get((host, port), host)}"
        for host, port, count in status.leaving
        if count
    ]
    return f"Waiting for {', '.join(waits)} to end." if waits else ""


async def write_balancer_file(folder: TenantFolder, wanted: BalancerFile) -> BalancerFile:
    """Have this content, as a new generation if anything changes. Returns what the file contains now."""
    before = read_balancer_file(folder)
    generation = 0 if before is None else before.generation
    if before is not None and msgspec.structs.replace(wanted, generation=generation) == before:
        return before
    content = msgspec.structs.replace(wanted, generation=generation + 1)
    await asyncio.to_thread(folder.write_for_balancer, {folder.balancer_file.name: msgspec.json.encode(content)})
    return content


async def drain(folder: TenantFolder, names: Collection[str], timeout: float = DRAIN_TIMEOUT) -> bool:
    """Move all clients of these API servers elsewhere. Returns whether the balancer has confirmed that no request
    reaches them any more; until then they must not be ended."""
    known = read_balancer_file(folder)
    if known is None:
        return True
    leaving = known.addresses_of(names)
    if not leaving:
        return True
    deadline = asyncio.get_running_loop().time() + timeout
    known = await write_balancer_file(folder, msgspec.structs.replace(known, leaving=leaving, closed=()))
    if await _is_confirmed(folder, known.generation, lambda status: status.is_drained(leaving), deadline):
        known = await write_balancer_file(folder, msgspec.structs.replace(known, closed=leaving))
        if await _is_confirmed(folder, known.generation, lambda status: status.is_closed(leaving), deadline):
            return True
        await write_balancer_file(folder, msgspec.structs.replace(known, closed=()))
    log.info("the balancer has not confirmed after %.0f s that %s can end", timeout, ", ".join(sorted(names)))
    return False


async def _is_confirmed(
    folder: TenantFolder, generation: int, holds: Callable[[BalancerStatus], bool], deadline: float
) -> bool:
    while True:
        status = _read_status(folder)
        if status.observed_generation == generation and holds(status):
            return True
        if asyncio.get_running_loop().time() >= deadline:
            return False
        await asyncio.sleep(_POLL_INTERVAL)  # another process writes the file


def _read_status(folder: TenantFolder) -> BalancerStatus:
    try:
        with (folder.path / f"{BALANCER_FILE}{STATUS}").open("rb") as file:
            return msgspec.json.decode(file.read(_LONGEST_STATUS), type=BalancerStatus)
    except (FileNotFoundError, msgspec.MsgspecError):
        return BalancerStatus()
