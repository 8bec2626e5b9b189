"""Who is paused: controllers leave such an object alone until somebody lets it go on."""

from __future__ import annotations

from typing import Final

from nagaya.api.cluster.annotations import PAUSED as PAUSED_ANNOTATION
from nagaya.api.cluster.cluster import Cluster
from nagaya.api.kind import Object

CONDITION: Final = "Paused"
PAUSED: Final = "Paused"
NOT_PAUSED: Final = "NotPaused"


def why_paused(cluster: Cluster | None, obj: Object, kind: str) -> str:
    """What pauses the object: its cluster, or an annotation of its own. Empty if nothing does."""
    reasons = []
    if cluster is not None and cluster.spec.paused:
        reasons.append("Cluster spec.paused is set to true")
    if PAUSED_ANNOTATION in obj.metadata.annotations:
        reasons.append(f"{kind} has the {PAUSED_ANNOTATION} annotation")
    return ", ".join(reasons)
