"""What the kinds of the in-cluster address provider have in common. Names that users and tools read are upstream's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.api.definition import CLUSTERCTL_LABEL, PROVIDER_LABEL

GROUP: Final = "ipam.cluster.x-k8s.io"
VERSION: Final = "v1alpha2"
PROVIDER: Final = "ipam-in-cluster"

POOL_LABELS: Final[Mapping[str, str]] = {
    CLUSTERCTL_LABEL: "",
    f"{CLUSTERCTL_LABEL}/move-hierarchy": "",
    PROVIDER_LABEL: PROVIDER,
}
"""On the CRDs of pools: clusterctl moves pools with all that they own."""
LEDGER_LABELS: Final[Mapping[str, str]] = {PROVIDER_LABEL: PROVIDER}
"""On the CRD of reservations: clusterctl leaves them, because they are made anew from the addresses that it moves."""

PROTECT_POOL: Final = "ipam.cluster.x-k8s.io/ProtectPool"
"""The finalizer of a pool: it stays while addresses of it are in use."""
PROTECT_ADDRESS: Final = "ipam.cluster.x-k8s.io/ProtectAddress"
"""The finalizer of an IPAddress: it stays while its claim is there."""
RELEASE_ADDRESS: Final = "ipam.cluster.x-k8s.io/ReleaseAddress"
"""The finalizer of an IPAddressClaim: it stays until its address is released."""

WANTED_ADDRESS: Final = "ipam.nagaya.dev/address"
"""An annotation of an IPAddressClaim: the address that it is to get, and no other."""
SKIP_VALIDATE_DELETE: Final = "ipam.cluster.x-k8s.io/skip-validate-delete-webhook"
"""An annotation of a pool: its deletion is not refused while addresses are in use, as `clusterctl move` needs."""
RESERVED_ADDRESS: Final = "ipam.nagaya.dev/address"
"""A label of an IPAddressReservation: its address as it is in the name, so that all of one address can be listed."""
