"""This machine as the home of tenants: their folders, their ports, their programs and processes.

It begins with the first tenant that needs it, because only then is it certain that this process is to do the work: one
that waits for its turn must not touch the folder. Everything here can be interrupted at any line; the next life finds
what is there.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from nagaya.api.controlplane.hosted_arguments import KINE
from nagaya.api.meta import ObjectMeta
from nagaya.controlplane.hosted.components.facts import LOOPBACK
from nagaya.controlplane.hosted.host import addresses, ownership
from nagaya.controlplane.hosted.host.leaving import (
    BalancerFile,
    drain,
    read_balancer_file,
    servers_to_drain,
    write_balancer_file,
)
from nagaya.controlplane.hosted.host.ownership import Claim, Owner, Standing
from nagaya.controlplane.hosted.host.ports import Ports
from nagaya.controlplane.hosted.host.processes import BALANCER
from nagaya.controlplane.hosted.host.programs import Maker, Programs, Stock
from nagaya.controlplane.hosted.host.roll import Roll
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.controlplane.hosted.host.tenant_folder import TenantFolder
from nagaya.controlplane.hosted.host.users import Users, can_isolate
from nagaya.supervision.events import Event
from nagaya.supervision.instance import kill
from nagaya.supervision.processes import processes_of, user_of
from nagaya.supervision.spec import ProcessSpec
from nagaya.supervision.status import ProcessStatus, State
from nagaya.supervision.supervisor import Supervisor
from nagaya.world import World

log = logging.getLogger(__name__)

_INOTIFY: Final = Path("/proc/sys/fs/inotify/max_user_instances")
_INOTIFY_OF_TENANT: Final = 15
Listener = Callable[[str, Event], None]
"""Told what happens to processes, with the uid of whom they belong to."""


class Host:
    """One machine. One for all controllers of a process."""

    def __init__(self, settings: HostSettings, world: World, make_installer: Maker | None = None) -> None:
        self.settings = settings
        self._supervisor = Supervisor(settings.processes, world, listener=self._heard)
        self.users = Users(settings.folder, settings.users, enabled=settings.isolated and can_isolate())
        self.ports = Ports(settings.tenants, lambda port: addresses.is_free(LOOPBACK, port))
        self._stock = Stock(world, self._stock_changed, make_installer)
        self._listeners: list[Listener] = []
        self._on_programs: list[Callable[[], None]] = []
        self._starting = asyncio.Lock()
        self._started = False
        self._users = 0

    def subscribe(self, heard: Listener, programs_changed: Callable[[], None]) -> None:
        """Hear what happens to processes, and that there is news of programs."""
        self._listeners.append(heard)
        self._on_programs.append(programs_changed)
        self._users += 1

    async def start(self) -> None:
        """Take the folder. Again: no effect. Raises FolderInUse if another process has it, and ValueError or OSError if
        it cannot be used."""
        async with self._starting:
            if not self._started:
                self.settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                await self._supervisor.start()
                try:
                    await asyncio.to_thread(self.users.load)
                    await asyncio.to_thread(self.ports.load)
                except BaseException:
                    await self._supervisor.close(leave_running=True)
                    raise
                self._started = True

    async def end_strangers(self, known: Collection[str]) -> None:
        """Stop what belongs to nobody that is known. Files stay: whoever has lost them may want them back.

        Whoever vanished while it was paused was moved to another management API, and its programs go on for that one.
        """
        for status in self._supervisor.list():
            whose = _owner(status.name)
            if status.state is not State.UNCLAIMED or whose in known:
                continue
            if await asyncio.to_thread(self._was_moved, whose):
                log.warning("%s was moved to another management API, and is left alone", status.name)
                continue
            log.warning("%s belongs to nobody any more, and is stopped", status.name)
            await self._supervisor.stop(status.name)

    def _was_moved(self, identity: str) -> bool:
        folders = (self.settings.tenants / identity, self.settings.stores / identity)
        try:
            return any(found is not None and found.paused for found in map(ownership.read, folders))
        except ValueError as error:
            log.warning("%s", error)
            return True  # who cannot be told apart from one that was moved is treated like one

    async def close(self) -> None:
        """Called by each who subscribed; the last one ends it."""
        self._users -= 1
        if self._users > 0:
            return
        await self._stock.close()
        if not self._started:
            return
        self._started = False
        if self.settings.stop_with_us:
            # Tenants before the stores that they write to as they end.
            tenants = await asyncio.to_thread(self._tenants)
            names = [each.name for each in self._supervisor.list() if _owner(each.name) in tenants]
            await _in_turn(self._supervisor.stop, names)
        await self._supervisor.close(leave_running=not self.settings.stop_with_us)

    def _tenants(self) -> set[str]:
        folder = self.settings.tenants
        return {each.name for each in folder.iterdir()} if folder.is_dir() else set()

    def folder(self, uid: str) -> TenantFolder:
        """The folder of a tenant."""
        return TenantFolder.of(self.settings.tenants, uid, self.users.of(uid))

    def admit(self, uid: str) -> TenantFolder:
        """The folder of a tenant that has a user from now on. To be called in a thread. Raises NoUserLeft."""
        self.users.give(uid, self.folder(uid).path / "run")
        return self.folder(uid)

    def store_folder(self, identity: str) -> Path:
        """The folder of a store that is on this machine. Raises ValueError as `folder` does."""
        return TenantFolder.of(self.settings.stores, identity).path

    def claim(self, metadata: ObjectMeta, identity: str, folder: Path) -> Claim:
        """How an object stands to a folder. One whose record makes no sense is nobody's."""
        try:
            return ownership.claim(metadata, identity, ownership.read(folder))
        except ValueError as error:
            return Claim(Standing.FOREIGN, why=str(error))

    def note_pause(self, metadata: ObjectMeta, identity: str, folder: Path) -> None:
        """Remember that the owner of a folder is paused, so that it is known later whether it was moved."""
        if self.claim(metadata, identity, folder).recorded:
            ownership.write(folder, Owner.of(metadata, paused=True))

    def not_isolated(self) -> str:
        """What is missing for programs of tenants to be kept apart from each other and from Nagaya; empty if nothing
        is."""
        if self.users.enabled:
            missing = ", ".join(self._supervisor.unlimited)
            return f"Nagaya may not make control groups here that limit {missing}." if missing else ""
        found = (
            f"All programs run as user {os.geteuid()}, as Nagaya itself does: whoever gets hold of one of them gets "
            "hold of all control planes and of Nagaya. Run Nagaya as root to give each control plane its own user."
        )
        tenants = len({_owner(status.name) for status in self._supervisor.list()})
        try:
            instances = int(_INOTIFY.read_text())
        except (OSError, ValueError):
            return found
        if tenants * _INOTIFY_OF_TENANT <= 0.8 * instances:
            return found
        return (
            f"{found} They share {instances} inotify instances, of which each needs {_INOTIFY_OF_TENANT}: "
            "sysctl fs.inotify.max_user_instances=1024"
        )

    def programs(self, version: str, names: Collection[str]) -> Programs:
        """Programs of a version of Kubernetes, or how far they are."""
        return self._stock.look(version, names)

    def processes(self, uid: str) -> dict[str, ProcessStatus]:
        """What runs of a tenant, by name."""
        prefix = f"{uid}."
        return {status.name: status for status in self._supervisor.list() if status.name.startswith(prefix)}

    async def carry_out(self, uid: str, steps: Roll, balancer: BalancerFile | None = None) -> None:
        """Start and stop what may be. What is started is written down before.

        `balancer`: what the balancer shall read, if there shall be one. API servers behind it are ended when it has
        confirmed that no request reaches them. If that takes too long, they stay, and the next call goes on.
        """
        folder = self.folder(uid)
        known = await asyncio.to_thread(read_balancer_file, folder)
        marked = frozenset() if known is None else known.marked()
        processes = self.processes(uid)
        draining = servers_to_drain(
            steps, f"{uid}.{BALANCER}", started=folder.started(), processes=processes, marked=marked
        )
        exchanges = [wanted for wanted in steps.start if wanted.name in draining]
        if any(wanted.name in marked for wanted in exchanges):
            # An exchange that was begun is completed before another one begins.
            later = {wanted.name for wanted in exchanges if wanted.name not in marked}
            draining -= later
            steps = replace(steps, start=tuple(wanted for wanted in steps.start if wanted.name not in later))
        # An API server whose turn has not come yet may be the old process still.
        turns = {*steps.stop, *(wanted.name for wanted in steps.start)}
        kept = {name for name in marked - turns if name in processes and processes[name].state is State.UNCLAIMED}
        content = balancer or known
        if content is not None:
            leaving = content.addresses_of(draining or kept)
            await write_balancer_file(folder, msgspec.structs.replace(content, leaving=leaving, closed=()))
        if not draining:
            await self._take(folder, steps)
            return
        await self._take(folder, Roll(tuple(wanted for wanted in steps.start if wanted.name not in draining)))
        if not await self.drained(folder, draining):
            return
        try:
            await self._take(
                folder, Roll(tuple(wanted for wanted in steps.start if wanted.name in draining), steps.stop)
            )
        except Exception:
            await self._unmark(folder, kept)
            raise
        await self._unmark(folder, kept)

    async def drained(self, folder: TenantFolder, names: Collection[str]) -> bool:
        """Whether the balancer has confirmed that no request reaches these API servers any more."""
        return await drain(folder, names)

    async def _unmark(self, folder: TenantFolder, kept: Collection[str]) -> None:
        known = await asyncio.to_thread(read_balancer_file, folder)
        if known is not None:
            leaving = known.addresses_of(kept)
            await write_balancer_file(folder, msgspec.structs.replace(known, leaving=leaving, closed=()))

    async def _take(self, folder: TenantFolder, steps: Roll) -> None:
        started = folder.started()
        after = {name: each for name, each in started.items() if name not in steps.stop}
        after |= {wanted.name: wanted.started for wanted in steps.start}
        if after != started:
            await asyncio.to_thread(folder.note_started, after)
        await _all([*(self.run(wanted.spec) for wanted in steps.start), _in_turn(self.forget, steps.stop)])

    async def run(self, spec: ProcessSpec) -> None:
        """Have a process run."""
        await self._supervisor.ensure(spec)

    async def forget(self, name: str) -> None:
        """Have a process not run, and keep nothing of it."""
        await self._supervisor.forget(name)

    def status(self, name: str) -> ProcessStatus | None:
        """How a process fares."""
        return self._supervisor.status(name)

    def last_words(self, name: str) -> str:
        """The last line that a process has said, for a message."""
        try:
            with self._supervisor.log_of(name).open("rb") as log_file:
                log_file.seek(0, 2)
                log_file.seek(max(log_file.tell() - 4096, 0))
                lines = log_file.read(4096).decode(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1][:1000] if lines else ""

    async def remove(self, uid: str) -> None:
        """Stop everything of a tenant. Raises SupervisionError if something cannot be ended."""
        await _in_turn(self.forget, [*self.processes(uid)])
        user = self.users.of(uid)
        # What has hidden from us still has the user that nobody else has.
        while user is not None and (left := await asyncio.to_thread(processes_of, user)):
            await kill(left, lambda pid: user_of(pid) == user)

    async def remove_files(self, uid: str) -> None:
        """Remove the files of a tenant whose processes have ended, but for the record of whose they were."""
        await asyncio.to_thread(self.folder(uid).empty)
        self.ports.forget(uid)

    async def remove_folder(self, uid: str) -> None:
        """Remove what is left of a tenant."""
        await asyncio.to_thread(self.folder(uid).remove)
        await asyncio.to_thread(self.users.forget, uid)

    def _heard(self, event: Event) -> None:
        uid = _owner(event.name)
        for each in self._listeners:
            each(uid, event)

    def _stock_changed(self) -> None:
        for each in self._on_programs:
            each()


def _owner(process: str) -> str:
    """The uid of whom a process belongs to, which its name begins with."""
    return process.partition(".")[0]


async def _in_turn(end: Callable[[str], Awaitable[None]], names: Collection[str]) -> None:
    """End processes, kine last: an API server that ends has something to write, and waits for kine if it is gone."""
    stores = [name for name in names if name.endswith(f".{KINE}")]
    await _all(end(name) for name in names if name not in stores)
    await _all(map(end, stores))


async def _all(each: Iterable[Awaitable[None]]) -> None:
    """All at once; the first failure is raised when the last has ended."""
    for end in await asyncio.gather(*each, return_exceptions=True):
        if isinstance(end, BaseException):
            raise end
