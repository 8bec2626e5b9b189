"""IPAddress: an address that a pool gave to a claim. Made by the provider of the pool; never changed."""

from __future__ import annotations

from typing import Annotated, Final

from nagaya.api.definition import Column, Definition, age
from nagaya.api.ipam.references import IPAddressClaimReference, IPPoolReference
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc


class IPAddressSpec(Model):
    """The address, and what it was given for."""

    claim_ref: Annotated[IPAddressClaimReference, doc("The claim that the address was given to.")]
    pool_ref: Annotated[IPPoolReference, doc("The pool that the address is from.")]
    address: Annotated[str, doc("The address, of IPv4 or IPv6, without a prefix length.", minLength=1, maxLength=39)]
    prefix: Annotated[int, doc("Length of the network's prefix, such as 24 for 10.0.0.0/24.", minimum=0, maximum=128)]
    gateway: Annotated[str, doc("The router of the network. None if left out.", minLength=1, maxLength=39)] = ""


class IPAddress(Resource):
    """An address that a pool gave to a claim."""

    spec: Annotated[IPAddressSpec, doc("The address, and what it was given for. Cannot be changed.")]


IP_ADDRESSES: Final = Kind("ipam.cluster.x-k8s.io", "v1beta2", "IPAddress", "ipaddresses", IPAddress)
DEFINITION: Final = Definition(
    IP_ADDRESSES,
    columns=(
        Column("Address", ".spec.address", description="The address."),
        Column("Pool Name", ".spec.poolRef.name", description="The pool that it is from."),
        Column("Pool Kind", ".spec.poolRef.kind", description="The kind of that pool."),
        age("IPAddress"),
    ),
    status=False,
)
