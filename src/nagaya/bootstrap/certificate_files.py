"""The keys and certificates of a control plane, and where kubeadm looks for them on its machines.

Only data of control plane machines has a place for these values, so none of them can get onto a worker.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from nagaya.api.bootstrap.cluster_configuration import ClusterConfiguration
from nagaya.bootstrap.own_file import OwnFile
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.kubeadm import authorities, layout
from nagaya.pki.kubeadm.authorities import Authority

_PUBLIC: Final = "0640"
_PRIVATE: Final = "0600"


@dataclass(frozen=True, slots=True)
class ControlPlaneCertificates:
    """What every control plane machine of a cluster has in common. kubeadm makes what is missing; a key that is empty
    is kept by somebody else, and no file is written for it."""

    cluster_authority: KeyPair | None = None
    etcd_authority: KeyPair | None = None
    front_proxy_authority: KeyPair | None = None
    service_account: KeyPair | None = None
    """Its `certificate` is the public key."""
    etcd_client: KeyPair | None = None
    """How the API server shows itself to an etcd outside the cluster; without one, there is none."""

    def files(self, configuration: ClusterConfiguration) -> Iterator[OwnFile]:
        """The files, certificate before key."""
        folder = configuration.certificates_dir or layout.FOLDER
        external = configuration.etcd.external

        def authority(pair: KeyPair | None, which: Authority) -> Iterator[OwnFile]:
            names = layout.certificate_file(which.name), layout.key_file(which.name)
            return _files(pair, *(posixpath.join(folder, name) for name in names))

        yield from authority(self.cluster_authority, authorities.CLUSTER)
        if external is None:
            yield from authority(self.etcd_authority, authorities.ETCD)
        else:
            yield from _files(self.etcd_authority, external.ca_file, "")
        yield from authority(self.front_proxy_authority, authorities.FRONT_PROXY)
        halves = layout.SERVICE_ACCOUNTS_PUBLIC_KEY, layout.SERVICE_ACCOUNTS_KEY
        yield from _files(self.service_account, *(posixpath.join(folder, name) for name in halves))
        if external is not None:
            yield from _files(self.etcd_client, external.cert_file, external.key_file)


def _files(pair: KeyPair | None, certificate_path: str, key_path: str) -> Iterator[OwnFile]:
    if pair is None:
        return
    if pair.certificate:
        yield OwnFile(certificate_path, pair.certificate, _PUBLIC)
    if pair.key and key_path:
        yield OwnFile(key_path, pair.key, _PRIVATE)
