"""The controller of GlobalInClusterIPPools, which serve the claims of all namespaces."""

from __future__ import annotations

from nagaya.api.ipam.global_in_cluster_ip_pool import GLOBAL_IN_CLUSTER_IP_POOLS
from nagaya.ipam.pool.controller import Pools
from nagaya.kube.controller import Controller
from nagaya.kube.runtime import Runtime


def controller(rt: Runtime) -> Controller:
    """The controller, to be run by a Manager with the same cache."""
    return Pools(rt, GLOBAL_IN_CLUSTER_IP_POOLS).controller
