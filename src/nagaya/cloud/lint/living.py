"""The manifests of a running tenant: what its own API and the management API say of it. Reads, and changes nothing.

Of Secrets only those are read that a cloud controller manager mounts, because its configuration says whether it needs
DNS, and those that a ClusterResourceSet applies. What an API refuses or does not serve is left out and named, and the
set then no longer counts as complete.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from nagaya.api.addons.cluster_resource_set import CLUSTER_RESOURCE_SETS
from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS
from nagaya.api.bootstrap.kubeadm_config_template import KUBEADM_CONFIG_TEMPLATES
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.cloud.lint.components import is_cloud
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.plain import at, mappings, text
from nagaya.cloud.lint.selection import selects
from nagaya.cloud.lint.workload import KINDS, MIRROR, Workload
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection
from nagaya.kube.errors import ApiError, Forbidden, NotFound
from nagaya.kube.kubeconfig import KubeconfigError, parse_text

CLUSTER_LABEL: Final = "cluster.x-k8s.io/cluster-name"
SYSTEM: Final = "kube-system"
_SYSTEM_MAPS: Final = ("kubeadm-config", "kubelet-config", "cilium-config")


def _kind(group: str, version: str, kind: str, plural: str, namespaced: bool = True) -> Kind[Untyped]:
    return Kind(group, version, kind, plural, Untyped, namespaced)


_SECRETS: Final = _kind("", "v1", "Secret", "secrets")
_CONFIG_MAPS: Final = _kind("", "v1", "ConfigMap", "configmaps")
_PODS: Final = _kind("", "v1", "Pod", "pods")
_OF_TENANT: Final = (
    _kind("", "v1", "Node", "nodes", namespaced=False),
    _kind("", "v1", "Namespace", "namespaces", namespaced=False),
    _kind("", "v1", "Service", "services"),
    _kind("apps", "v1", "Deployment", "deployments"),
    _kind("apps", "v1", "DaemonSet", "daemonsets"),
    _kind("apps", "v1", "StatefulSet", "statefulsets"),
    _kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False),
    _kind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    _kind("rbac.authorization.k8s.io", "v1", "Role", "roles"),
    _kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),
    _kind(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        namespaced=False,
    ),
    _kind(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        namespaced=False,
    ),
)
_IF_SERVED: Final = (
    _kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    _kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    _kind("external-secrets.io", "v1", "ExternalSecret", "externalsecrets"),
    _kind("external-secrets.io", "v1beta1", "ExternalSecret", "externalsecrets"),
    _kind("bitnami.com", "v1alpha1", "SealedSecret", "sealedsecrets"),
    _kind("cert-manager.io", "v1", "Certificate", "certificates"),
    _kind("kyverno.io", "v1", "ClusterPolicy", "clusterpolicies", namespaced=False),
    _kind("operator.tigera.io", "v1", "Installation", "installations", namespaced=False),
)
_OF_CLUSTER: Final = tuple(
    _kind(each.group, each.version, each.kind, each.plural)
    for each in (KUBEADM_CONTROL_PLANES, HOSTED_CONTROL_PLANES, KUBEADM_CONFIGS, MACHINES, MACHINE_DEPLOYMENTS)
)
_TEMPLATES: Final = _kind(
    KUBEADM_CONFIG_TEMPLATES.group,
    KUBEADM_CONFIG_TEMPLATES.version,
    KUBEADM_CONFIG_TEMPLATES.kind,
    KUBEADM_CONFIG_TEMPLATES.plural,
)
_RESOURCE_SETS: Final = _kind(
    CLUSTER_RESOURCE_SETS.group, CLUSTER_RESOURCE_SETS.version, CLUSTER_RESOURCE_SETS.kind, CLUSTER_RESOURCE_SETS.plural
)
_CLUSTERS: Final = _kind(CLUSTERS.group, CLUSTERS.version, CLUSTERS.kind, CLUSTERS.plural)


class NotReadable(Exception):
    """A tenant cannot be looked at; the message says why and what to do."""


@dataclass(slots=True)
class Collected:
    """What was read."""

    objects: list[Manifest] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """What could not be read, with the reason."""


async def tenant_connection(management: Client, namespace: str, name: str) -> Connection:
    """How to reach a tenant. Raises NotReadable."""
    secret = f"{name}-kubeconfig"
    try:
        found = await management.get(_SECRETS, namespace, secret)
    except NotFound as error:
        raise NotReadable(
            f"There is no Secret {namespace}/{secret}: cluster {name} does not exist, or has no control plane yet."
        ) from error
    try:
        value = base64.b64decode(text(found.at("data", "value")), validate=True)
        return parse_text(value, source=f"Secret {namespace}/{secret}")
    except (binascii.Error, KubeconfigError) as error:
        raise NotReadable(f"Secret {namespace}/{secret} holds no usable kubeconfig: {error}") from error


async def of_management(management: Client, namespace: str, name: str) -> Collected:
    """What the management API says of a tenant: how its nodes are made, and what is applied to it."""
    found = Collected()
    source = f"management API, namespace {namespace}"
    labels = f"{CLUSTER_LABEL}={name}"
    try:
        cluster = await management.get(_CLUSTERS, namespace, name)
    except ApiError as error:
        found.refused.append(f"Cluster {namespace}/{name}: {error}")
        return found
    _add(found, (cluster,), source)
    for kind in _OF_CLUSTER:
        await _list(management, kind, found, source, namespace, labels=labels, optional=True)
    infrastructure = {text(at(cluster.raw, "spec", "infrastructureRef", "kind"))}
    for each in [one for one in found.objects if one.kind == "MachineDeployment"]:
        machine = at(each.raw, "spec", "template", "spec")
        infrastructure.add(text(at(machine, "infrastructureRef", "kind")))
        template = text(at(machine, "bootstrap", "configRef", "name"))
        if template:
            await _get(management, _TEMPLATES, found, source, namespace, template)
    found.objects += [
        Manifest({"apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": kind, "metadata": {"name": name}}, source)
        for kind in sorted(infrastructure - {""})
    ]
    await _resource_sets(management, found, source, namespace, dict(cluster.metadata.labels))
    return found


async def of_tenant(tenant: Client) -> Collected:
    """What a tenant's own API says."""
    found, source = Collected(), "tenant"
    for kind in _OF_TENANT:
        await _list(tenant, kind, found, source)
    for kind in _IF_SERVED:
        await _list(tenant, kind, found, source, optional=True)
    pods = Collected()
    await _list(tenant, _PODS, pods, source, SYSTEM)
    found.objects += [each for each in pods.objects if MIRROR in each.annotations]
    found.refused += pods.refused
    for name in _SYSTEM_MAPS:
        await _get(tenant, _CONFIG_MAPS, found, source, SYSTEM, name)
    for namespace, what, name in sorted(set(_mounted(found.objects))):
        await _get(tenant, _SECRETS if what == "Secret" else _CONFIG_MAPS, found, source, namespace, name)
    return found


