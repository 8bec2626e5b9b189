"""Which version of kubeadm's configuration a Kubernetes version reads.

The machine's own version decides, because its kubeadm reads the documents. v1beta4 came with 1.31 and is read by all
releases since; v1beta3 came with 1.22. What was before that is not supported.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from nagaya.bootstrap.refusal import Refused
from nagaya.clusters import kubernetes_version

_FIRST_V1BETA3: Final = (1, 22)
_FIRST_V1BETA4: Final = (1, 31)


class KubeadmVersion(Enum):
    """A version of kubeadm's configuration."""

    V1BETA3 = "kubeadm.k8s.io/v1beta3"
    V1BETA4 = "kubeadm.k8s.io/v1beta4"


def version_for(kubernetes: str) -> KubeadmVersion:
    """The version to write for a machine; previews of a release count as the release. Raises Refused."""
    parsed = kubernetes_version.parse(kubernetes)
    if parsed is None:
        raise Refused("spec.version", f"{kubernetes!r} is no Kubernetes version", "Give one such as v1.36.3")
    if (parsed.major, parsed.minor) < _FIRST_V1BETA3:
        raise Refused(
            "spec.version",
            f"kubeadm of Kubernetes {kubernetes} reads only versions of its configuration before v1beta3",
            "Use Kubernetes v1.22.0 or newer",
        )
    if (parsed.major, parsed.minor) < _FIRST_V1BETA4:
        return KubeadmVersion.V1BETA3
    return KubeadmVersion.V1BETA4
