"""The emulated data center as one answers-giver: a request to a host goes in, PVE's answer comes out.

The order of checks is PVE's, and clients can see it: who calls (401), what body is this (501, 506), is there such a
route (501), do path and body agree (400), does the route take tokens, may the caller (403), is the host that should
answer reachable (595), are the parameters right (400), and only then the code of the call. Rights are judged by the
host that was contacted. Tests and demos put themselves around answers (`around`), to make some fail, or count them.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine

from nagaya.simulators.proxmox.access.tickets import Tickets
from nagaya.simulators.proxmox.cluster.log import ClusterLog
from nagaya.simulators.proxmox.failure import Unanswered, Unconnected, Unproxied
from nagaya.simulators.proxmox.front.formatters import Result
from nagaya.simulators.proxmox.front.front import Front
from nagaya.simulators.proxmox.locks import Locks
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.qemu.actions.machines import Machines
from nagaya.simulators.proxmox.request import Answer, Request
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.proxmox.state.node import Node, Unreachable
from nagaya.simulators.proxmox.storages.sources import Sources
from nagaya.simulators.proxmox.tasks.runner import Tasks
from nagaya.world import World

Proceed = Callable[[Request], Awaitable[Answer]]
Around = Callable[[Request, Proceed], Awaitable[Answer]]
"""Stands between a client and the answer to it: may wait, refuse, answer itself, or lose the answer."""

CONNECTING = 127.0
"""Seconds after which a client's system gives up on an address that is silent."""


class Emulator:
    """A data center that answers."""

    def __init__(self, world: World, datacenter: Datacenter, pace: Pace | None = None) -> None:
        self.world = world
        self.datacenter = datacenter
        self.pace = pace or Pace()
        self.log = ClusterLog(world.clock)
        self.tasks = Tasks(world, self.log)
        self.locks = Locks(lambda: datacenter.quorate)
        self.tickets = Tickets(world)
        self.machines = Machines(self)
        self.around: list[Around] = []
        self.power_watchers: list[Callable[[Node], None]] = []
        """Told of a host that went off or came back, to end connections to it or take them again."""
        self._front = Front(self)
        self._running: dict[str, set[asyncio.Task[Result]]] = defaultdict(set)

    @property
    def version(self) -> str:
        """Which of the versions that it can be: 9.2 or 8.4."""
        return ".".join(self.datacenter.version.split(".")[:2])

    @property
    def sources(self) -> Sources:
        """The web as its hosts see it."""
        return self.datacenter.sources

    async def answer(self, request: Request) -> Answer:
        """Answer as the host does that was contacted. Raises Unconnected or Unanswered when nothing comes back."""
        proceed: Proceed = self._answer
        for around in reversed(self.around):
            proceed = _within(around, proceed)
        return await proceed(request)

    async def _answer(self, request: Request) -> Answer:
        node = self.datacenter.nodes[request.node]
        if not node.online:
            if node.unreachable is Unreachable.SILENT:
                await asyncio.sleep(CONNECTING)
            raise Unconnected(node.unreachable.value)
        answer = await self._front.answer(node, request)
        if not node.online:
            raise Unanswered
        return answer

    async def at(self, node: Node, code: Coroutine[None, None, Result]) -> Result:
        """Run the code of a call on a host; when the host dies, it ends with it."""
        task = self._start(node, code)
        try:
            return await task
        except asyncio.CancelledError:
            if task.cancelled() and not node.online:
                raise Unanswered from None
            task.cancel()
            raise

    async def passed_on(self, node: Node, code: Coroutine[None, None, Result]) -> Result:
        """Run the code of a call that another process waits for: not longer than it does, but to its end."""
        task = self._start(node, code)
        done, _ = await asyncio.wait([task], timeout=self.pace.proxy_timeout)
        if not done or task.cancelled():
            raise Unproxied(596, Unreachable.SILENT.value)
        return task.result()

    def _start(self, node: Node, code: Coroutine[None, None, Result]) -> asyncio.Task[Result]:
        task = asyncio.get_running_loop().create_task(code)
        running = self._running[node.name]
        running.add(task)
        task.add_done_callback(running.discard)
        return task

    def power_changed(self, node: Node) -> None:
        """A host has gone off or come back (`node.online` says which). With it go the calls that run there."""
        if not node.online:
            for task in list(self._running[node.name]):
                task.cancel()
        for watcher in self.power_watchers:
            watcher(node)

    async def close(self) -> None:
        """End all that runs."""
        for tasks in self._running.values():
            for task in tasks:
                task.cancel()
        await asyncio.gather(*(task for tasks in self._running.values() for task in tasks), return_exceptions=True)
        await self.tasks.close()
        await self.machines.close()


def _within(around: Around, proceed: Proceed) -> Proceed:
    async def within(request: Request) -> Answer:
        return await around(request, proceed)

    return within
