"""What etcd said last, and when it has to be asked again.

Each answer costs a connection through the tenant's API server and a TLS handshake, and a control plane is looked at
whenever one of its machines says something. So an answer stands for a while; for a moment only if something was amiss.
It is doubted as soon as a Node or a static pod changes, or the control plane has changed etcd itself.

What always holds: a look waits a few seconds at most, and not at all for an etcd that made one wait in vain before: a
hundred that hang would keep all others waiting too. Their answers are awaited in the background, and their control
planes looked at again when they come.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from nagaya.controlplane.kubeadm.tenant_seen import EtcdSeen
from nagaya.world import Clock

log = logging.getLogger(__name__)

STANDS: Final = 10.0
"""Seconds that an answer stands in which all is well."""
STANDS_IN_DOUBT: Final = 1.0
"""Seconds that any other answer stands."""
PATIENCE: Final = 5.0
"""Seconds that a look waits."""
ASK_TIMEOUT: Final = 25.0
"""Seconds after which etcd counts as silent, whatever it was doing."""
SILENT: Final = EtcdSeen(problem="Failed to connect to etcd: there was no answer in time")
"""The same words for looks that do not wait and for questions that were given up, so that nothing changes between."""

Ask = Callable[[tuple[str, ...]], Awaitable[EtcdSeen]]


@dataclass(frozen=True, slots=True)
class _Answer:
    seen: EtcdSeen
    nodes: frozenset[str]
    at: float

    @property
    def settled(self) -> bool:
        """Whether all Nodes have a member, and nothing is wrong with any."""
        members = self.seen.members
        if members is None or any(each.learner or each.alarms for each in members):
            return False
        return {each.name for each in members} == self.nodes


class RecentEtcd:
    """The etcd of one tenant."""

    def __init__(self, ask: Ask, clock: Clock, changed: Callable[[], None]) -> None:
        """`changed` is called when an answer came too late for the look that wanted it."""
        self._ask = ask
        self._clock = clock
        self._changed = changed
        self._answer: _Answer | None = None
        self._asking: asyncio.Task[_Answer] | None = None
        self._doubted = False
        self._awaited = False
        self._silent = False

    def doubt(self) -> None:
        """What was said may not be true any more."""
        self._doubted = True

    async def seen(self, nodes: tuple[str, ...]) -> EtcdSeen:
        """How etcd is, asked through these Nodes if need be."""
        if not nodes:
            return EtcdSeen()
        if self._asking is None:
            answer = self._answer
            if answer is not None and self._stands(answer, nodes):
                return answer.seen
            self._doubted = False
            self._asking = asyncio.get_running_loop().create_task(self._asked(nodes), name="etcd of a tenant")
            self._asking.add_done_callback(self._done)
        asking = self._asking
        done, _ = await asyncio.wait({asking}, timeout=0 if self._silent else PATIENCE)
        if done:
            return asking.result().seen
        self._awaited = self._silent = True
        return SILENT

    def close(self) -> None:
        """Wait for nothing any more."""
        if self._asking is not None:
            self._asking.cancel()

    def _stands(self, answer: _Answer, nodes: tuple[str, ...]) -> bool:
        age = self._clock.monotonic() - answer.at
        limit = STANDS if answer.settled else STANDS_IN_DOUBT
        return not self._doubted and answer.nodes == frozenset(nodes) and age < limit

    async def _asked(self, nodes: tuple[str, ...]) -> _Answer:
        try:
            async with asyncio.timeout(ASK_TIMEOUT):
                seen = await self._ask(nodes)
        except TimeoutError:
            seen = SILENT
        except Exception as error:
            # A look never fails, whatever a tenant comes up with.
            log.exception("etcd of a tenant cannot be asked")
            seen = EtcdSeen(problem=f"Failed to connect to etcd: {type(error).__name__}: {error}")
        return _Answer(seen, frozenset(nodes), self._clock.monotonic())

    def _done(self, task: asyncio.Task[_Answer]) -> None:
        self._asking = None
        awaited, self._awaited = self._awaited, False
        if task.cancelled():
            return
        before, self._answer = self._answer, task.result()
        self._silent = self._answer.seen is SILENT
        # That it is silent still is no news.
        if awaited and not (self._silent and before is not None and before.seen is SILENT):
            self._changed()
