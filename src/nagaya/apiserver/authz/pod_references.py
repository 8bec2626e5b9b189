"""What a pod refers to: the Secrets, ConfigMaps, claims and accounts that its node needs to run it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.meta.status import JsonObject

MIRROR_POD: Final = "kubernetes.io/config.mirror"

_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_SECRET_REFERENCES: Final = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")

# Kinds of volumes that need nothing from the API, or nothing that a node could not have anyway.
_HARMLESS_VOLUMES: Final = frozenset(
    [
        "awsElasticBlockStore",
        "azureDisk",
        "cephfs",
        "cinder",
        "downwardAPI",
        "emptyDir",
        "fc",
        "flexVolume",
        "flocker",
        "gcePersistentDisk",
        "gitRepo",
        "hostPath",
        "image",
        "iscsi",
        "nfs",
        "photonPersistentDisk",
        "portworxVolume",
        "quobyte",
        "rbd",
        "scaleIO",
        "storageos",
        "vsphereVolume",
    ]
)
_TELLING_VOLUMES: Final = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_TELLING_SOURCES: Final = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def is_mirror(pod: JsonObject) -> bool:
    """Whether the pod only shows one that a node runs by itself."""
    return MIRROR_POD in (pod["metadata"].get("annotations") or {})


def _spec(pod: JsonObject) -> JsonObject:
    return pod.get("spec") or {}


def _name(reference: JsonObject | None, member: str = "name") -> Iterator[str]:
    name = (reference or {}).get(member)
    if name:
        yield name


def _from_environment(pod: JsonObject, whole: str, single: str) -> Iterator[str]:
    """Names that containers take environment variables from."""
    spec = _spec(pod)
    for kind in _CONTAINERS:
        for container in spec.get(kind) or ():
            for source in container.get("envFrom") or ():
                yield from _name(source.get(whole))
            for variable in container.get("env") or ():
                yield from _name((variable.get("valueFrom") or {}).get(single))


def _projected(volume: JsonObject, member: str) -> Iterator[str]:
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield from _name(source.get(member))


def secrets(pod: JsonObject) -> Iterator[str]:
    """The Secrets a pod uses, possibly more than once."""
    spec = _spec(pod)
    for reference in spec.get("imagePullSecrets") or ():
        yield from _name(reference)
    yield from _from_environment(pod, "secretRef", "secretKeyRef")
    for volume in spec.get("volumes") or ():
        yield from _name(volume.get("azureFile"), "secretName")
        yield from _name(volume.get("secret"), "secretName")
        yield from _name((volume.get("csi") or {}).get("nodePublishSecretRef"))
        yield from _projected(volume, "secret")
        for kind in _SECRET_REFERENCES:
            yield from _name((volume.get(kind) or {}).get("secretRef"))


def config_maps(pod: JsonObject) -> Iterator[str]:
    """The ConfigMaps a pod uses, possibly more than once."""
    yield from _from_environment(pod, "configMapRef", "configMapKeyRef")
    for volume in _spec(pod).get("volumes") or ():
        yield from _name(volume.get("configMap"))
        yield from _projected(volume, "configMap")


def volume_claim(pod: JsonObject, volume: JsonObject) -> str:
    """The PersistentVolumeClaim behind one of a pod's volumes, or nothing."""
    claim = volume.get("persistentVolumeClaim")
    if claim is not None:
        return claim.get("claimName") or ""
    return f"{pod['metadata']['name']}-{volume.get('name')}" if volume.get("ephemeral") is not None else ""


def volume_claims(pod: JsonObject) -> Iterator[str]:
    """The PersistentVolumeClaims a pod uses."""
    for volume in _spec(pod).get("volumes") or ():
        claim = volume_claim(pod, volume)
        if claim:
            yield claim


def resource_claims(pod: JsonObject) -> Iterator[str]:
    """The ResourceClaims a pod uses; those made from templates are named in its status."""
    status = pod.get("status") or {}
    made = {each.get("name"): each.get("resourceClaimName") for each in status.get("resourceClaimStatuses") or ()}
    for claim in _spec(pod).get("resourceClaims") or ():
        name = claim.get("resourceClaimName")
        if name is None and claim.get("resourceClaimTemplateName") is not None:
            name = made.get(claim.get("name"))
        if name is not None:
            yield name
    yield from _name(status.get("extendedResourceClaimStatus"), "resourceClaimName")


def first_reference(pod: JsonObject) -> str:
    """What of the API a pod refers to, for the pods that may refer to nothing; nothing if it does not.

    Raises ValueError for kinds of volumes that are not known.
    """
    spec = _spec(pod)
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    if any(secrets(pod)):
        return "secrets"
    if any(config_maps(pod)):
        return "configmaps"
    if spec.get("resourceClaims"):
        return "resourceclaims"
    for volume in spec.get("volumes") or ():
        told = _volume_reference(volume)
        if told:
            return told
    return ""


def _volume_reference(volume: JsonObject) -> str:
    kinds = {kind for kind, source in volume.items() if kind != "name" and source is not None}
    if kinds & _HARMLESS_VOLUMES:
        return ""
    for kind, told in _TELLING_VOLUMES.items():
        if kind in kinds:
            return told
    if "projected" not in kinds:
        raise ValueError(f'unknown volume type for volume  "{volume.get("name")}"')
    for source in (volume["projected"] or {}).get("sources") or ():
        given = {kind for kind, each in source.items() if each is not None}
        for kind, told in _TELLING_SOURCES.items():
            if kind in given:
                return told
        if "downwardAPI" not in given:
            raise ValueError(f'unknown source for projected volume "{volume.get("name")}"')
    return ""
