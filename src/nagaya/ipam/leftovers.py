"""Addresses and claims that nobody needs any more, as `nagaya gc` finds and removes them.

The controllers take such addresses back by themselves, after a while. What is left is that of owners who vanished
without a word, or from a time in which no controllers ran. Nothing is taken from a pool here: a claim or an address is
only deleted, and the controllers give the address back in their order, with its rest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from nagaya.api.ipam.ip_address import IP_ADDRESSES, IPAddress
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS, IPAddressClaim
from nagaya.api.kind import Kind
from nagaya.api.meta import ObjectMeta, OwnerReference
from nagaya.clusters.leftovers import Leftover
from nagaya.ipam.pool.names import pool_of
from nagaya.kube.client import Client
from nagaya.kube.errors import Conflict, NotFound

Owners = Callable[[OwnerReference, str], Awaitable[bool | None]]
"""Whether an owner of something in a namespace exists; None if nobody knows."""


@dataclass(frozen=True, slots=True)
class Unneeded:
    """A claim or an address to delete."""

    kind: Kind[Any]
    metadata: ObjectMeta
    leftover: Leftover


async def unneeded(client: Client, exists: Owners) -> tuple[Unneeded, ...]:
    """Look. Raises ApiError, NoAnswer. Addresses come first: a claim is there before its address is, so one whose claim
    is not in the later list has none."""
    try:
        addresses = (await client.list(IP_ADDRESSES)).items
        claims = (await client.list(IP_ADDRESS_CLAIMS)).items
    except NotFound:
        return ()
    gone: set[str] = set()
    for claim in claims:
        if await _is_ownerless(claim, exists):
            gone.add(claim.metadata.uid)
    return (*_claims(claims, gone), *_addresses(addresses, claims))


async def remove(client: Client, found: Unneeded) -> bool:
    """Delete it. Returns False if it lingers until the controllers let it go. Raises ApiError, NoAnswer."""
    metadata = found.metadata
    try:
        left = await client.delete(found.kind, metadata.namespace, metadata.name, uid=metadata.uid)
    except (NotFound, Conflict):
        return True  # it is gone, or another one by now
    return left is None


async def _is_ownerless(claim: IPAddressClaim, exists: Owners) -> bool:
    """Whether it had owners and has none that exists. One that somebody wrote by hand never had any."""
    metadata = claim.metadata
    if metadata.deleting or not metadata.owner_references:
        return False
    for each in metadata.owner_references:
        if await exists(each, metadata.namespace) is not False:
            return False
    return True


def _claims(claims: Iterable[IPAddressClaim], gone: set[str]) -> Iterable[Unneeded]:
    for each in claims:
        if each.metadata.uid in gone:
            owners = ", ".join(f"{one.kind} {one.name} (uid {one.uid})" for one in each.metadata.owner_references)
            what = f"IPAddressClaim {each.metadata.namespace}/{each.metadata.name}"
            yield Unneeded(IP_ADDRESS_CLAIMS, each.metadata, Leftover(what, f"its owner {owners} is gone"))


def _addresses(addresses: Iterable[IPAddress], claims: Iterable[IPAddressClaim]) -> Iterable[Unneeded]:
    there = {(each.metadata.namespace, each.metadata.name) for each in claims}
    for each in addresses:
        namespace, claim = each.metadata.namespace, each.spec.claim_ref.name
        if each.metadata.deleting or pool_of(each) is None or (namespace, claim) in there:
            continue
        what = f"IPAddress {namespace}/{each.metadata.name} ({each.spec.address})"
        proof = (
            f"it is from {each.spec.pool_ref.kind} {each.spec.pool_ref.name}, and its IPAddressClaim {claim} is gone"
        )
        yield Unneeded(IP_ADDRESSES, each.metadata, Leftover(what, proof))
