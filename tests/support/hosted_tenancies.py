"""Hosted control planes to make pods of: the plainest, and one that uses everything."""

from __future__ import annotations

from typing import Any

from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES, HostedControlPlane
from nagaya.api.meta import OwnerReference
from nagaya.controlplane.hosted.components import needs
from nagaya.controlplane.hosted.components.facts import KineStore, Store, TenantFacts
from nagaya.controlplane.hosted.components.network import TenantNetwork, network_of
from nagaya.controlplane.hosted.kubernetes.tenancy import FOLDERS, Tenancy, facts_in_pod, store_in_pod

ETCD = store_in_pod(["https://etcd-0.stores:2379", "https://etcd-1.stores:2379"], "/t-4711")
SQL = KineStore(
    f"{FOLDERS.sockets}/kine.sock",
    "postgres://t4711:canary-password@db:5432/t4711",
    FOLDERS.certificate("store/ca.crt"),
)
OWNER = OwnerReference(
    api_version=HOSTED_CONTROL_PLANES.api_version, kind="HostedControlPlane", name="one", uid="uid-1", controller=True
)

FULL: dict[str, Any] = {
    "version": "v1.36.3",
    "replicas": 3,
    "controlPlaneEndpoint": {"host": "api.one.example", "port": 6443},
    "network": {
        "serviceCIDRs": ["10.128.0.0/16", "fd00:10:128::/112"],
        "podCIDRs": ["10.64.0.0/14", "fd00:10:64::/48"],
    },
    "apiServer": {
        "extraArgs": [{"name": "event-ttl", "value": "2h"}, {"name": "profiling", "value": "true"}],
        "resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}},
        "admissionPlugins": {"enable": ["AlwaysPullImages"], "disable": ["DefaultStorageClass"]},
        "podSecurity": {"enforce": "baseline"},
        "audit": {"maxBackups": 20, "maxSizeMegabytes": 50},
        "encryption": {"configSecretRef": {"name": "one-encryption"}},
    },
    "controllerManager": {"extraArgs": [{"name": "controllers", "value": "*,-ttl-controller"}]},
    "scheduler": {"image": "mirror.example/kube-scheduler:v1.36.3-fips"},
    "kine": {"extraArgs": [{"name": "datastore-max-open-connections", "value": "20"}]},
    "kubelet": {"preferredAddressTypes": ["Hostname"], "verifyServingCertificates": True},
    "addons": {"konnectivity": {"enabled": True}},
    "deployment": {
        "imageRepository": "mirror.example/k8s/",
        "imagePullSecrets": [{"name": "mirror"}],
        "nodeSelector": {"pool": "control-planes"},
        "tolerations": [{"key": "control-planes", "operator": "Exists", "effect": "NoSchedule"}],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}
        ],
        "priorityClassName": "system-cluster-critical",
        "podMetadata": {"labels": {"team": "platform"}, "annotations": {"backup": "no"}},
        "service": {
            "type": "LoadBalancer",
            "loadBalancerClass": "metallb.io/metallb",
            "loadBalancerSourceRanges": ["192.0.2.0/24"],
            "metadata": {"annotations": {"metallb.io/address-pool": "apis"}},
        },
    },
}


def control_plane(spec: dict[str, Any] | None = None) -> HostedControlPlane:
    return HOSTED_CONTROL_PLANES.convert({"metadata": {"name": "one"}, "spec": spec or {"version": "v1.36.3"}})


def pod_facts(
    spec: dict[str, Any] | None = None, store: Store = ETCD, network: TenantNetwork | None = None
) -> TenantFacts:
    plane = control_plane(spec)
    found = network or network_of(plane.spec.network, None)
    return facts_in_pod(plane, "one", found, store, advertise_address="192.0.2.10")


def tenancy(spec: dict[str, Any] | None = None, store: Store = ETCD, **more: Any) -> Tenancy:
    facts = pod_facts(spec, store)
    files = {name: f"content of {name}".encode() for names in needs.needed(facts).values() for name in names}
    given: dict[str, Any] = {
        "name": "one",
        "namespace": "tenants",
        "owner": OWNER,
        "facts": facts,
        "files": files,
        **more,
    }
    return Tenancy(**given)


def plain() -> Tenancy:
    """What comes of a version and nothing else."""
    return tenancy()


def full() -> Tenancy:
    """What comes of saying everything."""
    return tenancy(FULL, SQL, encryption=b"abc", management_cidrs=("192.0.2.1/32", "fd00::1/128"))
