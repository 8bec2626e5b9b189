"""The certificates of hosts: from an authority of the cluster, as PVE makes them, which no client knows beforehand."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.serialization import Encoding

from nagaya.pki import certificates
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.usages import Usage
from nagaya.simulators.proxmox.cluster.certificates import fingerprint_of
from nagaya.world import Clock

AUTHORITY = "Proxmox Virtual Environment"


@dataclass(frozen=True, slots=True)
class HostCertificate:
    """What a host shows."""

    pair: KeyPair
    fingerprint: str
    """SHA-256 of it, as PVE writes it: pairs of digits with colons between."""
    context: ssl.SSLContext = field(repr=False)


def authority(clock: Clock) -> CertificateAuthority:
    """A new one."""
    return CertificateAuthority.create(AUTHORITY, clock, organizations=["PVE Cluster Manager CA"])


def host_certificate(
    signer: CertificateAuthority, node: str, addresses: Iterable[str], clock: Clock
) -> HostCertificate:
    """A certificate for a host that is reached by its name and by addresses."""
    names, numbers = certificates.split_hosts([node, "localhost", *addresses])
    spec = CertificateSpec(
        common_name=f"{node}.localdomain",
        organizations=("Proxmox Virtual Environment",),
        usages=(Usage.SERVER_AUTH,),
        dns_names=names,
        ip_addresses=numbers,
    )
    certificate, key = signer.issue_pair(spec, clock)
    pair = KeyPair.of(certificate, key)
    return HostCertificate(pair, fingerprint_of(certificate.public_bytes(Encoding.DER)), _context(pair))


def _context(pair: KeyPair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile(prefix="nagaya-pve-") as file:  # Python loads certificates from files only
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context
