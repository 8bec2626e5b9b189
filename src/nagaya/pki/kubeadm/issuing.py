"""From an entry of the table to a certificate.

Keys are handed in, because making an RSA key takes long enough to be done elsewhere.
"""

from __future__ import annotations

from datetime import datetime

from nagaya.pki import kubeconfig
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.keys import PrivateKey
from nagaya.pki.kubeadm.authorities import Authority
from nagaya.pki.kubeadm.identities import Identity
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.leaves import Leaf
from nagaya.pki.kubeconfig import ClientCertificate
from nagaya.world import Clock


def new_authority(
    authority: Authority, inputs: Inputs, key: PrivateKey, clock: Clock, around: datetime | None = None
) -> CertificateAuthority:
    """A new authority, which signs itself. It is valid from `around` on, whatever the clock says."""
    validity = inputs.authority_validity
    return CertificateAuthority.create(authority.common_name, clock, key, validity=validity, around=around)


def new_leaf(leaf: Leaf, signer: CertificateAuthority, inputs: Inputs, key: PrivateKey, clock: Clock) -> KeyPair:
    """A new certificate. Raises ValueError if the inputs do not suffice or the signer has expired."""
    return KeyPair.of(signer.issue(leaf.spec(inputs), key.public_key(), clock), key)


def new_kubeconfig(
    identity: Identity,
    signer: CertificateAuthority,
    server: str,
    inputs: Inputs,
    key: PrivateKey,
    clock: Clock,
    *,
    authorities: bytes | None = None,
) -> bytes:
    """A new kubeconfig for a URL. `authorities` are those to trust, PEM, if they are more than the signer.

    Raises ValueError if the signer has expired.
    """
    pair = KeyPair.of(signer.issue(identity.spec(inputs.leaf_validity), key.public_key(), clock), key)
    config = kubeconfig.build(
        server,
        authorities or signer.certificate_pem,
        ClientCertificate(pair.certificate, pair.key),
        cluster=inputs.cluster_name,
        user=identity.user,
    )
    return kubeconfig.to_yaml(config)
