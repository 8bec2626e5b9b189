"""One leader among several replicas, by a Lease that it has to renew, and no write by anyone else.

The protocol and the numbers are client-go's, so replicas of both kinds respect each other: the holder renews every 2 s;
whoever has seen no renewal for the 15 s that the holder promised takes over, by its own clock since it saw the last
one, as clocks of different machines cannot be compared.

What always holds: `guard` lets a write pass only while nobody else can have taken over. The time is counted from the
moment before the successful renewal was sent, when no other replica can have seen it yet, and runs out 5 s before the
others may take over, which is what is left for writes that are already on their way. A machine that slept counts as one
that did not renew: the date has to agree with the monotonic clock, which may stand still while a machine sleeps.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model
from nagaya.kube.client import Client
from nagaya.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from nagaya.kube.microtime import microtime
from nagaya.kube.patches import Merge
from nagaya.kube.transport import NoAnswer
from nagaya.world import World

log = logging.getLogger(__name__)

_JITTER: Final = 1.2  # waiting replicas ask after 1 to 2.2 times the pause, so that they do not all ask at once


class LostLeadership(Exception):
    """This process may not write any more: another one may be leading by now."""


class LeaseSpec(Model):
    """Who leads, and until when. Dates stay text: they are for people, decisions need none."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Resource):
    """A lock in the API."""

    spec: LeaseSpec = LeaseSpec()


LEASES: Final = Kind("coordination.k8s.io", "v1", "Lease", "leases", Lease)


@dataclass(frozen=True, slots=True)
class Terms:
    """Seconds: how long a lease is promised, how long its holder trusts in it, and between two attempts."""

    duration: int = 15
    trusted: float = 10.0
    pause: float = 2.0

    def __post_init__(self) -> None:
        if not self.duration > self.trusted > self.pause * _JITTER > 0:
            raise ValueError(f"a lease must outlast its holder's trust, and that the pause between attempts: {self}")


