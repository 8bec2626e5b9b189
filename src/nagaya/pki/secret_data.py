"""A certificate authority as the data of a Secret, in the form that Kubernetes has for TLS."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Final

from nagaya.pki.authority import CertificateAuthority

CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"


def data_of(authority: CertificateAuthority) -> dict[str, bytes]:
    """What a Secret holds of an authority."""
    return {CERTIFICATE: authority.certificate_pem, KEY: authority.key_pem}


def read_authority(data: Mapping[str, str]) -> CertificateAuthority:
    """The authority in the data of a Secret. Raises ValueError, without content, if there is none."""
    return CertificateAuthority.load(_decoded(data, CERTIFICATE), _decoded(data, KEY))


def _decoded(data: Mapping[str, str], name: str) -> bytes:
    value = data.get(name)
    if not value:
        raise ValueError(f"it has no {name}")
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{name} is not Base64: {error}") from error
