"""An etcd of a user's as a DataStore: endpoints, and credentials in a Secret."""

from __future__ import annotations

import base64
import time
from asyncio import run

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.controlplane.data_store import DATA_STORES
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.data_store.managed_etcd import ManagedEtcd
from nagaya.kube.client import Client
from nagaya.kube.patches import Merge
from nagaya.world import World
from support.real import installed_binaries
from support.real_processes import Processes

_SECRETS = Kind("", "v1", "Secret", "secrets", Untyped)
_NAMESPACES = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)
_START_TIMEOUT = 120
_LET_GO = Merge({"metadata": {"finalizers": None}})


def started_etcd(processes: Processes) -> ManagedEtcd:
    """An etcd with authentication, which answers. Not to be called from an event loop."""
    etcd = ManagedEtcd.prepare(processes.folder / "etcd", installed_binaries(("etcd",)).path("etcd"), World())
    processes.start("etcd", etcd.spec().command)
    deadline = time.monotonic() + _START_TIMEOUT
    while not run(etcd.driver().probe()).is_ready:
        assert time.monotonic() < deadline, processes.tails()
        time.sleep(0.05)
    return etcd


async def make_data_store(client: Client, name: str, namespace: str, etcd: ManagedEtcd) -> None:
    """A DataStore for it, with its Secret in a namespace."""
    data = {
        "ca.crt": etcd.authority.certificate_pem,
        "ca.key": etcd.authority.key_pem,
        "tls.crt": etcd.client.certificate,
        "tls.key": etcd.client.key,
    }
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    await client.create(_SECRETS, {"metadata": {"name": "etcd", "namespace": namespace}, "data": encoded})
    keys = {key: {"namespace": namespace, "name": "etcd", "key": key} for key in data}
    tls = {
        "certificateAuthority": {"certificate": keys["ca.crt"], "privateKey": keys["ca.key"]},
        "clientCertificate": {"certificate": keys["tls.crt"], "privateKey": keys["tls.key"]},
    }
    spec = {"driver": "etcd", "endpoints": [etcd.endpoint], "tls": tls}
    await client.create(DATA_STORES, {"metadata": {"name": name}, "spec": spec})


async def clear(client: Client, namespace: str) -> None:
    """Remove a namespace with all tenants in it, and the DataStore of the same name, though no controller runs."""
    await client.patch(DATA_STORES, "", namespace, _LET_GO)
    await client.delete(DATA_STORES, "", namespace)
    for plane in (await client.list(HOSTED_CONTROL_PLANES, namespace)).items:
        await client.patch(HOSTED_CONTROL_PLANES, namespace, plane.metadata.name, _LET_GO)
    for cluster in (await client.list(CLUSTERS, namespace)).items:
        await client.patch(CLUSTERS, namespace, cluster.metadata.name, _LET_GO)
    await client.delete(_NAMESPACES, "", namespace)
