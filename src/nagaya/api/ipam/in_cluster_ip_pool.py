"""InClusterIPPool: addresses that claims of the same namespace are given."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from nagaya.api.cluster.state import Conditions
from nagaya.api.definition import Column, Definition, age, condition
from nagaya.api.ipam.group import GROUP, POOL_LABELS, VERSION
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc

DEFAULT_GRACE: Final = 60
"""For how many seconds a released address rests, unless the pool says otherwise: switches and neighbours remember who
had it, and a machine that is switched off may take a while to be so."""
MOST: Final = 2**63 - 1
"""The largest number that is told; a pool of IPv6 may have more addresses."""

# Conditions, and their reasons

READY: Final = "Ready"
"""Whether claims are given addresses."""
FREE: Final = "AddressesFree"
INVALID_SPEC: Final = "InvalidSpec"
EXHAUSTED: Final = "PoolExhausted"
DELETING: Final = "Deleting"

DISJOINT: Final = "Disjoint"
"""Whether the addresses are this pool's alone."""
NO_OVERLAP: Final = "NoOverlap"
EXCLUDED: Final = "AddressesExcluded"
OVERLAPS_POOL: Final = "OverlapsPool"
GIVEN_TWICE: Final = "GivenTwice"
ENDPOINT_GIVEN: Final = "EndpointGiven"


class InClusterIPPoolSpec(Model):
    """Which addresses there are, and what machines have to know of their network."""

    addresses: Annotated[
        tuple[str, ...],
        doc(
            "The addresses that can be given: each entry is an address (10.0.0.5), a range (10.0.0.10-10.0.0.20) or a "
            "network (10.0.0.0/24). All are of one family, and in one network of the length that prefix says."
        ),
    ]
    prefix: Annotated[
        int, doc("Length of the network's prefix, such as 24 for 10.0.0.0/24.", minimum=0, maximum=128, format="int64")
    ]
    gateway: Annotated[str, doc("The router of the network. It is never given to a claim. None if left out.")] = ""
    allocate_reserved_ip_addresses: Annotated[
        bool,
        doc(
            "Whether the first address of the network, and with IPv4 the last one, can be given too. They cannot if "
            "left out."
        ),
    ] = msgspec.field(name="allocateReservedIPAddresses", default=False)
    excluded_addresses: Annotated[
        tuple[str, ...], doc("Addresses that are not given, written as in addresses. None if left out.")
    ] = ()
    address_reuse_grace_period_seconds: Annotated[
        int | None,
        doc(
            "For how many seconds an address rests after its release, before another claim can get it. 60 if left "
            "out; with 0 it can be given again at once.",
            minimum=0,
        ),
    ] = None


class AddressCounts(Model):
    """How many addresses a pool has, and what they are up to. Larger numbers than 64 bits hold are cut off."""

    total: Annotated[int, doc("How many addresses can be given at all.", format="int64")]
    free: Annotated[int, doc("How many can be given now: neither in use nor resting.", format="int64")]
    used: Annotated[int, doc("How many are in use, those outside of the pool's ranges included.", format="int64")]
    out_of_range: Annotated[
        int, doc("How many are in use that the pool does not have, or no longer has.", format="int64")
    ]


class InClusterIPPoolStatus(Model):
    """How many addresses are left."""

    ip_addresses: Annotated[AddressCounts | None, doc("How many addresses there are, and how many are left.")] = None
    conditions: Conditions = ()


class InClusterIPPool(Resource):
    """Addresses that claims of the same namespace are given."""

    spec: Annotated[InClusterIPPoolSpec, doc("Which addresses there are.")]
    status: Annotated[InClusterIPPoolStatus, doc("How many are left.")] = InClusterIPPoolStatus()


def columns(noun: str) -> tuple[Column, ...]:
    """What `kubectl get` prints of pools."""
    return (
        Column("Addresses", ".spec.addresses", description="The addresses that can be given."),
        Column("Total", ".status.ipAddresses.total", "integer", description="How many addresses can be given at all."),
        Column("Free", ".status.ipAddresses.free", "integer", description="How many can be given now."),
        Column("Used", ".status.ipAddresses.used", "integer", description="How many are in use."),
        condition(READY, description="Whether claims are given addresses."),
        condition(DISJOINT, description="Whether the addresses are this pool's alone.", priority=10),
        age(noun),
    )


IN_CLUSTER_IP_POOLS: Final = Kind(GROUP, VERSION, "InClusterIPPool", "inclusterippools", InClusterIPPool)
DEFINITION: Final = Definition(IN_CLUSTER_IP_POOLS, columns=columns("InClusterIPPool"), labels=POOL_LABELS)
