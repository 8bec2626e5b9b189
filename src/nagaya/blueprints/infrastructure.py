"""What a drafted cluster stands on: simulated machines, or VMs of Proxmox VE."""

from __future__ import annotations

from typing import Any

from nagaya.api.kind import Kind
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.api.proxmox.proxmox_machine_template import PROXMOX_MACHINE_TEMPLATES
from nagaya.api.proxmox.references import POOL_GROUP
from nagaya.api.proxmox.template_source import BEST_SUBSET
from nagaya.api.simulated.simulated_cluster import SIMULATED_CLUSTERS
from nagaya.api.simulated.simulated_machine_template import SIMULATED_MACHINE_TEMPLATES
from nagaya.blueprints.manifest import Manifest, manifest
from nagaya.blueprints.wish import HOSTED, Pool, ProxmoxWish, Ranges, Wish


def cluster_kind(wish: Wish) -> Kind[Any]:
    """The kind of what the machines share."""
    return SIMULATED_CLUSTERS if wish.proxmox is None else PROXMOX_CLUSTERS


def template_kind(wish: Wish) -> Kind[Any]:
    """The kind of the templates of machines."""
    return SIMULATED_MACHINE_TEMPLATES if wish.proxmox is None else PROXMOX_MACHINE_TEMPLATES


def shared(wish: Wish) -> Manifest:
    """What the machines share."""
    proxmox = wish.proxmox
    if proxmox is None:
        return manifest(SIMULATED_CLUSTERS, wish, wish.name, {})
    spec: Manifest = {"connectionRef": {"name": proxmox.connection}}
    if wish.control_plane == HOSTED:
        spec["externalManagedControlPlane"] = True
    elif isinstance(proxmox.endpoint, Pool):
        spec["controlPlaneEndpointPoolRef"] = _pool(proxmox.endpoint)
        spec["controlPlaneVirtualIP"] = {"provider": "kube-vip"}
    else:
        spec["controlPlaneEndpoint"] = {"host": proxmox.endpoint, "port": 6443}
        spec["controlPlaneVirtualIP"] = {"provider": "kube-vip"}
    return manifest(PROXMOX_CLUSTERS, wish, wish.name, {**spec, **_addressing(proxmox)})


def machines(wish: Wish, name: str) -> Manifest:
    """What machines of one sort are made from."""
    spec = {} if wish.proxmox is None else _vm(wish.proxmox)
    return manifest(template_kind(wish), wish, name, {"template": {"spec": spec}})


def _addressing(proxmox: ProxmoxWish) -> Manifest:
    match proxmox.addresses:
        case Ranges() as ranges:
            ipv4 = {"addresses": [*ranges.addresses], "prefix": ranges.prefix, "gateway": ranges.gateway}
            return {"ipv4Config": ipv4, "dnsServers": [*proxmox.dns]}
        case _:
            # Of a pool that several clusters share, network devices take addresses themselves.
            return {"addressing": "dhcp", **({"dnsServers": [*proxmox.dns]} if proxmox.dns else {})}


def _vm(proxmox: ProxmoxWish) -> Manifest:
    device: Manifest = {"name": "net0", "bridge": proxmox.bridge}
    if isinstance(proxmox.addresses, Pool):
        device |= {"addressing": "static", "ipPoolRef": [_pool(proxmox.addresses)]}
    tags = [proxmox.image] if proxmox.image else [*proxmox.template_tags]
    selector: Manifest = {"matchPolicy": BEST_SUBSET, **({"matchTags": tags} if tags else {})}
    if not proxmox.image:
        selector["matchKubernetesVersion"] = True
    return {
        "templateSelector": selector,
        "numCores": proxmox.size.cores,
        "memoryMiB": proxmox.size.memory_mib,
        "disks": {"bootVolume": {"disk": "scsi0", "sizeGb": proxmox.size.disk_gb}},
        "network": {"networkDevices": [device]},
    }


def _pool(pool: Pool) -> Manifest:
    return {"apiGroup": POOL_GROUP, "kind": pool.kind, "name": pool.name}
