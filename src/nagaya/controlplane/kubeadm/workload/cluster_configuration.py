"""kubeadm's ClusterConfiguration in a tenant, brought in line with what its control plane declares.

Machines that join read it, so it has to be right before the first of a new kind does. It is kubeadm's document: fields
that a control plane does not declare stay as they are. What it does declare replaces what is there, also by nothing;
kubeadm has defaults for all of it. The version of the document follows the version of Kubernetes, and never goes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from nagaya.api.bootstrap.cluster_configuration import (
    DNS,
    APIServer,
    ClusterConfiguration,
    ControllerManager,
    Scheduler,
)
from nagaya.api.bootstrap.component import Argument
from nagaya.api.bootstrap.etcd import ExternalEtcd, LocalEtcd
from nagaya.api.controlplane.kubeadm_control_plane import KubeadmControlPlane
from nagaya.api.model import Model
from nagaya.clusters.kubernetes_version import KubernetesVersion, parse
from nagaya.controlplane.kubeadm.kubeadm_config import kubeadm_spec

Document = dict[str, Any]

V1BETA3: Final = "kubeadm.k8s.io/v1beta3"
V1BETA4: Final = "kubeadm.k8s.io/v1beta4"
V1BETA4_FROM: Final = (1, 31)
_COMPONENTS: Final = ("apiServer", "controllerManager", "scheduler")
_PARTS: Final = (*_COMPONENTS, "etcd", "dns")
_UNDECLARED: Final = ClusterConfiguration()


def updated(present: Mapping[str, Any], kcp: KubeadmControlPlane) -> Document:
    """The document as it shall be for a rollout. Raises ValueError if it is not one that is understood."""
    document, version = _for_version(present, kcp)
    if kcp.spec.kubeadm_config_spec.cluster_configuration == _UNDECLARED:
        return document
    declared = kubeadm_spec(kcp, join=False).cluster_configuration
    old = document["apiVersion"] == V1BETA3
    changes: Document = {
        "featureGates": dict(declared.feature_gates),
        "apiServer": _component(declared.api_server, old),
        "controllerManager": _component(declared.controller_manager, old),
        "scheduler": _component(declared.scheduler, old),
        "etcd": _etcd(declared, old),
    }
    if old and (timeout := _part(document, "apiServer").get("timeoutForControlPlane")):
        changes["apiServer"]["timeoutForControlPlane"] = timeout
    if declared.image_repository:
        changes["imageRepository"] = declared.image_repository
    if not old:
        days = declared.certificate_validity_period_days
        changes["certificateValidityPeriod"] = f"{24 * days}h0m0s" if days else ""
        changes["encryptionAlgorithm"] = declared.encryption_algorithm
    return _with(document, changes, version)


def with_dns(present: Mapping[str, Any], kcp: KubeadmControlPlane) -> Document:
    """The document with the image of CoreDNS that is declared. Raises as `updated` does."""
    document, version = _for_version(present, kcp)
    dns: DNS = kcp.spec.kubeadm_config_spec.cluster_configuration.dns
    declared = {"imageRepository": dns.image_repository, "imageTag": dns.image_tag}
    kept = {name: value for name, value in {**_part(document, "dns"), **declared}.items() if value}
    return _with(document, {"dns": kept}, version)


def _for_version(present: Mapping[str, Any], kcp: KubeadmControlPlane) -> tuple[Document, KubernetesVersion]:
    version = parse(kcp.spec.version)
    if version is None:
        raise ValueError(f"{kcp.spec.version!r} is no Kubernetes version")
    wanted = V1BETA4 if (version.major, version.minor) >= V1BETA4_FROM else V1BETA3
    # A text that is empty says nothing, not even its version.
    written = present.get("apiVersion", wanted)
    if written not in (V1BETA3, V1BETA4) or present.get("kind", "ClusterConfiguration") != "ClusterConfiguration":
        raise ValueError(f"{written} {present.get('kind', '')} is not a ClusterConfiguration that is known")
    document = {"kind": "ClusterConfiguration", **present, "apiVersion": max(written, wanted)}
    if (written, wanted) == (V1BETA3, V1BETA4):
        document = _lifted(document)
    return _with(document, {}, version), version


def _with(document: Document, changes: Mapping[str, Any], version: KubernetesVersion) -> Document:
    """With changes. One that says nothing removes a field, but empties a part, as kubeadm itself writes it."""
    kept = {name: value for name, value in document.items() if name not in changes}
    said = {name: value for name, value in changes.items() if value or name in _PARTS}
    return {**kept, **said, "kubernetesVersion": f"v{version}"}


def _component(settings: APIServer | ControllerManager | Scheduler, old: bool) -> Document:
    content = _content(settings)
    return _old(content, settings.extra_args) if old else content


def _etcd(declared: ClusterConfiguration, old: bool) -> Document:
    external: ExternalEtcd | None = declared.etcd.external
    if external is not None:
        return {"external": _content(external)}
    local: LocalEtcd = declared.etcd.local
    content = _content(local)
    if not content:
        return {}
    return {"local": _old(content, local.extra_args) if old else content}


def _content(settings: Model) -> Document:
    """Settings in the words of v1beta4, which are those of our API too."""
    content: Document = msgspec.json.decode(msgspec.json.encode(settings))
    return content


def _old(content: Document, arguments: Iterable[Argument]) -> Document:
    """In the words of v1beta3, which has arguments as a map and no environment."""
    given = {name: value for name, value in content.items() if name not in ("extraArgs", "extraEnvs")}
    named = {each.name: each.value for each in arguments}
    return {**given, "extraArgs": named} if named else given


def _lifted(document: Document) -> Document:
    """From v1beta3 to v1beta4: arguments became a list, and a time limit moved to machines' own configuration."""
    lifted = dict(document)
    for name in _COMPONENTS:
        if isinstance(lifted.get(name), Mapping):
            lifted[name] = _with_list(lifted[name])
            lifted[name].pop("timeoutForControlPlane", None)
    local = _part(document, "etcd").get("local")
    if isinstance(local, Mapping):
        lifted["etcd"] = {**_part(document, "etcd"), "local": _with_list(local)}
    return lifted


def _with_list(part: Mapping[str, Any]) -> Document:
    arguments = part.get("extraArgs")
    if not isinstance(arguments, Mapping):
        return dict(part)
    listed = [{"name": name, "value": str(value)} for name, value in sorted(arguments.items())]
    rest = {name: value for name, value in part.items() if name != "extraArgs"}
    return {**rest, "extraArgs": listed} if listed else rest


def _part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, Mapping) else {}
