"""The tasks that are waited for, each asked about once however many wait.

PVE does not tell when a task ends: it has to be asked. What is promised of that (and measured by the benchmark):

- A task is asked about on the host in its UPID, for the first time 0.5 s after it was handed in, then after a fifth of
  its age, but not more often than every 0.5 s and not less often than every 5 s: the wait after its end is at most a
  fifth of what it took, or half a second.
- When several tasks of a host are watched and one of them is due, all are looked for in one list of what runs there
  (`source=active`); only those that are not in it are asked about by themselves. So a host hears from us at most every
  0.5 s, apart from the last question about each task. The list of the whole cluster is no use: a token does not see its
  own tasks in it, and it is as old as the hosts' last reports.
- A host that is dead is not asked until its breaker lets a call through; whoever waits is told at once.

Controllers do not wait: they store the UPID, `look` at it, and are told by `listen` when it is worth looking again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from nagaya.foreign_text import escape_line
from nagaya.infrastructure.proxmox.client.calls import Calls, Parameters, path_of
from nagaya.infrastructure.proxmox.client.errors import Evidence, Malformed, NotFound, ParameterError, ProxmoxError
from nagaya.infrastructure.proxmox.client.task_state import Phase, TaskState, phase_of
from nagaya.infrastructure.proxmox.client.upid import Upid, upid

SHORTEST: Final = 0.5  # seconds between two questions about a task
LONGEST: Final = 5.0
SHARE: Final = 0.2  # of a task's age
LOG_LINES: Final = 20
LINE_LENGTH: Final = 500  # characters of a line
REMEMBERED: Final = 2000  # ended tasks
_LISTED: Final = 500
_LOG_PAGE: Final = 500

Listener = Callable[[TaskState], None]


class _Watched:
    """A task that has not ended."""

    __slots__ = ("ended", "listeners", "since", "state", "trouble", "when")

    def __init__(self, task: Upid, now: float) -> None:
        self.state = TaskState(task, Phase.RUNNING)
        self.since = now
        self.when = now + SHORTEST
        self.listeners: list[Listener] = []
        self.ended: asyncio.Event = asyncio.Event()
        """Set when it has ended, and while there is trouble."""
        self.trouble: ProxmoxError | None = None
        """Why its host could not tell of it when it was last asked."""


class Tasks:
    """Those of one connection."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._watched: dict[str, dict[str, _Watched]] = {}  # by host, then by UPID
        self._pollers: dict[str, asyncio.Task[None]] = {}
        self._woken: dict[str, asyncio.Event] = {}
        self._ended: OrderedDict[str, TaskState] = OrderedDict()

    def look(self, task: Upid | str) -> TaskState:
        """What is known now, without waiting. A task that was not known is watched from now on."""
        named = _named(task)
        if (state := self._ended.get(named.text)) is not None:
            return state
        return self._watch(named).state

    def listen(self, task: Upid | str, listener: Listener) -> None:
        """Call it once, when the task has ended; at once if it has already."""
        named = _named(task)
        if (state := self._ended.get(named.text)) is not None:
            listener(state)
        else:
            self._watch(named).listeners.append(listener)

    async def wait(self, task: Upid | str) -> TaskState:
        """Wait for its end. Raises TaskFailed, TaskVanished, or what keeps us from knowing: HostUnreachable, mostly
        (the task stays watched: it may go on, or have ended)."""
        named = _named(task)
        while (state := self._ended.get(named.text)) is None:
            watched = self._watch(named)
            await watched.ended.wait()
            if watched.trouble is not None:
                raise watched.trouble
        state.check()
        return state

    async def ask(self, task: Upid | str) -> TaskState:
        """Ask the host now, outside of the schedule: for people, not for controllers."""
        named = _named(task)
        phase, said = await self._status(named)
        return TaskState(named, phase, said, await self.log(named) if _telling(phase, said) else ())

    async def running(self, host: str, type: str) -> tuple[Upid, ...]:
        """Those of a type that run on a host, whoever has begun them, as far as the credentials may see them."""
        given: Parameters = {"source": "active", "typefilter": type, "limit": _LISTED}
        rows = await self._calls.rows(path_of("nodes", host, "tasks"), given)
        try:
            return tuple(upid(row["upid"]) for row in rows if not row.get("endtime"))
        except ValueError as error:
            raise Malformed(Evidence("GET", f"/nodes/{host}/tasks", host, 200, "OK", f"{host}: {error}")) from None

    async def stop(self, task: Upid | str) -> None:
        """Stop it, and return when it has ended."""
        named = _named(task)
        await self._calls.delete(path_of("nodes", named.node, "tasks", named.text))

    def count(self) -> int:
        """How many are watched."""
        return sum(map(len, self._watched.values()))

    async def close(self) -> None:
        """Ask no more."""
        pollers = list(self._pollers.values())
        for poller in pollers:
            poller.cancel()
        await asyncio.gather(*pollers, return_exceptions=True)

    def _watch(self, named: Upid) -> _Watched:
        of_host = self._watched.setdefault(named.node, {})
        watched = of_host.get(named.text)
        if watched is None:
            watched = of_host[named.text] = _Watched(named, self._now())
            self._gauge()
            poller = self._pollers.get(named.node)
            if poller is None or poller.done():
                self._woken[named.node] = asyncio.Event()
                self._pollers[named.node] = asyncio.get_running_loop().create_task(self._poll(named.node))
            else:
                self._woken[named.node].set()
        return watched

    async def _poll(self, host: str) -> None:
        woken, watched = self._woken[host], self._watched[host]
        while watched:
            rest = min(each.when for each in watched.values()) - self._now()
            if rest > 0:
                woken.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(woken.wait(), rest)
                    continue  # a newer task may be due earlier
            asked = list(watched.values())
            await self._ask(host, asked)
            now = self._now()
            for each in asked:
                each.when = now + min(LONGEST, max(SHORTEST, (now - each.since) * SHARE))

    async def _ask(self, host: str, watched: list[_Watched]) -> None:
        running: frozenset[str] = frozenset()
        if len(watched) > 1:
            try:
                running = await self._running(host)
            except ProxmoxError as error:
                for each in watched:
                    _trouble(each, error)
                return
        await asyncio.gather(*(self._ask_one(each, running) for each in watched))

    async def _ask_one(self, watched: _Watched, running: frozenset[str]) -> None:
        named = watched.state.upid
        if named.text in running:
            self._known(watched, TaskState(named, Phase.RUNNING))
            return
        try:
            phase, said = await self._status(named)
        except ProxmoxError as error:
            _trouble(watched, error)
            return
        log = await self.log(named) if _telling(phase, said) else ()
        self._known(watched, TaskState(named, phase, said, log))

    async def _running(self, host: str) -> frozenset[str]:
        rows = await self._calls.rows(path_of("nodes", host, "tasks"), {"source": "active", "limit": _LISTED})
        return frozenset(str(row.get("upid")) for row in rows if not row.get("endtime"))

    async def _status(self, named: Upid) -> tuple[Phase, str]:
        try:
            status = await self._calls.record(path_of("nodes", named.node, "tasks", named.text, "status"))
        except NotFound:
            return Phase.VANISHED, ""
        except ParameterError as error:
            if "upid" in error.evidence.errors:
                return Phase.VANISHED, ""
            raise
        return phase_of(status)

    async def log(self, named: Upid) -> tuple[str, ...]:
        """The last lines. That they cannot be read changes nothing on how the task ended."""
        path = path_of("nodes", named.node, "tasks", named.text, "log")
        try:
            page = await self._calls.call("GET", path, {"start": 0, "limit": _LOG_PAGE})
            if page.total is not None and page.total > _LOG_PAGE:
                page = await self._calls.call("GET", path, {"start": page.total - LOG_LINES, "limit": LOG_LINES})
            lines = page.rows()[-LOG_LINES:]
        except ProxmoxError as error:
            return (f"(the log cannot be read: {error.why})",)
        return tuple(escape_line(str(line.get("t") or ""), LINE_LENGTH) for line in lines)

    def _known(self, watched: _Watched, state: TaskState) -> None:
        watched.state, watched.trouble = state, None
        if not state.ended:
            watched.ended.clear()
            return
        text = state.upid.text
        self._watched[state.upid.node].pop(text, None)
        self._ended[text] = state
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)
        self._gauge()
        watched.ended.set()
        for listener in watched.listeners:
            listener(state)

    def _gauge(self) -> None:
        metrics, name = self._calls.metrics, self._calls.facts.name
        metrics.tasks.labels(name).set(self.count())
        begun = [each.state.upid.started for there in self._watched.values() for each in there.values()]
        if begun:
            metrics.oldest_task.labels(name).set(min(begun))
        else:
            metrics.oldest_task.remove(name)

    def _now(self) -> float:
        return self._calls.world.clock.monotonic()


def _named(task: Upid | str) -> Upid:
    return upid(task) if isinstance(task, str) else task


def _trouble(watched: _Watched, error: ProxmoxError) -> None:
    """Whoever waits must hear why nothing is known; the next round may go better."""
    watched.trouble = error
    watched.state = replace(watched.state, trouble=error.why)
    watched.ended.set()


def _telling(phase: Phase, said: str) -> bool:
    return phase is Phase.FAILED or (phase is Phase.SUCCEEDED and said != "OK")
