"""The certificates of a tenant's programs, as files: made where they are missing, renewed in their place.

A renewed certificate keeps its key, so a program that reads the two files at any moment finds a pair. All programs
read them again by themselves: kube-apiserver its serving certificate and those that it shows to kubelets, extension
servers and etcd; the others theirs, because their kubeconfigs name files instead of holding them. So nothing has to be
started again for a renewal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from cryptography import x509

from nagaya.api.cluster.secrets import Purpose
from nagaya.clusters.certificates.seen import AuthoritiesSeen
from nagaya.controlplane.hosted.data_store.leaf import valid
from nagaya.controlplane.hosted.host.tenant_folder import TenantFolder
from nagaya.pki import certificates, keys, kubeconfig
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.kubeadm.authorities import CLUSTER, FRONT_PROXY
from nagaya.pki.kubeadm.identities import Identity
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.layout import SERVICE_ACCOUNTS_KEY, SERVICE_ACCOUNTS_PUBLIC_KEY, certificate_file, key_file
from nagaya.pki.kubeadm.leaves import WITHOUT_ETCD
from nagaya.pki.renewal import renewal_time
from nagaya.world import Clock

_PKI: Final = "pki"


@dataclass(frozen=True, slots=True)
class Authorities:
    """Who vouches for whom in a tenant, and the key of its service accounts."""

    cluster: KeyPair
    front_proxy: KeyPair
    service_accounts: KeyPair

    @classmethod
    def of(cls, seen: AuthoritiesSeen) -> Authorities | None:
        """Those of a cluster, if all are there and can be used to sign."""
        found = [seen.get(each) for each in _PURPOSES]
        pairs = [each.pair for each in found if each is not None and each.signs]
        return cls(*pairs) if len(pairs) == len(_PURPOSES) else None


_PURPOSES: Final = (Purpose.CLUSTER_AUTHORITY, Purpose.FRONT_PROXY_AUTHORITY, Purpose.SERVICE_ACCOUNTS)


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate in use."""

    name: str
    not_after: datetime
    serial_number: str


@dataclass(frozen=True, slots=True)
class Certificates:
    """All certificates of a tenant."""

    issued: tuple[Issued, ...] = ()
    due: datetime | None = None
    """When the first of them is to be renewed; None if none can be made to last longer."""
    renewed: tuple[str, ...] = ()
    """Why some were replaced just now, a sentence each."""


def ensure(
    folder: TenantFolder,
    authorities: Authorities,
    inputs: Inputs,
    server: str,
    identities: Sequence[Identity],
    clock: Clock,
) -> Certificates:
    """Have everything in the folder, renewing what is due. Reads and writes files: to be called in a thread.

    `server` is the URL at which the tenant's own programs find its API. Raises ValueError if something cannot be made.
    """
    folder.write(dict(_given(authorities)))
    signers = {
        CLUSTER.name: CertificateAuthority.load(authorities.cluster.certificate, authorities.cluster.key),
        FRONT_PROXY.name: CertificateAuthority.load(authorities.front_proxy.certificate, authorities.front_proxy.key),
    }
    wanted: dict[str, tuple[CertificateSpec, CertificateAuthority]] = {
        leaf.name: (leaf.spec(inputs), signers[leaf.authority.name]) for leaf in WITHOUT_ETCD
    }
    for each in identities:
        wanted[_stem(each)] = (each.spec(inputs.leaf_validity), signers[CLUSTER.name])
    issued = [_issued(name, signer.certificate) for name, signer in signers.items()]
    due: list[datetime] = []
    renewed: list[str] = []
    for name, (spec, signer) in wanted.items():
        certificate, reason = _leaf(folder, name, spec, signer, clock)
        issued.append(_issued(name, certificate))
        if reason:
            renewed.append(reason)
        if (moment := renewal_time(certificate, signer.certificate, spec)) is not None:
            due.append(moment)
    folder.write({each.file: _kubeconfig(folder, each, authorities, server, inputs) for each in identities})
    return Certificates(tuple(issued), min(due, default=None), tuple(renewed))


def _given(authorities: Authorities) -> Iterator[tuple[str, bytes]]:
    for authority, pair in ((CLUSTER, authorities.cluster), (FRONT_PROXY, authorities.front_proxy)):
        yield f"{_PKI}/{certificate_file(authority.name)}", pair.certificate
    yield f"{_PKI}/{key_file(CLUSTER.name)}", authorities.cluster.key
    yield f"{_PKI}/{SERVICE_ACCOUNTS_KEY}", authorities.service_accounts.key
    yield f"{_PKI}/{SERVICE_ACCOUNTS_PUBLIC_KEY}", authorities.service_accounts.certificate


def _leaf(
    folder: TenantFolder, name: str, spec: CertificateSpec, signer: CertificateAuthority, clock: Clock
) -> tuple[x509.Certificate, str]:
    """A certificate of the folder, and why it was renewed, if it was."""
    certificate_path, key_path = f"{_PKI}/{certificate_file(name)}", f"{_PKI}/{key_file(name)}"
    pair = KeyPair(folder.read(certificate_path) or b"", folder.read(key_path) or b"")
    certificate, key, why = valid(pair, spec, signer, clock)
    # The key first: where the certificate is, its key is.
    folder.write({key_path: keys.to_pem(key)})
    folder.write({certificate_path: certificates.to_pem(certificate)})
    return certificate, why


def _kubeconfig(
    folder: TenantFolder, identity: Identity, authorities: Authorities, server: str, inputs: Inputs
) -> bytes:
    config: dict[str, Any] = kubeconfig.build(
        server, authorities.cluster.certificate, None, cluster=inputs.cluster_name
    )
    user, cluster = identity.user, inputs.cluster_name
    files = {
        "client-certificate": folder.folders.certificate(certificate_file(_stem(identity))),
        "client-key": folder.folders.certificate(key_file(_stem(identity))),
    }
    config["users"] = [{"name": user, "user": files}]
    config["contexts"] = [{"name": f"{user}@{cluster}", "context": {"cluster": cluster, "user": user}}]
    config["current-context"] = f"{user}@{cluster}"
    return kubeconfig.to_yaml(config)


def _stem(identity: Identity) -> str:
    return identity.file.removesuffix(".conf")


def _issued(name: str, certificate: x509.Certificate) -> Issued:
    return Issued(name, certificate.not_valid_after_utc, f"{certificate.serial_number:x}")
