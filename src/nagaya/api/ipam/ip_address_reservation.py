"""IPAddressReservation: the one entry of an address in the ledger, so that the API server itself gives it out once.

An IPAddress is named after its claim, so two of them could hold one address. A reservation is named after the address:
whoever makes it, or takes over a released one in the state in which it was read, has the address, and nobody else can,
in whatever process. Addresses of a namespace's pools and of global pools have entries of different names, because
namespaces may have networks of their own that use the same addresses.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from nagaya.api.definition import Column, Definition, age
from nagaya.api.ipam.group import GROUP, LEDGER_LABELS, VERSION
from nagaya.api.ipam.ranges import address_of
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc


class ReservedPool(Model):
    """The pool that an address is from."""

    kind: Annotated[str, doc("Kind of the pool.")]
    name: Annotated[str, doc("Name of the pool.")]
    namespace: Annotated[str, doc("Namespace of the pool. Left out for a GlobalInClusterIPPool.")] = ""


class ReservedClaim(Model):
    """The claim that an address is for, or was for last."""

    namespace: Annotated[str, doc("Namespace of the IPAddressClaim.")]
    name: Annotated[str, doc("Name of the IPAddressClaim.")]
    uid: Annotated[str, doc("The uid of the IPAddressClaim: another one of the same name is not meant.")]
    cluster_name: Annotated[str, doc("Name of the Cluster that the address is for, if the claim says so.")] = ""


class IPAddressReservationSpec(Model):
    """Who has the address."""

    address: Annotated[str, doc("The address.")]
    pool_ref: Annotated[ReservedPool, doc("The pool that it is from.")]
    claim_ref: Annotated[ReservedClaim, doc("The claim that it is for, or was for last.")]
    released_at: Annotated[datetime | None, doc("When the claim gave it back. It is held if left out.")] = None
    rests_until: Annotated[datetime | None, doc("Before this time it is given to nobody, if it was given back.")] = None


class IPAddressReservation(Resource):
    """The entry of one address in the ledger: which claim holds it, or since when it rests. Made by Nagaya."""

    spec: Annotated[IPAddressReservationSpec, doc("Who has the address.")]


def label_value(number: int) -> str:
    """An address as a name or a label can hold it: `10.0.0.7`, `fd00-0000-0000-0000-0000-0000-0000-0007`."""
    return address_of(number).exploded.replace(":", "-")


def reservation_name(number: int, namespace: str) -> str:
    """The name of the entry of an address: of a namespace's pools, or without one of global pools."""
    return f"{label_value(number)}.{namespace}" if namespace else label_value(number)


IP_ADDRESS_RESERVATIONS: Final = Kind(
    GROUP, VERSION, "IPAddressReservation", "ipaddressreservations", IPAddressReservation, namespaced=False
)
DEFINITION: Final = Definition(
    IP_ADDRESS_RESERVATIONS,
    columns=(
        Column("Address", ".spec.address", description="The address."),
        Column("Pool", ".spec.poolRef.name", description="The pool that it is from."),
        Column("Namespace", ".spec.claimRef.namespace", description="The namespace of the claim."),
        Column("Claim", ".spec.claimRef.name", description="The claim that holds it, or held it last."),
        Column("Released", ".spec.releasedAt", "date", description="How long ago it was given back, if it was."),
        age("IPAddressReservation"),
    ),
    status=False,
    labels=LEDGER_LABELS,
)
