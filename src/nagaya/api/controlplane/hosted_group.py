"""What all kinds of hosted control planes have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nagaya.api.definition import provider_labels

GROUP: Final = "controlplane.cluster.x-k8s.io"
VERSION: Final = "v1alpha1"
PROVIDER_LABELS: Final = provider_labels("control-plane-hosted", VERSION)

OLDEST_MINOR: Final = 34
NEWEST_MINOR: Final = 37
"""The minor versions of Kubernetes 1 whose components Nagaya knows how to start, both included."""

IDENTITY: Final[Mapping[str, Any]] = {
    "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
    "maxLength": 36,
}
"""The schema of what was a uid once, and names what outlives the object that had it."""
