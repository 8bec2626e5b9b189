"""Everything that the demo makes in the management API: all of it in a namespace of its own, but for its DataStore.

That is what makes `nagaya demo --delete` safe: what is not here was not made by the demo, and is not touched.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from nagaya.api.controlplane.data_store import DATA_STORES, ETCD
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.api.proxmox.proxmox_connection import KEY_ROOT_CA, KEY_SECRET, KEY_TOKEN, PROXMOX_CONNECTIONS
from nagaya.binaries.releases import DEFAULT_VERSION
from nagaya.blueprints.manifest import Manifest
from nagaya.blueprints.wish import HOSTED, KUBEADM, PROXMOX, Pool, ProxmoxWish, Size, Wish

NAMESPACE: Final = "nagaya-demo"
CLUSTER: Final = "demo"
CONNECTION: Final = "proxmox"
DATA_STORE: Final = "nagaya-demo"
LABEL: Final = "nagaya.dev/demo"
MACHINES: Final = Pool("machines")
APIS: Final = Pool("apis")
DNS: Final = "10.10.0.1"


@dataclass(frozen=True, slots=True)
class DataCenterFacts:
    """How the emulated data center is reached."""

    endpoints: Sequence[str]
    token: str
    secret: str = field(repr=False)
    authority: str
    pool: str


def surroundings(facts: DataCenterFacts, *, real: bool) -> list[Manifest]:
    """What the tenant needs before it: the way to the data center, addresses, a place for its data."""
    secret = {KEY_TOKEN: facts.token, KEY_SECRET: facts.secret, KEY_ROOT_CA: facts.authority}
    spec = {"endpoints": [*facts.endpoints], "credentialsRef": {"name": CONNECTION}, "pool": facts.pool}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": {LABEL: ""}}},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": _metadata(CONNECTION),
            "data": {name: base64.b64encode(value.encode()).decode() for name, value in secret.items()},
        },
        {
            "apiVersion": PROXMOX_CONNECTIONS.api_version,
            "kind": PROXMOX_CONNECTIONS.kind,
            "metadata": _metadata(CONNECTION),
            "spec": spec,
        },
        _pool(MACHINES, "10.10.0.20-10.10.0.99", DNS),
        data_store() if real else _pool(APIS, _loopback_addresses(facts), ""),
    ]


def _loopback_addresses(facts: DataCenterFacts) -> str:
    """Where the APIs of simulated tenants listen. They depend on the data center, so that the demos of two data folders
    run on one machine; below 127.64, where the API servers of hosted control planes are."""
    second, third = hashlib.sha256(facts.authority.encode()).digest()[:2]
    network = f"127.{1 + second % 63}.{third}"
    return f"{network}.80-{network}.89"


def data_store() -> Manifest:
    """Where the real control plane keeps its data: an etcd of its own, which goes with it."""
    metadata = {"name": DATA_STORE, "labels": {LABEL: ""}}
    spec = {"driver": ETCD, "managed": True}
    return {"apiVersion": DATA_STORES.api_version, "kind": DATA_STORES.kind, "metadata": metadata, "spec": spec}


def wish(*, real: bool, workers: int = 2) -> Wish:
    """The tenant. Without the real programs its control plane is on emulated machines, and simulated as they are."""
    endpoint: str | Pool = "" if real else APIS
    proxmox = ProxmoxWish(CONNECTION, MACHINES, (DNS,), endpoint, size=Size(2, 2048, 20))
    store = DATA_STORE if real else ""
    plane = HOSTED if real else KUBEADM
    return Wish(CLUSTER, NAMESPACE, DEFAULT_VERSION, PROXMOX, plane, 1, workers, proxmox, store)


def _pool(pool: Pool, addresses: str, gateway: str) -> Manifest:
    # Nobody else's neighbours remember these addresses, so they need no rest.
    spec: Manifest = {"addresses": [addresses], "prefix": 24, "addressReuseGracePeriodSeconds": 0}
    if gateway:
        spec["gateway"] = gateway
    return {
        "apiVersion": IN_CLUSTER_IP_POOLS.api_version,
        "kind": IN_CLUSTER_IP_POOLS.kind,
        "metadata": _metadata(pool.name),
        "spec": spec,
    }


def _metadata(name: str) -> Manifest:
    return {"name": name, "namespace": NAMESPACE, "labels": {LABEL: ""}}
