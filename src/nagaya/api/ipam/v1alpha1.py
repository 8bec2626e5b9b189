"""Pools of v1alpha1 as those of v1alpha2: a subnet, or a first and a last address, becomes a range of addresses.

Pure. The new object says the same; `subnet`, `start` and `end` are gone from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any, Final

from nagaya.api.ipam.group import GROUP, VERSION

OLD_API_VERSION: Final = f"{GROUP}/v1alpha1"
POOL_KINDS: Final = ("InClusterIPPool", "GlobalInClusterIPPool")
_REPLACED: Final = ("subnet", "start", "end")


def converted(pool: Mapping[str, Any]) -> dict[str, Any]:
    """A pool as v1alpha2 has it. Raises ValueError if its subnet is none."""
    spec: dict[str, Any] = {**(pool.get("spec") or {})}
    subnet, first, last = (spec.pop(name, "") or "" for name in _REPLACED)
    if subnet:
        network = ip_network(subnet, strict=False)
        # The first address is that of the network, the last one is taken for its broadcast address.
        first = first or str(network.network_address + 1)
        last = last or str(network.broadcast_address - 1)
        spec["prefix"] = spec.get("prefix") or network.prefixlen
    if first and last:
        spec["addresses"] = [*(spec.get("addresses") or ()), f"{first}-{last}"]
    return {**pool, "apiVersion": f"{GROUP}/{VERSION}", "spec": spec}
