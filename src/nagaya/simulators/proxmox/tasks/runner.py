"""Runs tasks and keeps what they said.

A call that starts a task is answered with its UPID at once; whether the work succeeds is known only from the task. A
task ends `OK`, with warnings, with the text of its error, `received interrupt` when somebody stopped it, or
`unexpected status` when its worker died, as it does with its host.

A stopped worker may clean up, a killed one cannot: to code that undoes half-done work a request to stop looks like any
other failure (`interruptible`), while death is a cancellation, after which nothing is undone.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from nagaya.simulators.proxmox.cluster.log import ERROR, INFORMATION, ClusterLog
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.tasks.upid import Upid
from nagaya.world import World

TICKS = 100
"""Per second, in which the kernel tells when a process started."""
PATIENCE = 5.0
"""Seconds that a worker has to end after it was asked to; then it is killed."""
UNREADABLE = "unable to read tail (got 0 bytes)"
"""What is read as the end of a task that died before it said anything."""


class Log(Protocol):
    """Where work says what it does: the log of a task, or nowhere when a call does the work itself."""

    def say(self, line: str) -> None:
        """A line."""

    def warn(self, message: str) -> None:
        """A warning: it shows in how the task ended."""

    async def step(self, name: str) -> None:
        """The work comes to a certain point."""


class Silence:
    """Nobody listens."""

    def say(self, line: str) -> None:
        """Nothing."""

    def warn(self, message: str) -> None:
        """Nothing."""

    async def step(self, name: str) -> None:
        """Nothing."""


@dataclass(slots=True)
class Task:
    """A task, running or ended."""

    upid: Upid
    log: list[str] = field(default_factory=list)
    warnings: int = 0
    exitstatus: str | None = None
    endtime: int | None = None
    worker: asyncio.Task[None] | None = None
    interrupted: bool = False
    """Whether somebody asked it to end."""
    before_step: Step | None = None

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.exitstatus is None

    def say(self, line: str) -> None:
        """Write a line into its log."""
        self.log.append(line)

    def warn(self, message: str) -> None:
        """Write a warning into its log: it counts."""
        self.warnings += 1
        self.log.append(f"WARN: {message.rstrip()}")

    async def step(self, name: str) -> None:
        """Tell that the work comes to a certain point: a mishap may be waiting there."""
        if self.before_step is not None:
            await self.before_step(self, name)


Work = Callable[[Task], Awaitable[None]]
Step = Callable[[Task, str], Awaitable[None]]


@contextmanager
def interruptible(log: Log, refusal: str = "received interrupt\n") -> Iterator[None]:
    """Turn a request to stop into a failure, so that whoever undoes half-done work after failures does so now."""
    try:
        yield
    except asyncio.CancelledError:
        if not isinstance(log, Task) or not log.interrupted or not log.running or log.worker is None:
            raise
        log.worker.uncancel()
        raise Failure(refusal) from None


class Tasks:
    """All tasks of the data center."""

    def __init__(self, world: World, log: ClusterLog | None = None) -> None:
        self._world = world
        self._log = log or ClusterLog(world.clock)
        self._pids = itertools.count(1000)
        self.known: dict[str, Task] = {}
        """By UPID, in the order in which they were started."""
        self.ended: list[Task] = []
        """In the order in which they ended."""
        self.before_step: Step | None = None
        """Called before each step of each task; it may wait, or raise a Failure."""

    def pid(self) -> int:
        """A number for a process."""
        return next(self._pids)

    def start(self, node: str, kind: str, id: str, user: str, work: Work) -> Task:
        """Set work going on a host."""
        now = self._world.clock.now()
        pstart = int(self._world.clock.monotonic() * TICKS) & 0xFFFFFFFF
        task = Task(Upid(node, self.pid(), pstart, int(now.timestamp()), kind, id, user), before_step=self.before_step)
        self.known[str(task.upid)] = task
        self._log.say(node, user, f"starting task {task.upid}")
        task.worker = asyncio.get_running_loop().create_task(self._run(task, work))
        return task

    async def _run(self, task: Task, work: Work) -> None:
        try:
            await task.step("begin")
            await work(task)
        except Failure as failure:
            self._end(task, failure.text.removesuffix("\n").replace("\n", " "))
        except asyncio.CancelledError:
            if task.interrupted:
                self._end(task, "received interrupt")
            raise
        else:
            self._end(task, f"WARNINGS: {task.warnings}" if task.warnings else "OK")

    def _end(self, task: Task, status: str) -> None:
        if not task.running:
            return
        if status == "OK" or status.startswith("WARNINGS: "):
            task.say(f"TASK {status}")
        else:
            task.say(f"TASK ERROR: {status}")
        self._over(task, status)

    def _over(self, task: Task, status: str) -> None:
        task.exitstatus = status
        task.endtime = int(self._world.clock.now().timestamp())
        self.ended.append(task)
        good = status == "OK" or status.startswith("WARNINGS: ")
        told = f"end task {task.upid} {status}"
        upid = task.upid
        self._log.say(upid.node, upid.user, told, level=INFORMATION if good else ERROR, pid=upid.pid)

    async def stop(self, task: Task) -> None:
        """Ask it to end, and wait until it has; it may clean up, but not for ever."""
        if not task.running or task.worker is None:
            return
        task.interrupted = True
        task.worker.cancel()
        await asyncio.wait([task.worker], timeout=PATIENCE)
        self.kill(task)

    def kill(self, task: Task) -> None:
        """Its worker dies at once and says nothing."""
        if task.running:
            task.interrupted = False
            self._over(task, "unexpected status" if task.log else UNREADABLE)
            if task.worker is not None:
                task.worker.cancel()

    def kill_all(self, node: str) -> None:
        """The workers of a host die with it."""
        for task in self.of(node):
            self.kill(task)

    def of(self, node: str) -> list[Task]:
        """Those of a host, the newest first."""
        return [task for task in reversed(self.known.values()) if task.upid.node == node]

    def active(self, node: str, kind: str, id: str) -> list[Task]:
        """Those that run on a host for something, the oldest first."""
        return [
            task
            for task in self.known.values()
            if task.running and (task.upid.node, task.upid.type, task.upid.id) == (node, kind, id)
        ]

    async def close(self) -> None:
        """End all."""
        workers = [task.worker for task in self.known.values() if task.worker is not None and not task.worker.done()]
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
