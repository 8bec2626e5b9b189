"""The whole examination: every subject looked at at the same time, each for a limited time, and put in order.

One that hangs delays nothing but itself and hides nothing: what it would have told is not checked, with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.infrastructure.proxmox.connection.establishing.certificate import shown
from nagaya.infrastructure.proxmox.connection.examination import Shown
from nagaya.infrastructure.proxmox.connection.opening import Opener
from nagaya.insight.cause.etcd import even_members, odd_members
from nagaya.insight.checkup import (
    addresses,
    certificates,
    coming,
    controllers,
    data_centers,
    deletions,
    isolation,
    leftovers,
    management,
    tenants,
    versions,
)
from nagaya.insight.checkup.finding import Finding, Subject
from nagaya.insight.checkup.objects import Objects, read_objects
from nagaya.insight.leftovers.gathering import gathered
from nagaya.insight.picture.member import Member
from nagaya.insight.picture.read import read_kinds
from nagaya.insight.picture.references import reference_at
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection
from nagaya.kube.errors import ApiError
from nagaya.kube.http import HttpTransport
from nagaya.kube.transport import NoAnswer
from nagaya.world import World

LIMIT: Final = 60.0
"""Seconds that a subject may take; questions within it have shorter limits of their own."""


@dataclass(frozen=True, slots=True)
class Ways:
    """How what the management API leads to is reached: as always, or as a test says."""

    proxmox: Opener | None = None
    certificates: Shown = shown
    tenants: tenants.Ways | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What is looked at: a namespace (all without one), or one cluster in it."""

    namespace: str = ""
    cluster: str = ""


async def examine(
    client: Client, server: str, world: World, scope: Scope, ways: Ways | None = None, limit: float = LIMIT
) -> list[Finding]:
    """Look at everything. Raises NoAnswer and Unauthorized if the management API itself cannot be asked."""
    return await _Examination(client, server, world, scope, ways or Ways(), limit).run()


class _Examination:
    def __init__(self, client: Client, server: str, world: World, scope: Scope, ways: Ways, limit: float) -> None:
        self._client = client
        self._server = server
        self._world = world
        self._scope = scope
        self._ways = ways
        self._limit = limit

    async def run(self) -> list[Finding]:
        seen = await management.look(self._client, self._server, self._world.clock)
        now = seen.now(self._world.clock)
        found = management.findings(seen)
        objects = await read_objects(self._client, await read_kinds(self._client), self._scope.namespace)
        found += [management.SUBJECT.unchecked("objects", each) for each in objects.unread]
        clusters = [each for each in objects.of_kind("Cluster") if self._scope.cluster in ("", each.name)]
        if seen.definitions is None or "clusters.cluster.x-k8s.io" in seen.definitions:
            found += await self._bounded(management.SUBJECT, controllers.CHECK, self._controllers(objects, now))
        rest = await asyncio.gather(
            *self._data_centers(objects, clusters),
            *(self._bounded(_subject(each), "cluster", self._cluster(each, objects, now)) for each in clusters),
        )
        found += [each for part in rest for each in part]
        found += deletions.stuck(self._members(objects, clusters), now)
        found += [addresses.check(each) for kind in addresses.KINDS for each in objects.of_kind(kind)]
        found += isolation.check(objects.members)
        if not self._scope.cluster:
            found += await self._bounded(leftovers.SUBJECT, leftovers.CHECK, self._leftovers())
        return found

    async def _controllers(self, objects: Objects, now: datetime) -> list[Finding]:
        return [controllers.check(await controllers.look(self._client), objects.members, now)]

    def _data_centers(self, objects: Objects, clusters: list[Member]) -> Iterable[Awaitable[list[Finding]]]:
        for reference, users in data_centers.references(objects).items():
            if self._scope.cluster:
                infrastructure = {_infrastructure(each) for each in clusters}
                users = [each for each in users if (each.metadata.namespace, each.metadata.name) in infrastructure]
                if not users:
                    continue
            looking = data_centers.look(
                self._client,
                self._world,
                reference,
                users,
                objects,
                open=self._ways.proxmox,
                certificates=self._ways.certificates,
            )
            yield self._bounded(Subject(str(reference)), "connection", looking)

    async def _cluster(self, cluster: Member, objects: Objects, now: datetime) -> list[Finding]:
        subject, members = _subject(cluster), objects.of_cluster(cluster)
        machines = [each for each in members if each.kind == "Machine"]
        named = reference_at(cluster, "spec", "controlPlaneRef")
        plane = None if named is None else objects.named(named.kind, cluster.namespace, named.name)
        found = [each for each in [deletions.paused(subject, cluster)] if each]
        if cluster.metadata.deleting:
            return [*found, coming.available(subject, cluster, now)]
        if plane is not None and (uneven := even_members(plane)):
            found.append(subject.warning("etcd", f"{uneven}.", odd_members(plane)))
        if rests := coming.asleep(subject, plane):
            found.append(rests)
        else:
            found.append(coming.available(subject, cluster, now))
            ways = self._ways.tenants or self._by_https
            tenant = await tenants.look(self._client, self._world, cluster.namespace, cluster.name, ways)
            found += tenants.findings(subject, cluster, tenant, comes=coming.comes(cluster, now))
            if skew := versions.check(subject, plane, machines, tenant.version):
                found.append(skew)
        expiries, unread = await certificates.secrets_of(self._client, cluster.namespace, cluster.name)
        ending = certificates.check(subject, [*expiries, *certificates.of_members(members)], unread, now)
        return [*found, ending] if ending else found

    async def _leftovers(self) -> list[Finding]:
        async with gathered(self._client, self._world, self._ways.proxmox) as found:
            return list(leftovers.findings(found.going(), found.staying(), found.unseen()))

    def _members(self, objects: Objects, clusters: list[Member]) -> list[Member]:
        """What may be stuck: of a cluster that was named, only what is its own."""
        if not self._scope.cluster:
            return objects.members
        return [each for cluster in clusters for each in objects.of_cluster(cluster)]

    def _by_https(self, tenant: Connection) -> HttpTransport:
        return HttpTransport(tenant, world=self._world)

    async def _bounded(self, subject: Subject, check: str, looking: Awaitable[list[Finding]]) -> list[Finding]:
        try:
            async with asyncio.timeout(self._limit):
                return await looking
        except TimeoutError:
            return [subject.unchecked(check, f"It did not tell all within {self._limit:.0f} s.")]
        except (ApiError, NoAnswer) as error:
            return [subject.unchecked(check, str(error))]


def _subject(cluster: Member) -> Subject:
    simulated = " (simulated)" if cluster.text("spec", "infrastructureRef", "kind").startswith("Simulated") else ""
    return Subject(f"Cluster {cluster.namespace}/{cluster.name}{simulated}")


def _infrastructure(cluster: Member) -> tuple[str, str]:
    return cluster.namespace, cluster.text("spec", "infrastructureRef", "name")
