"""The door: what shall run on this machine, and what does.

One supervisor has one folder; a lock keeps a second away from it. Processes that an earlier supervisor of the folder
left running are found at the start and stay as they are until they are asked for: `ensure` adopts one whose spec is
the same and replaces one whose spec has changed, and `retain` ends those that nobody wants any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import shutil
from collections.abc import Collection, Coroutine, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from nagaya.supervision.backoff import Backoff
from nagaya.supervision.cgroups import CONTROLLERS, Cgroups
from nagaya.supervision.errors import FolderInUse, SupervisionError
from nagaya.supervision.events import Event, Listener
from nagaya.supervision.logs import LogLimits, rotate
from nagaya.supervision.place import Place
from nagaya.supervision.spec import ProcessSpec
from nagaya.supervision.status import ProcessStatus
from nagaya.supervision.unit import Unit
from nagaya.world import World

log = logging.getLogger(__name__)

_PATIENCE, _RETRY = 2.0, 0.05
_REMOVED = ".removed-"
"""How the name of a folder begins that is being removed."""


class Supervisor:
    """Keeps processes running. `async with` starts it, and stops everything at the end."""

    def __init__(
        self,
        folder: Path,
        world: World,
        *,
        listener: Listener | None = None,
        backoff: Backoff | None = None,
        logs: LogLimits | None = None,
    ) -> None:
        """`listener` is told every event, in the event loop; it must not block."""
        self._folder = folder.absolute()
        self._world = world
        self._listener = listener
        self._backoff = backoff or Backoff()
        self._logs = logs or LogLimits()
        self._cgroups = Cgroups.find(folder)
        self._units: dict[str, Unit] = {}
        self._lock: int | None = None
        self._rotating: asyncio.Task[None] | None = None

    @property
    def unlimited(self) -> list[str]:
        """What cannot be limited on this machine: the names of controllers. Processes that hide are found by them."""
        return [name for name in CONTROLLERS if name not in self._cgroups.bases]

    def log_of(self, name: str) -> Path:
        """Where a process's words are; `.1` and so on beside it are older ones."""
        return self._place(name).log

    async def start(self) -> None:
        """Take the folder and find what runs in it. Raises FolderInUse."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = await self._take_folder()
        for entry in sorted(self._folder.iterdir()):
            if entry.name.startswith(_REMOVED):
                await asyncio.to_thread(shutil.rmtree, entry, ignore_errors=True)
            # Only what is a process's place: what else lies here is not ours to remove.
            if Place(entry, self._cgroups).is_one:
                self._unit(entry.name)
        self._rotating = asyncio.create_task(self._rotate_logs(), name="log rotation")

    async def ensure(self, spec: ProcessSpec) -> None:
        """Let this run, and nothing else of its name; a change of the spec is a restart.

        Returns when it was started or adopted, or when the first attempt failed: the attempts go on, and events tell.
        """
        assert self._lock is not None, "the supervisor was not started"
        await self._unit(spec.name).ensure(spec)

    async def stop(self, name: str) -> None:
        """Let it not run. Its folder with its log stays. Raises StillRunning if it cannot be ended."""
        if (unit := self._units.get(name)) is not None:
            await unit.stop()

    async def forget(self, name: str) -> None:
        """Stop it and remove all that is kept of it."""
        await self.stop(name)
        self._units.pop(name, None)
        await asyncio.to_thread(self._remove_folder, name)

    async def retain(self, names: Collection[str]) -> None:
        """Forget all processes but these: what an earlier supervisor ran and nobody wants any more."""
        unwanted = [name for name in self._units if name not in names]
        await _all(self.forget(name) for name in unwanted)

    def list(self) -> list[ProcessStatus]:
        """Every process that is known here, by name."""
        return [self._units[name].status for name in sorted(self._units)]

    def status(self, name: str) -> ProcessStatus | None:
        """One process."""
        unit = self._units.get(name)
        return None if unit is None else unit.status

    async def close(self, *, leave_running: bool = False) -> None:
        """Stop everything, or leave it to the supervisor that comes next; give up the folder."""
        try:
            await _all(unit.release() if leave_running else unit.stop() for unit in self._units.values())
        finally:
            self._units.clear()
            if self._rotating is not None:
                self._rotating.cancel()
                await asyncio.wait({self._rotating})
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _remove_folder(self, name: str) -> None:
        """Rename the folder before it is removed: without its lock, a half of it would not be found after a crash."""
        removed = self._folder / f"{_REMOVED}{name}"
        shutil.rmtree(removed, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            self._place(name).folder.rename(removed)
        shutil.rmtree(removed, ignore_errors=True)

    def _place(self, name: str) -> Place:
        return Place(self._folder / name, self._cgroups)

    def _unit(self, name: str) -> Unit:
        unit = self._units.get(name)
        if unit is None:
            unit = Unit(name, self._place(name), self._world, self._backoff, self._tell)
            self._units[name] = unit
        return unit

    def _tell(self, event: Event) -> None:
        log.info("%s", event)
        if self._listener is None:
            return
        try:
            self._listener(event)
        except Exception:  # a listener's mistake must not end what it listens to
            log.exception("a listener failed at: %s", event)

    async def _rotate_logs(self) -> None:
        while True:
            await asyncio.sleep(self._logs.interval)
            await asyncio.to_thread(self._rotate_once, [self._place(name).log for name in self._units])

    def _rotate_once(self, paths: Collection[Path]) -> None:
        for path in paths:
            try:
                rotate(path, self._logs)
            except OSError as error:
                log.warning("cannot rotate %s: %s", path, error.strerror or error)

    async def _take_folder(self) -> int:
        path = self._folder / "supervisor.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        # A supervisor that was killed while it started a child is survived by its lock for the blink until the exec.
        for _ in range(int(_PATIENCE / _RETRY)):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, str(os.getpid()).encode(), 0)
                return descriptor
            await asyncio.sleep(_RETRY)
        holder = os.pread(descriptor, 20, 0).decode(errors="replace")
        os.close(descriptor)
        raise FolderInUse(
            f"{self._folder} is supervised by process {holder or 'unknown'} already. "
            "Stop that one, or use another folder."
        )


async def _all(each: Iterable[Coroutine[object, object, None]]) -> None:
    """All at once; the first failure is raised when the last has ended."""
    failures = [end for end in await asyncio.gather(*each, return_exceptions=True) if isinstance(end, BaseException)]
    for failure in failures:
        if not isinstance(failure, SupervisionError):
            raise failure
    if failures:
        raise SupervisionError(" ".join(map(str, failures)))
