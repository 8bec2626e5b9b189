"""A Secret of a cluster as it was read: whether it can be used, and for what.

The content is judged here, without a clock, so that one judgement holds for as long as the Secret does not change.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cryptography import x509

from nagaya.api.cluster.secrets import Purpose
from nagaya.api.kind import Kind, Resource
from nagaya.api.meta import NONE, ObjectMeta
from nagaya.clusters.certificates.wanted import Material
from nagaya.kube.tenant_secrets import VALUE
from nagaya.pki import certificates, keys, pem
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.secret_data import CERTIFICATE, KEY


class ClusterSecret(Resource):
    """A Secret with its content and type. `repr` does not show the content."""

    type: str = ""
    data: Mapping[str, str] = NONE

    def __repr__(self) -> str:
        return f"ClusterSecret({self.metadata.namespace}/{self.metadata.name}, {self.type!r})"


NOTHING: Final = KeyPair(b"", b"")
CLUSTER_SECRETS: Final = Kind("", "v1", "Secret", "secrets", ClusterSecret)


@dataclass(frozen=True, slots=True)
class Held:
    """One Secret. If it cannot be used, `problem` is the sentence that says why, and there is no content."""

    purpose: Purpose
    metadata: ObjectMeta
    type: str
    pair: KeyPair = NOTHING
    kubeconfig: bytes = field(default=b"", repr=False)
    problem: str = ""

    @property
    def signs(self) -> bool:
        """Whether certificates can be signed with it; not if the user keeps the key elsewhere."""
        return bool(self.pair.key)

    @property
    def certificates(self) -> list[x509.Certificate]:
        """The certificates of an authority: its own, and others that shall be trusted too."""
        return certificates.load(self.pair.certificate)

    @property
    def signer(self) -> CertificateAuthority:
        """The authority itself. Only for one that signs."""
        return CertificateAuthority.load(self.pair.certificate, self.pair.key)

    @property
    def pins(self) -> list[str]:
        """The digests by which `kubeadm join` recognises the authority: one for each certificate."""
        return [certificates.public_key_pin(each) for each in self.certificates]


class _Unusable(ValueError):
    """What is wrong, with the remedy."""


def held(secret: ClusterSecret, purpose: Purpose, material: Material) -> Held:
    """What a Secret holds, judged."""
    metadata = secret.metadata
    try:
        if material is Material.KUBECONFIG:
            return Held(purpose, metadata, secret.type, kubeconfig=_decoded(secret.data, VALUE))
        return Held(purpose, metadata, secret.type, _pair(secret.data, material))
    except _Unusable as problem:
        sentence = f"Secret {metadata.namespace}/{metadata.name}: {problem}"
        return Held(purpose, metadata, secret.type, problem=sentence)


def _pair(data: Mapping[str, str], material: Material) -> KeyPair:
    """What the Secret holds, read and encoded again: whatever else is in its texts does not become part of a file."""
    text = _required(data, CERTIFICATE)
    key = b"" if material is Material.FOREIGN_AUTHORITY else _decoded(data, KEY)
    for name, each in ((CERTIFICATE, text), (KEY, key)):
        if len(each) > certificates.LARGEST or sum(1 for _ in pem.blocks(each)) > certificates.MOST:
            raise _Unusable(
                f"{name} has more than {certificates.LARGEST >> 10} KiB or {certificates.MOST} PEM blocks. "
                "Leave only what is needed."
            )
    if any(block.label.endswith("PRIVATE KEY") for block in pem.blocks(text)):
        # It goes to every machine of the cluster.
        raise _Unusable(f"{CERTIFICATE} holds a private key. Move that to {KEY}.")
    if not key and material in (Material.CLIENT, Material.SERVICE_ACCOUNTS):
        raise _Unusable(f"it has no {KEY}. Put the private key there, as PEM.")
    private = _key(key) if key else None
    if material is Material.SERVICE_ACCOUNTS:
        public = _service_accounts(text, private)
    else:
        public = _certificates(text, private, material)
    return KeyPair(public, b"" if private is None else keys.to_pem(private))


def _service_accounts(text: bytes, private: keys.PrivateKey | None) -> bytes:
    try:
        verifying = keys.load_public(text)
    except ValueError as error:
        raise _Unusable(f"{CERTIFICATE}: {error}. Put the public key of service accounts there, as PEM.") from error
    if private is None or private.public_key() not in verifying:
        raise _Unusable(
            f"{KEY} does not belong to the public key in {CERTIFICATE}. Put both halves of one key there, as PEM."
        )
    for each in verifying:
        _expect_strong(each, CERTIFICATE)
    return b"".join(map(keys.public_to_pem, verifying))


def _certificates(text: bytes, private: keys.PrivateKey | None, material: Material) -> bytes:
    try:
        found = certificates.reencoded(text)
        first = certificates.load(found)[0]
        public = keys.checked_public(first.public_key())
        is_authority = _is_authority(first)
    except ValueError as error:
        raise _Unusable(f"{CERTIFICATE}: {error}. Put a certificate there, as PEM.") from error
    if material is Material.AUTHORITY and not is_authority:
        raise _Unusable(
            f"{CERTIFICATE}: {first.subject.rfc4514_string()} is not a certificate authority. "
            f"Put the certificate of one there, as PEM."
        )
    if private is not None and private.public_key() != public:
        raise _Unusable(
            f"{KEY} does not belong to the certificate in {CERTIFICATE}. Put the private key of that certificate "
            f"there, or remove {KEY} if somebody else keeps it."
            if material is not Material.CLIENT
            else f"{KEY} does not belong to the certificate in {CERTIFICATE}. Put the private key of that one there."
        )
    _expect_strong(public, CERTIFICATE)
    return found


def _key(text: bytes) -> keys.PrivateKey:
    try:
        found = keys.load(text)
    except ValueError as error:
        raise _Unusable(f"{KEY}: {error}. Put the private key there, as PEM.") from error
    _expect_strong(found.public_key(), KEY)
    return found


def _expect_strong(key: keys.PublicKey, name: str) -> None:
    if weakness := keys.weakness(key):
        raise _Unusable(f"{name} has {weakness}. Put another there.")


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _required(data: Mapping[str, str], name: str) -> bytes:
    value = _decoded(data, name)
    if not value:
        raise _Unusable(f"it has no {name}. Put it there, as PEM.")
    return value


def _decoded(data: Mapping[str, str], name: str) -> bytes:
    try:
        return base64.b64decode(data.get(name, ""), validate=True)
    except binascii.Error:
        raise _Unusable(f"{name} is not Base64. Correct it.") from None
