"""Control planes of pods as a controller sees them, without any API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.secrets import TYPE, Purpose
from nagaya.api.controlplane.data_store import DATA_STORES, DataStore
from nagaya.api.controlplane.hosted_control_plane import FINALIZER, HOSTED_CONTROL_PLANES, HostedControlPlane
from nagaya.api.meta import ObjectMeta
from nagaya.api.untyped import Untyped
from nagaya.clusters import owners
from nagaya.clusters.certificates import plan as authorities_plan
from nagaya.clusters.certificates.held import Held
from nagaya.clusters.certificates.kubeconfig_plan import KubeconfigPlan, KubeconfigSeen
from nagaya.clusters.certificates.seen import AuthoritiesSeen
from nagaya.controlplane.hosted.control_plane import upgrade
from nagaya.controlplane.hosted.data_store.tenant_store import EtcdTenantStore, KineTenantStore
from nagaya.controlplane.hosted.host.certificates import Authorities
from nagaya.controlplane.hosted.kubernetes.rollout import DeploymentSeen
from nagaya.controlplane.hosted.pods import certificates, endpoint, tenancies
from nagaya.controlplane.hosted.pods.applying import content_of
from nagaya.controlplane.hosted.pods.known import Known
from nagaya.controlplane.hosted.pods.seen import AUTHORITIES, Seen
from nagaya.controlplane.hosted.pods.settings import PodSettings
from nagaya.kube.key import Key
from nagaya.kube.remote import Probe
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.keys import KeyAlgorithm, generate
from nagaya.world import SystemClock

UID = "11111111-2222-3333-4444-555555555555"
CLOCK = SystemClock()
PURPOSES = (Purpose.CLUSTER_AUTHORITY, Purpose.SERVICE_ACCOUNTS, Purpose.FRONT_PROXY_AUTHORITY)
SERVING = {"host": "192.0.2.10", "port": 6443}


@cache
def given() -> Authorities:
    pairs = []
    for name in ("kubernetes", "front-proxy-ca"):
        made = CertificateAuthority.create(name, CLOCK)
        pairs.append(KeyPair(made.certificate_pem, made.key_pem))
    accounts = KeyPair.of_service_accounts(generate(KeyAlgorithm.ECDSA_P256))
    return Authorities(pairs[0], pairs[1], accounts)


@cache
def etcd_place() -> EtcdTenantStore:
    return EtcdTenantStore(("https://etcd:2379",), f"/{UID}", b"authority", KeyPair(b"certificate", b"key"))


def sql_place() -> KineTenantStore:
    return KineTenantStore("postgres://t:canary@db/t", b"", {"password": b"canary"})


def control_plane(status: Mapping[str, Any] | None = None, **spec: Any) -> HostedControlPlane:
    metadata = {"name": "one", "namespace": "tenants", "uid": UID, "generation": 3, "finalizers": [FINALIZER]}
    declared = {"version": "v1.36.3", "replicas": 2, **spec}
    return HOSTED_CONTROL_PLANES.convert({"metadata": metadata, "spec": declared, "status": status or {}})


def cluster(**spec: Any) -> Cluster:
    return CLUSTERS.convert({"metadata": {"name": "one", "namespace": "tenants"}, "spec": spec})


def data_store(driver: str = "etcd", **spec: Any) -> DataStore:
    content = {
        "metadata": {"name": "default", "uid": "d"},
        "spec": {"driver": driver, **spec},
        "status": {"ready": True},
    }
    return DATA_STORES.convert(content)


def service(**spec: Any) -> Untyped:
    metadata = {"name": "one-kube-apiserver", "namespace": "tenants"}
    return Untyped({"kind": "Service", "metadata": metadata, "spec": {"clusterIP": "10.0.0.9", **spec}})


def deployment(version: str = "v1.36.3", **changes: Any) -> DeploymentSeen:
    found = DeploymentSeen(version, True, replicas=2, updated=2, available=2, total=2)
    return replace(found, **changes)


def seen(plane: HostedControlPlane | None = None, *, authorities: bool = True, **changes: Any) -> Seen:
    """A control plane of which everything is known that can be known before there are pods."""
    plane = plane or control_plane({"dataStore": {"name": "default"}}, controlPlaneEndpoint=SERVING)
    whose = cluster()
    owner = owners.controller(HOSTED_CONTROL_PLANES, plane)
    held = {
        purpose: Held(purpose, ObjectMeta(name=f"one-{purpose}", owner_references=(owner,)), TYPE, pair)
        for purpose, pair in zip(PURPOSES, _pairs(), strict=True)
    }
    found = AuthoritiesSeen(Key("tenants", "one"), AUTHORITIES, held if authorities else dict.fromkeys(PURPOSES))
    now = CLOCK.now()
    base = Seen(
        plane=plane,
        cluster=whose,
        settings=PodSettings(),
        reached=endpoint.look(plane, whose, service()),
        target=upgrade.target(plane.spec.version, []),
        authorities=found,
        authorities_plan=authorities_plan.plan(found, initialized=False, maker=owner),
        kubeconfig=KubeconfigSeen(found.cluster, plane.spec.control_plane_endpoint, None, None, now),
        kubeconfig_plan=KubeconfigPlan(),
        store=data_store(),
        store_reached=True,
        encryption=b"",
        encryption_problem="",
        objects={},
        service=service(),
        api_servers=None,
        controllers=None,
        pods=0,
        connected=False,
        probe=Probe(),
        known=Known(store=etcd_place()),
        now=now,
    )
    return replace(base, **changes)


def with_files(found: Seen) -> Seen:
    """The same once certificates are issued."""
    authorities = found.given
    assert authorities is not None
    made_for = tenancies.files_for(found, authorities)
    found.known.files = certificates.ensure({}, authorities, made_for.inputs, dict(made_for.servers), CLOCK)
    found.known.files_for = made_for
    return found


def applied(found: Seen, planned: Any) -> Seen:
    """The same once objects are applied."""
    objects = {str(each): Untyped(content_of(each)) for each in planned}
    return replace(found, objects={**found.objects, **objects})


def _pairs() -> tuple[KeyPair, KeyPair, KeyPair]:
    whole = given()
    return whole.cluster, whole.service_accounts, whole.front_proxy
