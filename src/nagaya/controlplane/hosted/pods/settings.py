"""What Kubernetes mode is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from nagaya.pki.certificates import LEAF_VALIDITY


@dataclass(frozen=True, slots=True)
class PodSettings:
    """One management cluster."""

    management_cidrs: tuple[str, ...] | None = None
    """Addresses of its own API, which no tenant's API server shall reach. None: as they are found at the first look."""
    leaf_validity: timedelta = LEAF_VALIDITY
    """How long the certificates of tenants' programs last; each is renewed when a third of that is left."""
