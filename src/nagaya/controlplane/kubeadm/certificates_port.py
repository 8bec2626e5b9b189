"""The certificate authorities and the kubeconfig of a cluster, as a control plane depends on them.

Authorities are made once, before the first machine, and never again: another one would cut off all nodes. Who makes
and reads them is given from outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.controlplane.kubeadm_control_plane import KubeadmControlPlane


class CertificateState(Enum):
    """How it stands with a kind of Secret."""

    AVAILABLE = "available"
    """All are there, and owned as they should be."""
    TO_BE_MADE = "to be made"
    """Something is missing, due for renewal, or not owned as it should be; and it may be put right."""
    MISSING = "missing"
    """Something is missing that must not be made again."""
    BROKEN = "broken"
    """Something is there and cannot be used, or has to be provided by somebody else."""


@dataclass(frozen=True, slots=True)
class SecretsSeen:
    """How it stands, and what to tell people about it."""

    state: CertificateState = CertificateState.AVAILABLE
    message: str = ""

    @property
    def available(self) -> bool:
        """Whether everything is as it should be."""
        return self.state is CertificateState.AVAILABLE


AVAILABLE = SecretsSeen()


@dataclass(frozen=True, slots=True)
class CertificatesSeen:
    """All Secrets of a cluster with a kubeadm control plane."""

    authorities: SecretsSeen = AVAILABLE
    kubeconfig: SecretsSeen = AVAILABLE
    look_again: datetime | None = None
    """When something is to be renewed."""


class Certificates(Protocol):
    """The Secrets of clusters with kubeadm control planes."""

    async def look(self, cluster: Cluster, control_plane: KubeadmControlPlane) -> CertificatesSeen:
        """How it stands with them. Reads only what has changed since the last look."""
        ...

    async def make_authorities(self, cluster: Cluster, control_plane: KubeadmControlPlane) -> None:
        """Put right what is TO_BE_MADE."""
        ...

    async def make_kubeconfig(self, cluster: Cluster, control_plane: KubeadmControlPlane) -> None:
        """Put right what is TO_BE_MADE."""
        ...