class Election:
    """The candidacy of one process."""

    def __init__(
        self,
        client: Client,
        world: World,
        namespace: str,
        name: str,
        identity: str,
        *,
        terms: Terms | None = None,
        on_leader: Callable[[str], None] | None = None,
    ) -> None:
        """`on_leader` is told who leads whenever that changes; nobody is an empty name."""
        self._client = client.unguarded()
        self._world = world
        self._namespace = namespace
        self._name = name
        self.identity = identity
        self._terms = terms or Terms()
        self._on_leader = on_leader
        self._lease: Lease | None = None  # as it was seen last
        self._seen_at = 0.0  # when its content was last seen to change
        self._until = float("-inf")
        self._until_date = world.clock.now()
        self._told_leader = ""
        self._told_problem = ""

    @property
    def leader(self) -> str:
        """Who holds the lease, as far as is known; empty if nobody does."""
        return "" if self._lease is None else self._lease.spec.holder_identity or ""

    @property
    def leading(self) -> bool:
        """Whether this process may write now."""
        clock = self._world.clock
        return clock.monotonic() < self._until and clock.now() < self._until_date

    def guard(self) -> None:
        """Raise LostLeadership unless this process leads without doubt."""
        if not self.leading:
            lease = f"{self._namespace}/{self._name}"
            raise LostLeadership(f"{self.identity} does not lead: it holds the lease {lease} no longer, or not yet")

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait for the leadership, do the work while it lasts, give the lease back.

        Returns when the work is done. Raises LostLeadership, once the work has been cancelled and has ended, when the
        lease could not be renewed.
        """
        await self.acquire()
        work = asyncio.ensure_future(lead())
        renewing = asyncio.ensure_future(self._renew())
        try:
            done, _ = await asyncio.wait([work, renewing], return_when=asyncio.FIRST_COMPLETED)
        finally:
            # The lease is kept until the work has ended, and only then given to others.
            await _ended(work)
            await _ended(renewing)
            await self.release()
        if work in done:
            work.result()
            return
        if not work.cancelled() and (problem := work.exception()) is not None:
            log.error("the work failed while it was stopped", exc_info=problem)
        renewing.result()

    async def acquire(self) -> None:
        """Wait until this process leads."""
        log.info("waiting for the lease %s/%s as %s", self._namespace, self._name, self.identity)
        while True:
            if await self._attempt():
                break
            await asyncio.sleep(self._terms.pause * (1 + self._world.random.random() * _JITTER))
        log.info("%s leads now (lease %s/%s)", self.identity, self._namespace, self._name)

    async def release(self) -> None:
        """Give the lease back at once, so that others need not wait for it to run out."""
        held, mine = self._lease, self.leading
        self._until = float("-inf")  # before anyone else can know
        if held is None or not mine:
            return
        now = microtime(self._world.clock.now())
        spec = {"holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": now, "renewTime": now}
        try:
            async with asyncio.timeout(self._terms.trusted / 2):
                self._see(await self._write(held, spec))
        except (ApiError, NoAnswer, TimeoutError) as error:
            log.warning("the lease %s/%s could not be given back and runs out: %s", self._namespace, self._name, error)

    async def _renew(self) -> None:
        """Keep the lease. Raises LostLeadership."""
        while (left := self._until - self._world.clock.monotonic()) > 0:
            await asyncio.sleep(min(self._terms.pause, left))
            if self.leading and not await self._attempt() and self.leader != self.identity:
                self._until = float("-inf")
            if not self.leading:
                break
        self._until = float("-inf")
        raise LostLeadership(f"{self.identity} lost the lease {self._namespace}/{self._name}: {self._why_lost()}")

    def _why_lost(self) -> str:
        if self.leader and self.leader != self.identity:
            return f"{self.leader} holds it now"
        return f"it could not be renewed for {self._terms.trusted:g} s. {self._told_problem}".rstrip()

    async def _attempt(self) -> bool:
        """Take or renew the lease if that is allowed. Returns whether this process holds it."""
        # A leader needs the other half for a second attempt; whoever waits has nothing to lose.
        patience = self._terms.trusted / 2 if self.leading else self._terms.trusted
        try:
            async with asyncio.timeout(patience):
                return await self._try()
        except (ApiError, NoAnswer, TimeoutError) as error:
            problem = str(error) or f"the API server did not answer within {patience:g} s"
            if problem != self._told_problem and not isinstance(error, Conflict | AlreadyExists):
                log.warning("the lease %s/%s cannot be had: %s", self._namespace, self._name, problem)
                self._told_problem = problem
            return False

    async def _try(self) -> bool:
        known = self._lease
        if known is not None and self.leading:
            # Whoever leads knows the lease; only if that was wrong is it read.
            with suppress(Conflict, NotFound):
                return await self._take(known)
        try:
            found = await self._client.get(LEASES, self._namespace, self._name)
        except NotFound:
            return await self._create()
        self._see(found)
        holder = found.spec.holder_identity
        if holder and holder != self.identity and not self._has_run_out(found):
            return False
        return await self._take(found)

    async def _create(self) -> bool:
        sent = self._before()
        now = microtime(self._world.clock.now())
        content = {
            "metadata": {"namespace": self._namespace, "name": self._name},
            "spec": {**self._held_spec(now), "acquireTime": now, "leaseTransitions": 0},
        }
        self._see(await self._client.create(LEASES, content))
        return self._hold(sent)

    async def _take(self, lease: Lease) -> bool:
        sent = self._before()
        now = microtime(self._world.clock.now())
        spec = self._held_spec(now)
        if lease.spec.holder_identity != self.identity:
            spec |= {"acquireTime": now, "leaseTransitions": (lease.spec.lease_transitions or 0) + 1}
        self._see(await self._write(lease, spec))
        return self._hold(sent)

    def _held_spec(self, now: str) -> dict[str, Any]:
        return {"holderIdentity": self.identity, "leaseDurationSeconds": self._terms.duration, "renewTime": now}

    async def _write(self, lease: Lease, spec: dict[str, Any]) -> Lease:
        patch = Merge({"spec": spec}, resource_version=lease.metadata.resource_version)
        return await self._client.patch(LEASES, self._namespace, self._name, patch)

    def _before(self) -> tuple[float, datetime]:
        trusted = self._terms.trusted
        clock = self._world.clock
        return clock.monotonic() + trusted, clock.now() + timedelta(seconds=trusted)

    def _hold(self, until: tuple[float, datetime]) -> bool:
        self._until, self._until_date = until
        self._told_problem = ""
        return self.leading

    def _has_run_out(self, lease: Lease) -> bool:
        promised = lease.spec.lease_duration_seconds or 0
        return self._world.clock.monotonic() >= self._seen_at + promised

    def _see(self, lease: Lease) -> None:
        if self._lease is None or self._lease.spec != lease.spec:
            self._seen_at = self._world.clock.monotonic()
        self._lease = lease
        if self.leader != self._told_leader:
            self._told_leader = self.leader
            if self._on_leader is not None:
                self._on_leader(self.leader)


async def _ended(task: asyncio.Future[None]) -> None:
    """Cancel a task and wait for its end. What it raised is still in it."""
    task.cancel()
    await asyncio.wait([task])


def unique_identity(world: World) -> str:
    """A name that no other process has: the host's, and a random part."""
    return f"{socket.gethostname()}_{world.uid()}"
