"""One life of a process: how its end is noticed, and how it is ended.

A pidfd names this very process, never one that got its number later, and becomes readable when it ends, whether or not
we are its parent. That is how a life that an earlier supervisor began is watched like one of our own. Only its exit
code stays unknown: the kernel tells it to the parent alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Awaitable, Callable

from nagaya.supervision.errors import StillRunning
from nagaya.supervision.processes import Identity

KILL_PATIENCE = 10.0
"""Seconds that a killed process may take to be gone. Longer takes only one that hangs in the kernel."""


class Instance:
    """A running process and everything that it started."""

    def __init__(
        self,
        identity: Identity,
        pidfd: int,
        digest: str,
        grace: float,
        clear: Callable[[], Awaitable[None]],
        process: subprocess.Popen[bytes] | None = None,
    ) -> None:
        """`clear` ends what the process may have left behind; `process` is there if it is our own child."""
        self.identity = identity
        self.digest = digest
        self.grace = grace
        self._pidfd = pidfd
        self._clear = clear
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._exit: asyncio.Future[int | None] = self._loop.create_future()
        self._loop.add_reader(pidfd, self._collect)

    @property
    def pid(self) -> int:
        """Its process id, which is the id of its process group as well."""
        return self.identity.pid

    @property
    def age(self) -> float:
        """Seconds since it was started."""
        return self.identity.age

    async def ended(self) -> int | None:
        """Its exit code, once it has ended; None if it is not our child. What it leaves, the next life clears."""
        return await asyncio.shield(self._exit)

    async def end(self, grace: float) -> None:
        """End it: asked first, killed after `grace` seconds. Raises StillRunning if even that does not help."""
        self._signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(asyncio.shield(self._exit), grace)
        except TimeoutError:
            self._signal(signal.SIGKILL)
            try:
                await asyncio.wait_for(asyncio.shield(self._exit), KILL_PATIENCE)
            except TimeoutError:
                raise StillRunning(
                    f"process {self.pid} does not end although it was killed {KILL_PATIENCE:.0f} s ago: "
                    "it hangs in the kernel, most likely for a disk that does not answer."
                ) from None
        await self._clear()

    def release(self) -> None:
        """Leave it running and watch it no more."""
        if not self._exit.done():
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._exit.cancel()
        if self._process is not None and self._process.returncode is None:
            # It is no longer ours to collect; without this Python complains that it still runs.
            self._process.returncode = 0

    def _signal(self, number: signal.Signals) -> None:
        """To the whole group. Its leader still lives when this is sent, so the number is still the group's."""
        if not self._exit.done() and not _is_readable(self._pidfd):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def _collect(self) -> None:
        self._loop.remove_reader(self._pidfd)
        code = None
        if self._process is not None:
            # As long as the leader is not collected nobody else can have the number of its group.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            code = self._process.wait()
        os.close(self._pidfd)
        self._exit.set_result(code)


def _is_readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


async def kill(pids: list[int], still: Callable[[int], bool]) -> None:
    """Kill processes that nobody watches, and wait until they are gone. `still` confirms that a number is theirs."""
    loop = asyncio.get_running_loop()
    ends = []
    for pid in pids:
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        # The pidfd is taken first: what is confirmed now cannot become another process any more.
        if not still(pid):
            os.close(pidfd)
            continue
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        end = loop.create_future()
        loop.add_reader(pidfd, _note, loop, pidfd, end)
        ends.append((pidfd, end))
    try:
        await asyncio.wait_for(asyncio.gather(*(end for _, end in ends)), KILL_PATIENCE)
    except TimeoutError:
        raise StillRunning(f"killed processes do not end: {', '.join(map(str, pids))}.") from None
    finally:
        for pidfd, end in ends:
            if not end.done() or end.cancelled():
                loop.remove_reader(pidfd)
            os.close(pidfd)


def _note(loop: asyncio.AbstractEventLoop, pidfd: int, end: asyncio.Future[None]) -> None:
    loop.remove_reader(pidfd)
    if not end.done():
        end.set_result(None)
