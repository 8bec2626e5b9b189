"""What all kinds of the Proxmox provider have in common. Names that users and tools read are CAPMOX's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.api.definition import CLUSTERCTL_LABEL, PROVIDER_LABEL, provider_labels

GROUP: Final = "infrastructure.cluster.x-k8s.io"
VERSION: Final = "v1alpha2"
OLD_VERSION: Final = "v1alpha1"
"""What CAPMOX had before. It is converted, and can be served beside the other."""
PROVIDER: Final = "infrastructure-proxmox"

PROVIDER_LABELS: Final = provider_labels(PROVIDER, VERSION)
CONNECTION_LABELS: Final[Mapping[str, str]] = {
    CLUSTERCTL_LABEL: "",
    f"{CLUSTERCTL_LABEL}/move-hierarchy": "",
    PROVIDER_LABEL: PROVIDER,
}
"""On the CRD of connections: clusterctl moves them with all that they own, their Secrets for example."""
RESERVATION_LABELS: Final[Mapping[str, str]] = {
    CLUSTERCTL_LABEL: "",
    PROVIDER_LABEL: PROVIDER,
}
"""On the CRD of reservations. clusterctl does not move them: of objects without a namespace it would copy those of all
namespaces, and take none away. The target makes its own when it takes a VM over."""

SECRET_FINALIZER: Final = "proxmoxcluster.infrastructure.cluster.x-k8s.io/secret"  # noqa: S105 - a name, no secret
"""Keeps a Secret with credentials while a ProxmoxCluster needs it to clean up."""
CONNECTION_SECRET_FINALIZER: Final = "proxmoxconnection.infrastructure.cluster.x-k8s.io/secret"  # noqa: S105 - a name
"""Keeps a Secret with credentials while a ProxmoxConnection in its namespace needs it."""
ALLOWED_NAMESPACES: Final = "infrastructure.nagaya.dev/allowed-namespaces"
"""On a Secret with credentials: the other namespaces whose objects may use it, separated by commas."""
