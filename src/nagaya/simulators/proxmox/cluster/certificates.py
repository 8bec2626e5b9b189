"""The certificates of a host, as its files under /etc/pve hold them: that of the cluster's authority, then its own.

They exist once hosts are reached over HTTPS. A data center that is only asked in this process has none, and nobody
could check them; what identifies it must be there all the same, and must be the same in every run from one seed. So
fingerprints are then made from the key of the data center, and no certificate is shown.
"""

from __future__ import annotations

import hashlib
import ipaddress
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from nagaya.simulators.proxmox.state.node import Node

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator

AUTHORITY_FILE = "pve-root-ca.pem"
HOST_FILE = "pve-ssl.pem"
_AUTHORITY = "/CN=Proxmox Virtual Environment/O=PVE Cluster Manager CA"
_SHORT_NAMES = {
    NameOID.COMMON_NAME: "CN",
    NameOID.ORGANIZATION_NAME: "O",
    NameOID.ORGANIZATIONAL_UNIT_NAME: "OU",
}


def of_host(emulator: Emulator, node: Node) -> list[dict[str, Any]]:
    """What is known of each, by the name of its file."""
    authority, own = emulator.datacenter.authority, node.certificate
    if authority is None or own is None:
        return [
            _imagined(AUTHORITY_FILE, _AUTHORITY, [], emulator.tickets.fingerprint(AUTHORITY_FILE)),
            _imagined(
                HOST_FILE,
                f"/OU=PVE Cluster Node/O=Proxmox Virtual Environment/CN={node.name}.localdomain",
                [node.address, node.name],
                node.fingerprint or emulator.tickets.fingerprint(f"{node.name}/{HOST_FILE}"),
            ),
        ]
    return [described(AUTHORITY_FILE, authority), described(HOST_FILE, own)]


def described(filename: str, pem: str) -> dict[str, Any]:
    """What a certificate says."""
    certificate = x509.load_pem_x509_certificate(pem.encode())
    told: dict[str, Any] = {
        "filename": filename,
        "fingerprint": fingerprint_of(certificate.public_bytes(Encoding.DER)),
        "subject": _one_line(certificate.subject),
        "issuer": _one_line(certificate.issuer),
        "notbefore": int(certificate.not_valid_before_utc.timestamp()),
        "notafter": int(certificate.not_valid_after_utc.timestamp()),
        "san": _alternative_names(certificate),
        "pem": pem,
    }
    key = certificate.public_key()
    if isinstance(key, rsa.RSAPublicKey):
        told |= {"public-key-type": "rsaEncryption", "public-key-bits": key.key_size}
    elif isinstance(key, ec.EllipticCurvePublicKey):
        told |= {"public-key-type": "id-ecPublicKey", "public-key-bits": key.key_size}
    return told


def fingerprint_of(content: bytes) -> str:
    """SHA-256 as PVE writes it: pairs of digits with colons between."""
    return hashlib.sha256(content).digest().hex(":").upper()


def _imagined(filename: str, subject: str, names: list[str], fingerprint: str) -> dict[str, Any]:
    return {
        "filename": filename,
        "fingerprint": fingerprint,
        "subject": subject,
        "issuer": _AUTHORITY,
        "san": names,
    }


def _one_line(name: x509.Name) -> str:
    return "".join(f"/{_SHORT_NAMES.get(part.oid, part.oid.dotted_string)}={part.value!s}" for part in name)


def _alternative_names(certificate: x509.Certificate) -> list[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [_written(name.value) for name in found if isinstance(name, x509.DNSName | x509.IPAddress)]


def _written(name: object) -> str:
    return name.exploded if isinstance(name, ipaddress.IPv6Address) else str(name)
