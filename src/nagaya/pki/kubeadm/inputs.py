"""What the certificates of a control plane depend on, besides keys and time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from nagaya.pki.certificates import AUTHORITY_VALIDITY, LEAF_VALIDITY
from nagaya.pki.keys import KeyAlgorithm


@dataclass(frozen=True, slots=True)
class Inputs:
    """A control plane as its certificates describe it. Defaults are kubeadm's."""

    cluster_name: str = "kubernetes"
    service_cidrs: tuple[str, ...] = ("10.96.0.0/12",)
    """The first one counts."""
    dns_domain: str = "cluster.local"
    endpoint_host: str = ""
    """The name or address, without a port, that all instances together are reached by; empty if there is none."""
    advertise_address: str = ""
    """The address that this instance is reached by; empty where instances have none of their own."""
    node_name: str = ""
    """The machine of this instance; empty where it runs on none of the cluster's machines."""
    api_server_sans: tuple[str, ...] = ()
    etcd_server_sans: tuple[str, ...] = ()
    etcd_peer_sans: tuple[str, ...] = ()
    algorithm: KeyAlgorithm = KeyAlgorithm.RSA_2048
    authority_validity: timedelta = AUTHORITY_VALIDITY
    leaf_validity: timedelta = LEAF_VALIDITY
