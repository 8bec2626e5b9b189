"""The authorities of a control plane, three that do not trust each other.

The cluster's vouches for components, users and kubelets; the front proxy's for API servers that forward requests of
users, which may claim to be anyone; etcd's for whoever may read and write all data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Authority:
    """One authority. `name` is that of its files, without an ending."""

    name: str
    common_name: str


CLUSTER: Final = Authority("ca", "kubernetes")
FRONT_PROXY: Final = Authority("front-proxy-ca", "front-proxy-ca")
ETCD: Final = Authority("etcd/ca", "etcd-ca")
AUTHORITIES: Final = (CLUSTER, FRONT_PROXY, ETCD)
