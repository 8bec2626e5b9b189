"""What a certificate may be used for, under the names that the certificates API has for it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier


class Usage(StrEnum):
    """One use. The first ten are bits of the key usage extension, the others are extended key usages."""

    SIGNING = "signing"
    DIGITAL_SIGNATURE = "digital signature"
    CONTENT_COMMITMENT = "content commitment"
    KEY_ENCIPHERMENT = "key encipherment"
    KEY_AGREEMENT = "key agreement"
    DATA_ENCIPHERMENT = "data encipherment"
    CERT_SIGN = "cert sign"
    CRL_SIGN = "crl sign"
    ENCIPHER_ONLY = "encipher only"
    DECIPHER_ONLY = "decipher only"
    ANY = "any"
    SERVER_AUTH = "server auth"
    CLIENT_AUTH = "client auth"
    CODE_SIGNING = "code signing"
    EMAIL_PROTECTION = "email protection"
    SMIME = "s/mime"
    IPSEC_END_SYSTEM = "ipsec end system"
    IPSEC_TUNNEL = "ipsec tunnel"
    IPSEC_USER = "ipsec user"
    TIMESTAMPING = "timestamping"
    OCSP_SIGNING = "ocsp signing"
    MICROSOFT_SGC = "microsoft sgc"
    NETSCAPE_SGC = "netscape sgc"


_EXTENDED: Final = {
    Usage.ANY: ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    Usage.SERVER_AUTH: ExtendedKeyUsageOID.SERVER_AUTH,
    Usage.CLIENT_AUTH: ExtendedKeyUsageOID.CLIENT_AUTH,
    Usage.CODE_SIGNING: ExtendedKeyUsageOID.CODE_SIGNING,
    Usage.EMAIL_PROTECTION: ExtendedKeyUsageOID.EMAIL_PROTECTION,
    Usage.SMIME: ExtendedKeyUsageOID.EMAIL_PROTECTION,
    Usage.IPSEC_END_SYSTEM: ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    Usage.IPSEC_TUNNEL: ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    Usage.IPSEC_USER: ObjectIdentifier("1.3.6.1.5.5.7.3.7"),
    Usage.TIMESTAMPING: ExtendedKeyUsageOID.TIME_STAMPING,
    Usage.OCSP_SIGNING: ExtendedKeyUsageOID.OCSP_SIGNING,
    Usage.MICROSOFT_SGC: ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    Usage.NETSCAPE_SGC: ObjectIdentifier("2.16.840.1.113730.4.1"),
}


def key_usage(usages: Iterable[Usage]) -> x509.KeyUsage | None:
    """The key usage extension for these uses; None if none of them is a bit of it."""
    wanted = {usage for usage in usages if usage not in _EXTENDED}
    if not wanted:
        return None
    agreement = Usage.KEY_AGREEMENT in wanted
    return x509.KeyUsage(
        digital_signature=bool(wanted & {Usage.SIGNING, Usage.DIGITAL_SIGNATURE}),
        content_commitment=Usage.CONTENT_COMMITMENT in wanted,
        key_encipherment=Usage.KEY_ENCIPHERMENT in wanted,
        data_encipherment=Usage.DATA_ENCIPHERMENT in wanted,
        key_agreement=agreement,
        key_cert_sign=Usage.CERT_SIGN in wanted,
        crl_sign=Usage.CRL_SIGN in wanted,
        # These two mean something only together with key agreement, and the encoder insists on that.
        encipher_only=agreement and Usage.ENCIPHER_ONLY in wanted,
        decipher_only=agreement and Usage.DECIPHER_ONLY in wanted,
    )


def extended_key_usage(usages: Iterable[Usage]) -> x509.ExtendedKeyUsage | None:
    """The extended key usage extension for these uses, in the order of `Usage`; None if there are none."""
    given = set(usages)
    found = list(dict.fromkeys(identifier for usage, identifier in _EXTENDED.items() if usage in given))
    return x509.ExtendedKeyUsage(found) if found else None
