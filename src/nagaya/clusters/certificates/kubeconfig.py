"""The administrator's kubeconfig of a cluster: what is in it, and what one that is there says.

It is what `clusterctl get kubeconfig` hands out and what controllers themselves use, so its user is above the tenant's
RBAC, as upstream has it.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any, Final

import yaml
from cryptography import x509

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.clusters.certificates.held import Held
from nagaya.pki import certificates, keys, kubeconfig
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.keys import PrivateKey
from nagaya.pki.kubeadm.identities import PRIVILEGED, Identity
from nagaya.pki.kubeconfig import ClientCertificate
from nagaya.wire import bounded_yaml
from nagaya.wire.remembered import remember_short
from nagaya.world import Clock

_REMEMBERED: Final = 128
ADMINISTRATOR: Final[CertificateSpec] = Identity("", "kubernetes-admin", (PRIVILEGED,)).spec()


@dataclass(frozen=True, slots=True)
class Content:
    """What a kubeconfig says in the place that its current context leads to. `repr` does not show the key."""

    server: str
    authorities: list[x509.Certificate]
    certificate: x509.Certificate
    key: PrivateKey = field(repr=False)


def server_url(endpoint: Endpoint) -> str:
    """The address of a cluster's API."""
    return f"https://{endpoint}"


def administrator_kubeconfig(
    cluster: str,
    endpoint: Endpoint,
    signer: CertificateAuthority,
    key: PrivateKey,
    clock: Clock,
    authorities: bytes | None = None,
) -> bytes:
    """A new kubeconfig. `authorities` are those to trust, PEM, if they are more than the signer.

    Raises ValueError if the signer has expired.
    """
    pair = KeyPair.of(signer.issue(ADMINISTRATOR, key.public_key(), clock), key)
    config = kubeconfig.build(
        server_url(endpoint),
        authorities or signer.certificate_pem,
        ClientCertificate(pair.certificate, pair.key),
        cluster=cluster,
        user=f"{cluster}-admin",
    )
    return kubeconfig.to_yaml(config)


def trusted(authority: Held) -> bytes:
    """The certificates of an authority, PEM, without anything else that its Secret may hold."""
    return b"".join(map(certificates.to_pem, authority.certificates))


@remember_short(_REMEMBERED, 32 << 10)
def read(text: bytes) -> Content:
    """What a kubeconfig says. Raises ValueError, without content, if it is not one with a client certificate. Each look
    at a control plane asks for it, so what was read lately is remembered."""
    try:
        config = bounded_yaml.load(text)
        context = _entry(config["contexts"], config["current-context"], "context")
        place = _entry(config["clusters"], context["cluster"], "cluster")
        user = _entry(config["users"], context["user"], "user")
        return Content(
            str(place["server"]),
            certificates.load(_decoded(place["certificate-authority-data"])),
            certificates.load(_decoded(user["client-certificate-data"]))[0],
            keys.load(_decoded(user["client-key-data"])),
        )
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, StopIteration):
        # Without their words, which may quote the content.
        raise ValueError("it is not a kubeconfig with an authority and a client certificate") from None


def _entry(entries: Any, name: Any, part: str) -> Any:
    return next(each[part] for each in entries if each["name"] == name)


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("its certificates are not Base64") from None
