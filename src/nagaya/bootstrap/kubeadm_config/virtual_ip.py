"""Whether the machines of a control plane hold the address of its endpoint, as the infrastructure says by annotations.

The infrastructure's object is read from the server, not from the cache: the Cluster may be seen as provisioned before
the cache has heard what its infrastructure said, and a first machine without the address would never be reached.
"""

from __future__ import annotations

from ipaddress import ip_address

from nagaya.api.bootstrap import annotations as annotation
from nagaya.api.cluster.cluster import Cluster
from nagaya.bootstrap.refusal import Refused
from nagaya.bootstrap.virtual_ip import DEFAULT_PORT, IMAGE, NAME, VirtualIP
from nagaya.clusters.external import served
from nagaya.kube.errors import NotFound
from nagaya.kube.runtime import Runtime


async def virtual_ip(rt: Runtime, cluster: Cluster) -> VirtualIP | None:
    """The address, or None if it is somebody else's matter. Raises Refused."""
    reference, endpoint = cluster.spec.infrastructure_ref, cluster.spec.control_plane_endpoint
    kind = None if reference is None else served(rt.kinds, reference.api_group, reference.kind)
    if reference is None or kind is None:
        return None
    try:
        found = await rt.client.get(kind, cluster.metadata.namespace, reference.name)
    except NotFound:
        return None
    said = found.metadata.annotations
    if said.get(annotation.VIRTUAL_IP) != NAME:
        return None
    try:
        ip_address(endpoint.host)
    except ValueError:
        raise Refused(
            "Cluster.spec.controlPlaneEndpoint.host",
            f"kube-vip holds an address, and {endpoint.host or 'nothing'!r} is none",
            f"Give it an IP address, or let {kind.kind} {reference.name} not ask for kube-vip",
        ) from None
    image = said.get(annotation.VIRTUAL_IP_IMAGE) or IMAGE
    return VirtualIP(endpoint.host, endpoint.port or DEFAULT_PORT, image, said.get(annotation.VIRTUAL_IP_INTERFACE, ""))
