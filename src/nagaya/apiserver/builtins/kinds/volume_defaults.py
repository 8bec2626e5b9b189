"""What a pod's volume gets that its author left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nagaya.apiserver.builtins.kinds import container_defaults, pod_resources
from nagaya.apiserver.meta.status import JsonObject

_READABLE: Final = 0o644
_PLAIN: Final[Mapping[str, Mapping[str, Any]]] = {
    "hostPath": {"type": ""},
    "secret": {"defaultMode": _READABLE},
    "configMap": {"defaultMode": _READABLE},
    "downwardAPI": {"defaultMode": _READABLE},
    "projected": {"defaultMode": _READABLE},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def default_volume(volume: JsonObject) -> None:
    """Fill in a volume; one without a source is an empty directory."""
    if all(name == "name" for name in volume):
        volume["emptyDir"] = {}
        return
    for source, body in volume.items():
        if defaults := _PLAIN.get(source):
            for name, value in defaults.items():
                body.setdefault(name, value)
        if source == "downwardAPI":
            _default_files(body)
        elif source == "projected":
            _default_projected(body)
        elif source == "ephemeral" and (template := body.get("volumeClaimTemplate")):
            default_claim_spec(template["spec"])
        elif source == "image" and not body.get("pullPolicy"):
            body["pullPolicy"] = container_defaults.pull_policy(body.get("reference") or "")


def default_claim_spec(spec: JsonObject) -> None:
    """Fill in the spec of a volume claim, as far as every holder of one does."""
    spec.setdefault("volumeMode", "Filesystem")
    pod_resources.round_up_requirements(spec.get("resources"))


def _default_files(body: JsonObject) -> None:
    for item in body.get("items") or ():
        if (field := item.get("fieldRef")) is not None:
            field.setdefault("apiVersion", "v1")


def _default_projected(body: JsonObject) -> None:
    for source in body.get("sources") or ():
        if (files := source.get("downwardAPI")) is not None:
            _default_files(files)
        if (token := source.get("serviceAccountToken")) is not None:
            token.setdefault("expirationSeconds", 3600)
