"""Whether the machines of a cluster's control plane are to hold the address of its API, told by annotations. Pure.

Who makes boot data knows nothing of Proxmox VE, and reads these annotations from whatever object stands for the
infrastructure. They are written together with the address and before the cluster is told to be ready, so that no
machine of it is made without.

Kubelets are told the address that their machine has from its pool, by a variable that its boot data have a value for.
Left to themselves they may report the address of the API as their own while their machine holds it (CAPMOX #607). They
are told their provider ID likewise: a Node without it is never found to be that of its Machine.

An address from a pool is nobody's before, so the machines may take it without being asked. One that the user gave may
be that of a load balancer, which kube-vip would rob of it: there the user has to say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final

from nagaya.api.bootstrap.annotations import (
    KUBELET_NODE_IP,
    KUBELET_PROVIDER_ID,
    VIRTUAL_IP,
    VIRTUAL_IP_IMAGE,
    VIRTUAL_IP_INTERFACE,
)
from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.proxmox.virtual_ip import KUBE_VIP, ControlPlaneVirtualIP
from nagaya.infrastructure.proxmox.cluster.seen import Seen

NODE_IP: Final = "{{ ds.meta_data.node_ip }}"
PROVIDER_ID: Final = "proxmox://{{ ds.meta_data.instance_id }}"
_ALL: Final = (KUBELET_NODE_IP, KUBELET_PROVIDER_ID, VIRTUAL_IP, VIRTUAL_IP_IMAGE, VIRTUAL_IP_INTERFACE)


def boot_facts(seen: Seen, endpoint: Endpoint) -> dict[str, str]:
    """All annotations for those who make boot data."""
    return {KUBELET_NODE_IP: NODE_IP, KUBELET_PROVIDER_ID: PROVIDER_ID, **virtual_ip(seen, endpoint)}


def virtual_ip(seen: Seen, endpoint: Endpoint) -> dict[str, str]:
    """The annotations that say it; none if the address is somebody else's matter, or is not known yet."""
    spec = seen.proxmox.spec
    wish = spec.control_plane_virtual_ip or ControlPlaneVirtualIP()
    if spec.external_managed_control_plane or seen.hosted or not endpoint.valid or not _is_address(endpoint.host):
        return {}
    if wish.provider is None and spec.control_plane_endpoint_pool_ref is None:
        return {}
    if wish.provider not in (None, KUBE_VIP):
        return {}
    said = {
        VIRTUAL_IP: KUBE_VIP,
        VIRTUAL_IP_IMAGE: wish.image,
        VIRTUAL_IP_INTERFACE: wish.interface or spec.virtual_ip_network_interface,
    }
    return {name: value for name, value in said.items() if value}


def without_address(seen: Seen, endpoint: Endpoint) -> str:
    """A sentence if kube-vip is asked for where it cannot be."""
    wish = seen.proxmox.spec.control_plane_virtual_ip
    if wish is None or wish.provider != KUBE_VIP or not endpoint.host or _is_address(endpoint.host):
        return ""
    return (
        f"kube-vip cannot hold {endpoint.host}, which is a name: give spec.controlPlaneEndpoint.host an IP address, or "
        "set spec.controlPlaneVirtualIP.provider to none."
    )


def changed(present: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str | None]:
    """What is to be written so that the annotations say what they should."""
    return {name: wanted.get(name) for name in _ALL if present.get(name) != wanted.get(name)}


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
