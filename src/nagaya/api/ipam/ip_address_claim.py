"""IPAddressClaim: a wish for one address of a pool. The provider of the pool answers with an IPAddress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.cluster.state import Conditions
from nagaya.api.cluster.v1beta1 import DEPRECATED, DeprecatedStatus
from nagaya.api.definition import Column, Definition, age
from nagaya.api.ipam.references import IPAddressReference, IPPoolReference
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc

# Conditions

READY: Final = "Ready"
"""The claim has its address."""

# Reasons of Ready

ALLOCATION_FAILED: Final = "AllocationFailed"
POOL_NOT_READY: Final = "PoolNotReady"
POOL_EXHAUSTED: Final = "PoolExhausted"


class IPAddressClaimSpec(Model):
    """Where the address is to come from."""

    cluster_name: Annotated[
        str,
        doc(
            "Name of the Cluster that the address is for. While that is paused, no address is given.",
            minLength=1,
            maxLength=63,
        ),
    ] = ""
    pool_ref: Annotated[IPPoolReference, doc("The pool to take the address from.")]


class IPAddressClaimStatus(Model):
    """The address, once there is one."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Conditions = ()
    address_ref: Annotated[
        IPAddressReference | None, doc("The IPAddress that was given to the claim. None yet if left out.")
    ] = None
    deprecated: Annotated[DeprecatedStatus, DEPRECATED] = DeprecatedStatus()


class IPAddressClaim(Resource):
    """A wish for one address of a pool."""

    spec: Annotated[IPAddressClaimSpec, doc("Where the address is to come from. Cannot be changed.")]
    status: Annotated[IPAddressClaimStatus, doc("The address, once there is one.")] = IPAddressClaimStatus()


IP_ADDRESS_CLAIMS: Final = Kind("ipam.cluster.x-k8s.io", "v1beta2", "IPAddressClaim", "ipaddressclaims", IPAddressClaim)
DEFINITION: Final = Definition(
    IP_ADDRESS_CLAIMS,
    columns=(
        Column("Pool Name", ".spec.poolRef.name", description="The pool to take an address from."),
        Column("Pool Kind", ".spec.poolRef.kind", description="The kind of that pool."),
        age("IPAddressClaim"),
    ),
)
