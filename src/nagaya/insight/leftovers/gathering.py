"""All leftovers that a management API can know of: in every Proxmox VE that it leads to, and in the API itself.

Data centers are looked at at the same time, each for a limited time: one that does not answer is told, and delays no
other. Several connections may lead to one data center: it is looked at by the first that works, for the pools of all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS, ProxmoxConnection
from nagaya.api.proxmox.proxmox_virtual_machine import ProxmoxVirtualMachine
from nagaya.clusters.leftovers import Leftover, Untouched
from nagaya.infrastructure.proxmox.client.errors import ProxmoxError
from nagaya.infrastructure.proxmox.connection.command import again
from nagaya.infrastructure.proxmox.connection.connections import Connected
from nagaya.infrastructure.proxmox.connection.establishing.management import Stored
from nagaya.infrastructure.proxmox.connection.grant import is_granted
from nagaya.infrastructure.proxmox.connection.opening import Opener, examined, opened
from nagaya.infrastructure.proxmox.connection.reference import (
    CONNECTION,
    NoConnection,
    Reference,
    connection_reference,
    read_reference,
    secret_reference,
)
from nagaya.infrastructure.proxmox.connection.secrets import CREDENTIALS
from nagaya.infrastructure.proxmox.connection.source import source_by
from nagaya.infrastructure.proxmox.leftovers.observe import known, observe
from nagaya.infrastructure.proxmox.leftovers.plan import Plan, plan
from nagaya.infrastructure.proxmox.leftovers.seen import Known
from nagaya.insight.leftovers.owners import Owners
from nagaya.insight.picture.read import read_kinds
from nagaya.ipam.leftovers import Unneeded, unneeded
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, NotFound
from nagaya.world import World

PATIENCE: Final = 60.0
"""Seconds that a data center may take to tell what it has."""


@dataclass(slots=True)
class Place:
    """A data center, with the connection that is open to it, and what is left there."""

    connected: Connected
    plan: Plan


@dataclass(slots=True)
class Leftovers:
    """All of them."""

    places: list[Place] = field(default_factory=list)
    addresses: tuple[Unneeded, ...] = ()
    untouched: list[Untouched] = field(default_factory=list)
    """What is told beside what data centers have."""
    incomplete: list[str] = field(default_factory=list)
    """What could not be looked at, a sentence each."""

    def going(self) -> list[Leftover]:
        """What is provably ours."""
        return [each for place in self.places for each in place.plan.leftovers] + [
            each.leftover for each in self.addresses
        ]

    def staying(self) -> list[Untouched]:
        """What is not touched."""
        return [each for place in self.places for each in place.plan.untouched] + self.untouched

    def unseen(self) -> list[str]:
        """What could not be looked at."""
        return [f"{place.plan.where}: {each}" for place in self.places for each in place.plan.incomplete] + (
            self.incomplete
        )


@asynccontextmanager
async def gathered(client: Client, world: World, open: Opener | None = None) -> AsyncIterator[Leftovers]:
    """Look everywhere. Connections stay open until the end. Raises ApiError, NoAnswer."""
    found = Leftovers()
    there = await known(client)
    connections = await _connections(client)
    ways = await _references(client, connections, there)
    async with AsyncExitStack() as stack:
        connecting = [_connected(client, world, each, open, found, stack) for each in ways]
        working = [each for each in await asyncio.gather(*connecting) if each is not None]
        chosen = _one_each(working)
        pools = _pools(working, there)
        looking = (_place(each, there, pools.get(_datacenter(each), frozenset()), found) for each in chosen)
        found.places = [each for each in await asyncio.gather(*looking) if each is not None]
        reached = {_datacenter(each) for each in chosen} | {""}
        found.untouched += [
            _out_of_reach(each, reached) for each in there.ownerless if each.spec.datacenter not in reached
        ]
        found.untouched += await _tokens(client, connections)
        found.addresses = await unneeded(client, Owners(client, await read_kinds(client)).exists)
        yield found


async def _connections(client: Client) -> list[ProxmoxConnection]:
    try:
        return (await client.list(PROXMOX_CONNECTIONS)).items
    except NotFound:
        return []


async def _references(client: Client, connections: Iterable[ProxmoxConnection], there: Known) -> list[Reference]:
    """Whatever leads to a Proxmox VE: connections, Secrets that clusters name, and what reservations remember."""
    found = [connection_reference(each) for each in connections]
    try:
        clusters = (await client.list(PROXMOX_CLUSTERS)).items
    except NotFound:
        clusters = []
    for each in clusters:
        named = each.spec.credentials_ref
        if each.spec.connection_ref is None and named is not None and named.name:
            found.append(secret_reference(named, each.metadata.namespace))
    present = set(found)
    for reservation in there.ownerless:
        spec = reservation.spec
        reference = read_reference(spec.connection_ref, spec.machine_ref.namespace)
        # A connection that is gone leads nowhere; another one may lead to the same data center.
        if reference.kind != CONNECTION and reference not in present:
            found.append(reference)
    return list(dict.fromkeys(found))


async def _connected(
    client: Client, world: World, reference: Reference, open: Opener | None, found: Leftovers, stack: AsyncExitStack
) -> Connected | None:
    """A way that works. Why one does not is told."""
    try:
        way = await opened(client, world, reference, open)
        stack.push_async_callback(way.proxmox.close)
        async with asyncio.timeout(PATIENCE):
            return await examined(way)
    except TimeoutError:
        found.incomplete.append(f"{reference} did not tell anything within {PATIENCE:.0f} s.")
    except (NoConnection, ApiError, ProxmoxError) as error:
        found.incomplete.append(f"{reference}: {error}")
    return None


def _datacenter(connected: Connected) -> str:
    return "" if connected.findings is None else connected.findings.datacenter


def _one_each(ways: Iterable[Connected]) -> list[Connected]:
    """One way to each data center; all whose data center is not known."""
    chosen: dict[str, Connected] = {}
    for each in ways:
        chosen.setdefault(_datacenter(each) or str(each.reference), each)
    return list(chosen.values())


def _pools(ways: Iterable[Connected], there: Known) -> dict[str, frozenset[str]]:
    """The pools that machines are put in, by data center."""
    pools: dict[str, set[str]] = {}
    for each in ways:
        pools.setdefault(_datacenter(each), set()).add(each.pool)
    for reservation in there.reservations:
        pools.setdefault(reservation.spec.datacenter, set()).add(reservation.spec.pool)
    return {name: frozenset(each - {""}) for name, each in pools.items()}


async def _place(connected: Connected, there: Known, pools: Collection[str], found: Leftovers) -> Place | None:
    try:
        async with asyncio.timeout(PATIENCE):
            return Place(connected, plan(await observe(connected, there, pools)))
    except TimeoutError:
        found.incomplete.append(
            f"{connected.reference} did not tell all within {PATIENCE:.0f} s: nothing is done there."
        )
    except ProxmoxError as error:
        found.incomplete.append(f"{connected.reference}: {error}")
    return None


def _out_of_reach(reservation: ProxmoxVirtualMachine, reached: Collection[str]) -> Untouched:
    spec, whose = reservation.spec, reservation.spec.machine_ref
    named = ", ".join(sorted(filter(None, reached))) or "none"
    way = read_reference(spec.connection_ref, whose.namespace)
    why = (
        f"ProxmoxMachine {whose.namespace}/{whose.name} is gone, and no connection leads to its data center "
        f"{spec.datacenter} now (reached: {named}). It was reached by {way}."
    )
    return Untouched(f"ProxmoxVirtualMachine {reservation.metadata.name}", why, waits=True)


async def _tokens(client: Client, connections: Iterable[ProxmoxConnection]) -> list[Untouched]:
    """Tokens that an interrupted `nagaya proxmox connect` has left: only an administrator may remove them."""
    found: list[Untouched] = []
    for each in connections:
        key = source_by(each).secret
        try:
            secret = await client.get(CREDENTIALS, key.namespace, key.name)
        except ApiError:
            continue  # its connection says so itself
        if not is_granted(secret, each.metadata.namespace):
            continue
        stored = Stored(secret)
        why = f"`nagaya proxmox connect` was interrupted (Secret {key} says so)."
        found += [
            Untouched(f"token {token}", why, again(each)) for token in filter(None, (stored.making, *stored.leaving))
        ]
    return found
