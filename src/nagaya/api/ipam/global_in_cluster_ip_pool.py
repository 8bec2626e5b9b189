"""GlobalInClusterIPPool: addresses that claims of all namespaces are given."""

from __future__ import annotations

from typing import Annotated, Final

from nagaya.api.definition import Definition
from nagaya.api.ipam.group import GROUP, POOL_LABELS, VERSION
from nagaya.api.ipam.in_cluster_ip_pool import InClusterIPPoolSpec, InClusterIPPoolStatus, columns
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import doc


class GlobalInClusterIPPool(Resource):
    """Addresses that claims of all namespaces are given."""

    spec: Annotated[InClusterIPPoolSpec, doc("Which addresses there are.")]
    status: Annotated[InClusterIPPoolStatus, doc("How many are left.")] = InClusterIPPoolStatus()


GLOBAL_IN_CLUSTER_IP_POOLS: Final = Kind(
    GROUP, VERSION, "GlobalInClusterIPPool", "globalinclusterippools", GlobalInClusterIPPool, namespaced=False
)
DEFINITION: Final = Definition(GLOBAL_IN_CLUSTER_IP_POOLS, columns=columns("GlobalInClusterIPPool"), labels=POOL_LABELS)
