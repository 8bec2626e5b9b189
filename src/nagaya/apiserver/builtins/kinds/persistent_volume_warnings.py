"""What is on its way out, or gone, in persistent volumes and claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.meta import gostring, quantity
from nagaya.apiserver.meta.field_errors import Path
from nagaya.apiserver.meta.status import JsonObject

STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_OLD_CLASS: Final = 'deprecated since v1.8; use "storageClassName" attribute instead'
_ANNOTATIONS: Final[Mapping[str, str]] = {
    STORAGE_CLASS: _OLD_CLASS,
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_SOURCES: Final[Mapping[str, tuple[str, str]]] = {
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
DEPRECATED_NODE_LABELS: Final[Mapping[str, str]] = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
"""Labels of nodes that have a newer name, and what to say about them."""


def warnings(volume: JsonObject) -> list[str]:
    """What to tell a client about a volume."""
    annotations, spec = volume["metadata"].get("annotations") or {}, volume["spec"]
    found = [f"metadata.annotations[{key}]: {text}" for key, text in _ANNOTATIONS.items() if key in annotations]
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning."
        )
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    where = Path("spec.nodeAffinity.required.nodeSelectorTerms")
    for position, term in enumerate(terms):
        for each, expression in enumerate(term.get("matchExpressions") or ()):
            key = expression.get("key") or ""
            if key in DEPRECATED_NODE_LABELS:
                at = where.index(position).child("matchExpressions").index(each).child("key")
                found.append(f"{at}: {key} is {DEPRECATED_NODE_LABELS[key]}")
    return found + [f"spec.{name}: {text}" for member, (name, text) in _SOURCES.items() if spec.get(member) is not None]


def claim_warnings(claim: JsonObject) -> list[str]:
    """What to tell a client about a claim."""
    found = []
    if STORAGE_CLASS in (claim["metadata"].get("annotations") or {}):
        found.append(f"metadata.annotations[{STORAGE_CLASS}]: {_OLD_CLASS}")
    return found + claim_spec_warnings(claim["spec"], Path("spec"))


def claim_spec_warnings(spec: JsonObject, where: Path) -> list[str]:
    """What to tell a client about the spec of a claim."""
    found = []
    for member in ("requests", "limits"):
        text = ((spec.get("resources") or {}).get(member) or {}).get("storage")
        if text is not None and quantity.parse(text).milli_value % 1000:
            at = where.child("resources", member).key("storage")
            found.append(f"{at}: fractional byte value {gostring.quote(text)} is invalid, must be an integer")
    return found