async def _resource_sets(
    management: Client, found: Collected, source: str, namespace: str, labels: dict[str, str]
) -> None:
    sets = Collected()
    await _list(management, _RESOURCE_SETS, sets, source, namespace, optional=True)
    found.refused += sets.refused
    for each in sets.objects:
        selector = at(each.raw, "spec", "clusterSelector")
        if not selector or not selects(selector, labels):
            continue
        found.objects.append(each)
        for resource in mappings(each.spec.get("resources")):
            kind = _SECRETS if resource.get("kind") == "Secret" else _CONFIG_MAPS
            await _get(management, kind, found, source, namespace, text(resource.get("name")))


def _mounted(objects: Iterable[Manifest]) -> Iterator[tuple[str, str, str]]:
    """The Secrets and ConfigMaps that cloud controller managers cannot start without."""
    for each in objects:
        workload = Workload(each)
        if each.kind in KINDS and is_cloud(workload):
            yield from ((each.namespace, one.kind, one.name) for one in workload.references())


async def _list(
    client: Client,
    kind: Kind[Untyped],
    found: Collected,
    source: str,
    namespace: str = "",
    *,
    labels: str = "",
    optional: bool = False,
) -> None:
    try:
        _add(found, (await client.list(kind, namespace, labels=labels)).items, source)
    except NotFound:
        if not optional:
            found.refused.append(f"{kind}: not served in {kind.version}")
    except Forbidden as error:
        found.refused.append(f"{kind}: {error}")


async def _get(client: Client, kind: Kind[Untyped], found: Collected, source: str, namespace: str, name: str) -> None:
    """One object. That it does not exist is for the checks to say."""
    try:
        _add(found, (await client.get(kind, namespace, name),), source)
    except NotFound:
        return
    except Forbidden as error:
        found.refused.append(f"{kind.kind} {namespace}/{name}: {error}")


def _add(found: Collected, objects: Iterable[Untyped], source: str) -> None:
    found.objects += [Manifest(each.raw, source) for each in objects]
