"""What all kinds of the simulated provider have in common."""

from __future__ import annotations

from typing import Final

from nagaya.api.definition import provider_labels

GROUP: Final = "infrastructure.cluster.x-k8s.io"
VERSION: Final = "v1alpha1"
PROVIDER_LABELS: Final = provider_labels("infrastructure-simulated", VERSION)
