"""The certificates of a tenant's programs, as files: made where they are missing, renewed in their place.

A renewed certificate keeps its key, so a program that reads the two files at any moment finds a pair. All programs
read them again by themselves: kube-apiserver its serving certificate and those that it shows to kubelets, extension
servers and etcd; the others theirs, because their kubeconfigs name files instead of holding them. So nothing has to be
started again for a renewal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from cryptography import x509

from nagaya.api.cluster.secrets import Purpose
from nagaya.clusters.certificates.seen import AuthoritiesSeen
from nagaya.controlplane.hosted.data_store.leaf import valid
from nagaya.controlplane.hosted.host.tenant_folder import TenantFolder
from nagaya.pki import kubeconfig
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

    def files(self) -> dict[str, bytes]:
        """What programs need of them, by kubeadm's names."""
        return {
            certificate_file(CLUSTER.name): self.cluster.certificate,
            key_file(CLUSTER.name): self.cluster.key,
            certificate_file(FRONT_PROXY.name): self.front_proxy.certificate,
            SERVICE_ACCOUNTS_KEY: self.service_accounts.key,
            SERVICE_ACCOUNTS_PUBLIC_KEY: self.service_accounts.certificate,
        }


_PURPOSES: Final = (Purpose.CLUSTER_AUTHORITY, Purpose.FRONT_PROXY_AUTHORITY, Purpose.SERVICE_ACCOUNTS)


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate in use."""

    name: str
    not_after: datetime
    serial_number: str

    @classmethod
    def of(cls, name: str, certificate: x509.Certificate) -> Issued:
        """A certificate under a name."""
        return cls(name, certificate.not_valid_after_utc, f"{certificate.serial_number:x}")


@dataclass(frozen=True, slots=True)
class Certificates:
    """All certificates of a tenant."""

    issued: tuple[Issued, ...] = ()
    due: datetime | None = None
    """When the first of them is to be renewed; None if none can be made to last longer."""
    renewed: tuple[str, ...] = ()
    """Why some were replaced just now, a sentence each."""


class Issuing:
    """Certificates of one tenant, while they are issued. Raises ValueError if an authority cannot be used."""

    def __init__(self, authorities: Authorities, clock: Clock) -> None:
        pairs = {CLUSTER.name: authorities.cluster, FRONT_PROXY.name: authorities.front_proxy}
        self._signers = {name: CertificateAuthority.load(pair.certificate, pair.key) for name, pair in pairs.items()}
        self._clock = clock
        self._issued = [Issued.of(name, signer.certificate) for name, signer in self._signers.items()]
        self._due: list[datetime] = []
        self._renewed: list[str] = []

    def leaf(self, name: str, before: KeyPair, spec: CertificateSpec, authority: str = CLUSTER.name) -> KeyPair:
        """A pair that is as it shall be: the one from before, if it is."""
        signer = self._signers[authority]
        certificate, key, why = valid(before, spec, signer, self._clock)
        if why:
            self._renewed.append(why)
        self._issued.append(Issued.of(name, certificate))
        if (moment := renewal_time(certificate, signer.certificate, spec)) is not None:
            self._due.append(moment)
        return KeyPair.of(certificate, key)

    def result(self) -> Certificates:
        """All that were issued."""
        return Certificates(tuple(self._issued), min(self._due, default=None), tuple(self._renewed))


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
    folder.write({f"{_PKI}/{name}": content for name, content in authorities.files().items()})
    issuing = Issuing(authorities, clock)
    leaves = [(leaf.name, leaf.spec(inputs), leaf.authority.name) for leaf in WITHOUT_ETCD]
    leaves += [(_stem(each), each.spec(inputs.leaf_validity), CLUSTER.name) for each in identities]
    for name, spec, authority in leaves:
        certificate, key = f"{_PKI}/{certificate_file(name)}", f"{_PKI}/{key_file(name)}"
        before = KeyPair(folder.read(certificate) or b"", folder.read(key) or b"")
        pair = issuing.leaf(name, before, spec, authority)
        # The key first: where the certificate is, its key is.
        folder.write({key: pair.key})
        folder.write({certificate: pair.certificate})
    folder.write({each.file: _kubeconfig(folder, each, authorities, server, inputs) for each in identities})
    return issuing.result()


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
