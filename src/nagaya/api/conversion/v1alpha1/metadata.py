"""Names, labels and annotations of old objects: what began with cluster.k8s.io/ begins with cluster.x-k8s.io/ now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nagaya.api.conversion.draft import Draft

_OLD_PREFIX: Final = "cluster.k8s.io/"
_NEW_PREFIX: Final = "cluster.x-k8s.io/"
_OLD_FINALIZER_END: Final = ".cluster.k8s.io"


def renewed_keys(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """Labels or annotations with the prefix of today."""
    return {
        _NEW_PREFIX + key.removeprefix(_OLD_PREFIX) if key.startswith(_OLD_PREFIX) else key: value
        for key, value in pairs.items()
    }


def renewed_metadata(draft: Draft) -> dict[str, Any]:
    """Take the metadata of an object, renewed."""
    metadata = draft.take_pairs("metadata")
    for name in ("labels", "annotations"):
        if isinstance(metadata.get(name), dict):
            metadata[name] = renewed_keys(metadata[name])
    finalizers = metadata.get("finalizers")
    if isinstance(finalizers, list):
        metadata["finalizers"] = [each for each in finalizers if not str(each).endswith(_OLD_FINALIZER_END)]
        if not metadata["finalizers"]:
            del metadata["finalizers"]
    return metadata


def place(metadata: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    """Metadata for an object that is made beside another: in its namespace, under its name unless told otherwise."""
    result = {"name": name or metadata.get("name", "")}
    if metadata.get("namespace"):
        result["namespace"] = metadata["namespace"]
    return result
