"""The controller of InClusterIPPools, which serve the claims of their own namespace."""

from __future__ import annotations

from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.ipam.pool.controller import Pools
from nagaya.kube.controller import Controller
from nagaya.kube.runtime import Runtime


def controller(rt: Runtime) -> Controller:
    """The controller, to be run by a Manager with the same cache."""
    return Pools(rt, IN_CLUSTER_IP_POOLS).controller
