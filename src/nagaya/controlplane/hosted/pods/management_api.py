"""Where the management cluster's own API is: what no tenant's API server shall reach."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_network
from typing import Final

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.kubernetes.kinds import SERVICES
from nagaya.kube.client import Client

_NAMESPACE: Final = "default"
_NAME: Final = "kubernetes"
_SLICES: Final = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", Untyped)


async def management_cidrs(client: Client) -> tuple[str, ...]:
    """The addresses of Service default/kubernetes and of what is behind it, as ranges. Raises what the server refuses.

    To be asked at the start: pods of API servers that come later are not among them.
    """
    service = await client.get(SERVICES, _NAMESPACE, _NAME)
    slices = await client.list(_SLICES, _NAMESPACE, labels=f"kubernetes.io/service-name={_NAME}")
    found = [*(service.at("spec", "clusterIPs") or ())]
    for each in slices.items:
        for endpoint in each.at("endpoints") or ():
            found += endpoint.get("addresses") or ()
    return _ranges(found)


def _ranges(addresses: Iterable[str]) -> tuple[str, ...]:
    """Each address as a range of its own; what is a name is left out."""
    found = set()
    for each in addresses:
        try:
            found.add(str(ip_network(each)))
        except ValueError:
            continue
    return tuple(sorted(found))
