"""Which objects belong to which node, by way of the pods that are bound to it.

A node may read a Secret because a pod on it mounts it, a PersistentVolume because a pod on it uses the claim the volume
is bound to, and a volume's own Secrets for the same reason. The store's events keep the graph up to date through
`replace`, `upsert` and `delete`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from nagaya.apiserver.authz import pod_references
from nagaya.apiserver.meta.status import JsonObject

PODS: Final = "pods"
VOLUMES: Final = "persistentvolumes"
ATTACHMENTS: Final = "volumeattachments"
SLICES: Final = "resourceslices"
RESOURCES: Final = (PODS, VOLUMES, ATTACHMENTS, SLICES)

SECRET: Final = "secrets"  # noqa: S105 - a resource
CONFIG_MAP: Final = "configmaps"
CLAIM: Final = "persistentvolumeclaims"
RESOURCE_CLAIM: Final = "resourceclaims"
SERVICE_ACCOUNT: Final = "serviceaccounts"

# Kinds of volumes whose Secret is in the claim's namespace unless it says otherwise.
_LOCAL_SECRETS: Final = ("cephfs", "flexVolume", "rbd", "scaleIO", "iscsi")
_GLOBAL_SECRETS: Final = ("cinder", "storageos")
_CSI_SECRETS: Final = ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef")


class Key(NamedTuple):
    """An object: its resource, namespace and name."""

    resource: str
    namespace: str
    name: str


class NodeGraph:
    """Relations between nodes and objects."""

    def __init__(self) -> None:
        # Which objects lead to which node, and through how many pods (or other holders).
        self._nodes: dict[Key, dict[str, int]] = {}
        # What each holder contributed, so that it can be taken back.
        self._held: dict[Key, tuple[str, tuple[Key, ...]]] = {}
        self._claim_of: dict[str, Key] = {}
        self._secrets_of: dict[str, tuple[Key, ...]] = {}
        self._volumes_with: dict[Key, set[str]] = {}

    def replace(self, resource: str, objects: Iterable[JsonObject]) -> None:
        """Forget all objects of a resource and take these."""
        if resource == VOLUMES:
            self._claim_of, self._secrets_of, self._volumes_with = {}, {}, {}
        else:
            for key in [key for key in self._held if key.resource == resource]:
                self._release(key)
        for obj in objects:
            self.upsert(resource, obj)

    def upsert(self, resource: str, obj: JsonObject) -> None:
        """Take a new or changed object."""
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        if resource == VOLUMES:
            self._forget_volume(metadata["name"])
            self._take_volume(metadata["name"], spec)
            return
        key = Key(resource, metadata.get("namespace") or "", metadata["name"])
        self._release(key)
        node = spec.get("nodeName")
        if node:
            self._hold(key, node, tuple(_references(obj)) if resource == PODS else ())

    def delete(self, resource: str, namespace: str, name: str) -> None:
        """Forget an object."""
        if resource == VOLUMES:
            self._forget_volume(name)
        else:
            self._release(Key(resource, namespace, name))

    def connects(self, node: str, key: Key) -> bool:
        """Whether an object belongs to a node."""
        if node in self._nodes.get(key, ()):
            return True
        if key.resource == VOLUMES:
            return self._claim_leads(node, key.name)
        if key.resource == SECRET:
            return any(self._claim_leads(node, volume) for volume in self._volumes_with.get(key, ()))
        return False

    def _claim_leads(self, node: str, volume: str) -> bool:
        claim = self._claim_of.get(volume)
        return claim is not None and node in self._nodes.get(claim, ())

    def _hold(self, holder: Key, node: str, references: tuple[Key, ...]) -> None:
        keys = (holder, *references)
        self._held[holder] = (node, keys)
        for key in keys:
            counts = self._nodes.setdefault(key, {})
            counts[node] = counts.get(node, 0) + 1

    def _release(self, holder: Key) -> None:
        held = self._held.pop(holder, None)
        if held is None:
            return
        node, keys = held
        for key in keys:
            counts = self._nodes[key]
            counts[node] -= 1
            if not counts[node]:
                del counts[node]
            if not counts:
                del self._nodes[key]

    def _take_volume(self, name: str, spec: JsonObject) -> None:
        reference = spec.get("claimRef")
        if reference is None:
            return
        namespace = reference.get("namespace") or ""
        self._claim_of[name] = Key(CLAIM, namespace, reference.get("name") or "")
        self._secrets_of[name] = tuple(_volume_secrets(spec, namespace))
        for secret in self._secrets_of[name]:
            self._volumes_with.setdefault(secret, set()).add(name)

    def _forget_volume(self, name: str) -> None:
        self._claim_of.pop(name, None)
        for secret in self._secrets_of.pop(name, ()):
            volumes = self._volumes_with[secret]
            volumes.discard(name)
            if not volumes:
                del self._volumes_with[secret]


def _references(pod: JsonObject) -> Iterator[Key]:
    """Everything that a pod leads to its node, each once. Mirror pods lead to nothing: a node makes them itself."""
    if pod_references.is_mirror(pod):
        return
    namespace = pod["metadata"]["namespace"]
    account = (pod.get("spec") or {}).get("serviceAccountName")
    if account:
        yield Key(SERVICE_ACCOUNT, namespace, account)
    for resource, names in (
        (SECRET, pod_references.secrets(pod)),
        (CONFIG_MAP, pod_references.config_maps(pod)),
        (CLAIM, pod_references.volume_claims(pod)),
        (RESOURCE_CLAIM, pod_references.resource_claims(pod)),
    ):
        for name in dict.fromkeys(names):
            yield Key(resource, namespace, name)


def _volume_secrets(spec: JsonObject, claim_namespace: str) -> Iterator[Key]:
    """The Secrets that a kubelet needs for mounting a volume."""
    azure = spec.get("azureFile") or {}
    if azure.get("secretName"):
        yield Key(SECRET, azure.get("secretNamespace") or claim_namespace, azure["secretName"])
    for kinds, fallback in ((_LOCAL_SECRETS, claim_namespace), (_GLOBAL_SECRETS, "")):
        for kind in kinds:
            reference = (spec.get(kind) or {}).get("secretRef") or {}
            if reference.get("name"):
                yield Key(SECRET, reference.get("namespace") or fallback, reference["name"])
    for member in _CSI_SECRETS:
        reference = (spec.get("csi") or {}).get(member) or {}
        if reference.get("name"):
            yield Key(SECRET, reference.get("namespace") or "", reference["name"])
