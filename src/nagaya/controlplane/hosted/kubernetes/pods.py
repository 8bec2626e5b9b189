"""What all pods of a control plane have in common: no rights, files of their own, and a place apart from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nagaya.api.controlplane.hosted_components import RESOURCES, Amounts, Resources
from nagaya.api.controlplane.hosted_deployment import is_pod_annotation
from nagaya.controlplane.hosted.components.needs import is_kubeconfig
from nagaya.controlplane.hosted.kubernetes import names
from nagaya.controlplane.hosted.kubernetes.kinds import DEPLOYMENTS, Content, Planned
from nagaya.controlplane.hosted.kubernetes.metadata import metadata
from nagaya.controlplane.hosted.kubernetes.tenancy import FOLDERS, Tenancy
from nagaya.controlplane.hosted.tenant.releases import image_tag

USER: Final = 65532
"""Nobody in particular: the user of images without a system."""
_READABLE: Final = 0o440
"""Files belong to root and to the group of the pod."""
_ZONE: Final = "topology.kubernetes.io/zone"
_HOST: Final = "kubernetes.io/hostname"
_REVISIONS: Final = 3


def secret_key(file: str) -> str:
    """The key of a file in a Secret, where a slash is not allowed."""
    return file.replace("/", "-")


def file_volumes(name: str, secret: str, files: Sequence[str]) -> list[Content]:
    """The volumes for certificates and for kubeconfigs from one Secret."""
    certificates = [file for file in files if not is_kubeconfig(file)]
    kubeconfigs = [file for file in files if is_kubeconfig(file)]
    found = [_secret_volume(f"{name}-pki", secret, certificates)]
    if kubeconfigs:
        found.append(_secret_volume(f"{name}-kubeconfigs", secret, kubeconfigs))
    return found


def file_mounts(name: str, files: Sequence[str]) -> list[Content]:
    """Where a container has them."""
    found = [_mount(f"{name}-pki", FOLDERS.pki)]
    if any(map(is_kubeconfig, files)):
        found.append(_mount(f"{name}-kubeconfigs", FOLDERS.kubeconfigs))
    return found


def container(
    program: str,
    image: str,
    command: Sequence[str],
    arguments: Sequence[str],
    *,
    resources: Resources,
    requests: Mapping[str, str],
    mounts: Sequence[Content],
    capabilities: Sequence[str] = (),
    **more: Any,
) -> Content:
    """A container that may do nothing but its work."""
    dropped: Content = {"drop": ["ALL"]}
    if capabilities:
        dropped["add"] = [*capabilities]
    wanted: Content = {"requests": {**requests, **_accepted(resources.requests)}}
    if limits := _accepted(resources.limits):
        wanted["limits"] = limits
    return {
        "name": program,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [*command],
        "args": [*arguments],
        "resources": wanted,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": dropped,
            "privileged": False,
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [*mounts],
        **more,
    }


def _accepted(amounts: Amounts) -> Content:
    return {name: amount for name, amount in amounts.items() if name in RESOURCES}


def probe(path: str, port: str, *, scheme: str = "HTTPS", period: int, failures: int, timeout: int = 15) -> Content:
    """A question that the kubelet asks again and again."""
    return {
        "httpGet": {"path": path, "port": port, "scheme": scheme},
        "periodSeconds": period,
        "failureThreshold": failures,
        "timeoutSeconds": timeout,
    }


def deployment(
    tenancy: Tenancy,
    part: str,
    files_hash: str,
    *,
    containers: Sequence[Content],
    sidecars: Sequence[Content] = (),
    volumes: Sequence[Content],
    grace_seconds: int,
) -> Planned:
    """A Deployment of pods that are replaced one by one, a new one first."""
    settings = tenancy.facts.settings.deployment
    selector = {"matchLabels": names.selector(tenancy.name, part)}
    labels = {
        **settings.pod_metadata.labels,
        **names.labels(tenancy.name, tenancy.facts.cluster_name, part),
        names.VERSION: image_tag(tenancy.facts.version),
    }
    spec: Content = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "containers": [*containers],
        "securityContext": {
            "fsGroup": USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "runAsGroup": USER,
            "runAsNonRoot": True,
            "runAsUser": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "serviceAccountName": names.account_name(tenancy.name),
        "terminationGracePeriodSeconds": grace_seconds,
        "volumes": [*volumes],
        **_placement(tenancy, selector),
    }
    if sidecars:
        spec["initContainers"] = [{**each, "restartPolicy": "Always"} for each in sidecars]
    # What admission refuses is left out, whether or not admission has seen it.
    own = {name: value for name, value in settings.pod_metadata.annotations.items() if is_pod_annotation(name)}
    annotations = {**own, names.FILES_HASH: files_hash}
    body = {
        **metadata(tenancy, part, {names.VERSION: image_tag(tenancy.facts.version)}),
        "spec": {
            "replicas": tenancy.facts.replicas,
            "revisionHistoryLimit": _REVISIONS,
            "selector": selector,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"annotations": annotations, "labels": labels}, "spec": spec},
        },
    }
    return Planned(DEPLOYMENTS, tenancy.namespace, names.object_name(tenancy.name, part), body)


def empty_volume(name: str, *, memory: bool = False, limit: str = "") -> Content:
    """A folder that lives as long as the pod."""
    content: Content = {"medium": "Memory"} if memory else {}
    if limit:
        content["sizeLimit"] = limit
    return {"name": name, "emptyDir": content}


def _placement(tenancy: Tenancy, selector: Content) -> Content:
    settings = tenancy.facts.settings.deployment
    apart = {"labelSelector": selector, "topologyKey": _HOST}
    nearby = {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": apart}]
        }
    }
    spread = {"maxSkew": 1, "topologyKey": _ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
    wanted = settings.topology_spread_constraints or (spread,)
    found: Content = {
        "affinity": dict(settings.affinity) or nearby,
        "topologySpreadConstraints": [{"labelSelector": selector, **each} for each in wanted],
    }
    optional: Content = {
        "imagePullSecrets": [{"name": each.name} for each in settings.image_pull_secrets],
        "nodeSelector": dict(settings.node_selector),
        "priorityClassName": settings.priority_class_name,
        "runtimeClassName": settings.runtime_class_name,
        "tolerations": [dict(each) for each in settings.tolerations],
    }
    return {**found, **{name: value for name, value in optional.items() if value}}


def _secret_volume(name: str, secret: str, files: Sequence[str]) -> Content:
    items = [{"key": secret_key(file), "path": file} for file in files]
    return {"name": name, "secret": {"secretName": secret, "defaultMode": _READABLE, "items": items}}


def _mount(name: str, path: str) -> Content:
    return {"name": name, "mountPath": path, "readOnly": True}
