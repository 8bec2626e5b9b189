"""The ClusterConfiguration that `kubeadm init` leaves in a cluster: what it was told, and what it filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

from nagaya.apiserver.meta.status import JsonObject
from nagaya.simulators.tenant.settings import TenantSettings
from nagaya.wire import bounded_yaml

REGISTRY: Final = "registry.k8s.io"
_API_VERSION: Final = "kubeadm.k8s.io/v1beta4"
_KIND: Final = "ClusterConfiguration"
_OLD: Final = "kubeadm.k8s.io/v1beta3"

Document = Mapping[str, Any]
NOTHING_TOLD: Final[Document] = {}


def complete(settings: TenantSettings, endpoint: str, told: Document) -> dict[str, Any]:
    """The configuration with everything that kubeadm fills in. What it was told counts, but for the form of old
    versions, which it leaves behind."""
    version = told.get("kubernetesVersion") or settings.version
    networking = told.get("networking") or {}
    made: dict[str, Any] = {
        "apiServer": {},
        "apiVersion": _API_VERSION,
        "caCertificateValidityPeriod": "87600h0m0s",
        "certificateValidityPeriod": "8760h0m0s",
        "certificatesDir": "/etc/kubernetes/pki",
        "clusterName": settings.name,
        "controlPlaneEndpoint": endpoint,
        "controllerManager": {},
        "dns": {},
        "encryptionAlgorithm": "RSA-2048",
        "etcd": {"local": {"dataDir": "/var/lib/etcd"}},
        "imageRepository": REGISTRY,
        "kind": _KIND,
        "kubernetesVersion": version,
        "networking": {
            "dnsDomain": "cluster.local",
            "podSubnet": settings.pod_subnet,
            "serviceSubnet": settings.service_subnet,
            **networking,
        },
        "proxy": {},
        "scheduler": {},
    }
    old = told.get("apiVersion") == _OLD
    for name, value in told.items():
        if name in ("apiVersion", "kind", "networking", "kubernetesVersion") or value in (None, "", {}, []):
            continue
        if name in ("apiServer", "controllerManager", "scheduler") and isinstance(value, dict):
            value = _component(value) if old else value
        if name == "etcd" and isinstance(value, dict):
            value = _etcd(value, old=old)
        made[name] = value
    return made


def text(configuration: Document) -> str:
    """As it stands in the ConfigMap."""
    written: str = yaml.dump(dict(configuration), Dumper=yaml.CSafeDumper, sort_keys=True)
    return written


def parse(config_map: JsonObject | None) -> Document:
    """What stands in the ConfigMap, as the next machine that joins reads it; nothing if it cannot be read."""
    written = ((config_map or {}).get("data") or {}).get(_KIND) or ""
    try:
        found = bounded_yaml.load(written)
    except yaml.YAMLError:
        return NOTHING_TOLD
    return found if isinstance(found, dict) else NOTHING_TOLD


def has_local_etcd(configuration: Document) -> bool:
    """Whether control plane machines run members of etcd."""
    return "external" not in (configuration.get("etcd") or {})


def image(configuration: Document, part: str, name: str, tag: str) -> str:
    """The image of CoreDNS (the part `dns`) or etcd (`etcd`), which may come from elsewhere or have another tag."""
    settings = configuration.get(part) or {}
    if part == "etcd":
        settings = settings.get("local") or {}
    repository = settings.get("imageRepository") or configuration.get("imageRepository") or REGISTRY
    if part == "dns" and repository == REGISTRY:
        repository = f"{REGISTRY}/coredns"  # where CoreDNS has a folder of its own
    return f"{repository}/{name}:{settings.get('imageTag') or tag}"


def _etcd(given: dict[str, Any], *, old: bool) -> dict[str, Any]:
    local = given.get("local")
    if not isinstance(local, dict):
        return given
    local = _component(local) if old else local
    return {**given, "local": {**local, "dataDir": local.get("dataDir") or "/var/lib/etcd"}}


def _component(given: dict[str, Any]) -> dict[str, Any]:
    """v1beta3 has arguments as a mapping, and a limit for the start that moved elsewhere."""
    made = {name: value for name, value in given.items() if name != "timeoutForControlPlane"}
    if isinstance(made.get("extraArgs"), dict):
        made["extraArgs"] = [{"name": name, "value": value} for name, value in sorted(made["extraArgs"].items())]
    return made
