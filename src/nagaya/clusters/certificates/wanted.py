"""Which authorities a cluster needs, and how those that have to be made shall be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from typing import Final

from nagaya.api.bootstrap.cluster_configuration import ClusterConfiguration
from nagaya.api.cluster.secrets import Purpose
from nagaya.pki.certificates import AUTHORITY_VALIDITY
from nagaya.pki.keys import KeyAlgorithm


class Etcd(Enum):
    """Whose the etcd of a cluster is."""

    OWN = auto()
    """It runs on the cluster's machines, with certificates of the cluster's own."""
    PROVIDED = auto()
    """It is somebody else's, and the user provides what is needed to reach it."""
    NONE = auto()
    """The control plane's data store brings its own certificates, or there is no etcd at all."""


class Material(Enum):
    """What kind of thing a Secret holds, which decides what is expected of it."""

    AUTHORITY = auto()
    """A certificate authority; without its key if somebody else signs."""
    FOREIGN_AUTHORITY = auto()
    """Certificates to trust. A key, should there be one, is not even read."""
    CLIENT = auto()
    """A certificate to show, with its key."""
    SERVICE_ACCOUNTS = auto()
    """Both halves of the key that tokens are signed with."""
    KUBECONFIG = auto()


_ALWAYS: Final = {
    Purpose.CLUSTER_AUTHORITY: Material.AUTHORITY,
    Purpose.SERVICE_ACCOUNTS: Material.SERVICE_ACCOUNTS,
    Purpose.FRONT_PROXY_AUTHORITY: Material.AUTHORITY,
}
_BY_ETCD: Final[Mapping[Etcd, Mapping[Purpose, Material]]] = {
    Etcd.OWN: {Purpose.ETCD_AUTHORITY: Material.AUTHORITY},
    Etcd.PROVIDED: {
        Purpose.API_SERVER_ETCD_CLIENT: Material.CLIENT,
        Purpose.ETCD_AUTHORITY: Material.FOREIGN_AUTHORITY,
    },
    Etcd.NONE: {},
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The Secrets that a cluster needs. In upstream's order, which is that of names in messages."""

    etcd: Etcd = Etcd.OWN
    algorithm: KeyAlgorithm = KeyAlgorithm.RSA_2048
    validity: timedelta = AUTHORITY_VALIDITY

    @classmethod
    def of(cls, configuration: ClusterConfiguration | None) -> Wanted:
        """What kubeadm's configuration of a cluster asks for."""
        if configuration is None:
            return cls()
        days = configuration.ca_certificate_validity_period_days
        return cls(
            Etcd.OWN if configuration.etcd.external is None else Etcd.PROVIDED,
            KeyAlgorithm(configuration.encryption_algorithm or KeyAlgorithm.RSA_2048),
            timedelta(days=days) if days else AUTHORITY_VALIDITY,
        )

    @property
    def materials(self) -> dict[Purpose, Material]:
        """What each Secret shall hold."""
        return {**_ALWAYS, **_BY_ETCD[self.etcd]}


TRUST_ONLY: Final = {Purpose.CLUSTER_AUTHORITY: Material.FOREIGN_AUTHORITY}
"""What a worker needs: to recognise the cluster, and no key."""
