from __future__ import annotations

import itertools
from collections.abc import Mapping

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from nagaya.api.cluster.secrets import Purpose
from nagaya.clusters.certificates.held import held
from nagaya.clusters.certificates.wanted import Material
from nagaya.pki import certificates, keys, pem
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from support.certificates import ACCOUNTS, AUTHORITY, PAIR, secret
from support.standing_clock import StandingClock
from support.subtest_cases import subtest_cases

CLOCK = StandingClock()
LEAF, LEAF_KEY = AUTHORITY.issue_pair(CertificateSpec("kube-apiserver-etcd-client"), CLOCK)
LEAF_PAIR = {"tls.crt": certificates.to_pem(LEAF), "tls.key": keys.to_pem(LEAF_KEY)}
STRANGE = keys.to_pem(keys.generate())
CA = Purpose.CLUSTER_AUTHORITY
PAIR_DATA = {"tls.crt": PAIR.certificate, "tls.key": PAIR.key}
_SHORT = rsa.generate_private_key(65537, 1024)
SHORT = keys.to_pem(_SHORT)
WEAK_CERTIFICATE = CertificateAuthority.create("kubernetes", CLOCK, _SHORT).certificate_pem
ODD_CURVE = keys.to_pem(ec.generate_private_key(ec.SECP256K1()))


def problem(data: Mapping[str, bytes], material: Material = Material.AUTHORITY, purpose: Purpose = CA) -> str:
    return held(secret(purpose, data), purpose, material).problem


def test_an_authority_can_sign_and_be_recognised() -> None:
    found = held(secret(CA), CA, Material.AUTHORITY)
    assert (found.problem, found.signs) == ("", True)
    assert found.signer.certificate == AUTHORITY.certificate
    assert found.certificates == [AUTHORITY.certificate]
    assert found.pins == [certificates.public_key_pin(AUTHORITY.certificate)]


def test_an_authority_without_its_key_is_trusted_and_does_not_sign() -> None:
    for data in ({"tls.crt": PAIR.certificate}, {"tls.crt": PAIR.certificate, "tls.key": b""}):
        found = held(secret(CA, data), CA, Material.AUTHORITY)
        assert (found.problem, found.signs) == ("", False)


def test_of_several_certificates_the_first_signs_and_all_are_trusted() -> None:
    other = CertificateAuthority.create("kubernetes", CLOCK)
    data = {"tls.crt": PAIR.certificate + other.certificate_pem, "tls.key": PAIR.key}
    found = held(secret(CA, data), CA, Material.AUTHORITY)
    assert found.signer.certificate == AUTHORITY.certificate
    assert found.certificates == [AUTHORITY.certificate, other.certificate]
    assert len(found.pins) == 2


@subtest_cases(
    ("data", "material", "words"),
    [
        ({}, Material.AUTHORITY, "it has no tls.crt. Put it there, as PEM."),
        ({"tls.crt": b"x"}, Material.AUTHORITY, "tls.crt: no certificate found"),
        (
            {"tls.crt": PAIR.certificate + PAIR.key},
            Material.FOREIGN_AUTHORITY,
            "tls.crt holds a private key. Move that to tls.key.",
        ),
        (LEAF_PAIR, Material.AUTHORITY, "CN=kube-apiserver-etcd-client is not a certificate authority"),
        ({"tls.crt": PAIR.certificate, "tls.key": b"x"}, Material.AUTHORITY, "tls.key: no private key found"),
        (
            {"tls.crt": PAIR.certificate, "tls.key": STRANGE},
            Material.AUTHORITY,
            "tls.key does not belong to the certificate in tls.crt. Put the private key of that certificate there, "
            "or remove tls.key if somebody else keeps it.",
        ),
        ({"tls.crt": LEAF_PAIR["tls.crt"]}, Material.CLIENT, "it has no tls.key. Put the private key there, as PEM."),
        (
            {**LEAF_PAIR, "tls.key": STRANGE},
            Material.CLIENT,
            "tls.key does not belong to the certificate in tls.crt. Put the private key of that one there.",
        ),
        ({"tls.crt": ACCOUNTS.certificate}, Material.SERVICE_ACCOUNTS, "it has no tls.key"),
        ({"tls.crt": b"x", "tls.key": ACCOUNTS.key}, Material.SERVICE_ACCOUNTS, "tls.crt: no public key found"),
        (
            {"tls.crt": ACCOUNTS.certificate, "tls.key": STRANGE},
            Material.SERVICE_ACCOUNTS,
            "tls.key does not belong to the public key in tls.crt. Put both halves of one key there",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_name_its_key_and_a_remedy(
    data: Mapping[str, bytes], material: Material, words: str
) -> None:
    sentence = problem(data, material)
    assert sentence.startswith("Secret fleet/harbour-ca: ")
    assert words in sentence


@subtest_cases(
    ("before", "after"),
    [
        (b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x07"),  # version 8
        (b"\x2a\x86\x48\xce\x3d\x02\x01", b"\x2a\x86\x48\xce\x3d\x02\x09"),  # a kind of key that nobody knows
        (b"\x2a\x86\x48\xce\x3d\x03\x01\x07", b"\x2a\x86\x48\xce\x3d\x03\x01\x79"),  # an unknown curve
        (b"\x55\x1d\x0e", b"\x55\x1d\x0f"),  # the extension for key usage, twice
    ],
)
def test_a_certificate_that_cannot_be_read_wholly_is_refused(before: bytes, after: bytes) -> None:
    der = AUTHORITY.certificate.public_bytes(Encoding.DER)
    assert before in der
    strange = pem.encode("CERTIFICATE", der.replace(before, after))
    for material, text in (
        (Material.AUTHORITY, strange),
        (Material.FOREIGN_AUTHORITY, PAIR.certificate + strange),
        (Material.SERVICE_ACCOUNTS, strange),
    ):
        assert "tls.crt: the certificate cannot be read" in problem({**PAIR_DATA, "tls.crt": text}, material)


def test_what_users_may_provide_is_taken() -> None:
    assert problem(LEAF_PAIR, Material.CLIENT) == ""
    assert problem({"tls.crt": PAIR.certificate}, Material.FOREIGN_AUTHORITY) == ""
    trusted = held(secret(CA), CA, Material.FOREIGN_AUTHORITY)
    assert (trusted.problem, trusted.pair.key) == ("", b""), "whoever only trusts never holds a key"
    rotated = {"tls.crt": ACCOUNTS.certificate + keys.public_to_pem(LEAF_KEY.public_key()), "tls.key": ACCOUNTS.key}
    assert problem(rotated, Material.SERVICE_ACCOUNTS) == ""


def test_broken_base64_is_named() -> None:
    broken = msgspec.structs.replace(secret(CA), data={"tls.crt": "!"})
    assert held(broken, CA, Material.AUTHORITY).problem == (
        "Secret fleet/harbour-ca: tls.crt is not Base64. Correct it."
    )


CERTIFICATES = {
    "authority": PAIR.certificate,
    "service accounts": ACCOUNTS.certificate,
    "a key": ACCOUNTS.key,
    "a certificate and its key": PAIR.certificate + PAIR.key,
    "junk": b"junk",
    "nothing": b"",
}
KEYS = {
    "authority": PAIR.key,
    "service accounts": ACCOUNTS.key,
    "another": STRANGE,
    "cut off": STRANGE[:60],
    "cut short": STRANGE[:90] + b"\n-----END EC PRIVATE KEY-----\n",
}


@subtest_cases(("certificate", "key", "material"), itertools.product(CERTIFICATES, KEYS, Material))
def test_no_key_is_ever_shown(certificate: str, key: str, material: Material) -> None:
    pem = KEYS[key]
    whole = secret(CA, {"tls.crt": CERTIFICATES[certificate], "tls.key": pem, "value": pem})
    found = held(whole, CA, material)
    for shown in (repr(whole), repr(found), str(whole), found.problem):
        assert "PRIVATE KEY-----" not in shown
        # The rest of a key of an elliptic curve is its public half.
        assert pem.decode().splitlines()[1] not in shown


KUBECONFIG = b"""apiVersion: v1
kind: Config
current-context: x
contexts: [{name: x, context: {cluster: x, user: x}}]
clusters: [{name: x, cluster: {server: "https://127.0.0.1"}}]
users: [{name: x, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, id]}}}]
# """


def test_what_stands_around_certificates_and_keys_is_dropped() -> None:
    around = {name: KUBECONFIG + text.replace(b"\n", b"\r\n") + KUBECONFIG for name, text in PAIR_DATA.items()}
    for data, material in (
        (around, Material.AUTHORITY),
        ({"tls.crt": KUBECONFIG + b"\n" + PAIR.certificate, "tls.key": PAIR.key}, Material.AUTHORITY),
        ({"tls.crt": KUBECONFIG + b"\n" + PAIR.certificate}, Material.FOREIGN_AUTHORITY),
        (
            {"tls.crt": KUBECONFIG + b"\n" + ACCOUNTS.certificate, "tls.key": KUBECONFIG + b"\n" + ACCOUNTS.key},
            Material.SERVICE_ACCOUNTS,
        ),
        ({name: KUBECONFIG + b"\n" + text for name, text in LEAF_PAIR.items()}, Material.CLIENT),
    ):
        found = held(secret(CA, data), CA, material)
        for text in (found.pair.certificate, found.pair.key):
            assert b"exec" not in text
            assert text == b"".join(pem.encode(each.label, each.data) for each in pem.blocks(text))
            assert all(not each.headers for each in pem.blocks(text))


def test_blocks_that_are_no_certificates_are_dropped() -> None:
    hidden = (
        pem.encode("X509 CRL", b"x") + b"-----BEGIN CERTIFICATE-----\nkind: Config\n\n!\n-----END CERTIFICATE-----\n"
    )
    found = held(secret(CA, {"tls.crt": hidden + PAIR.certificate, "tls.key": PAIR.key}), CA, Material.AUTHORITY)
    assert found.pair == PAIR


def test_what_was_encoded_by_nagaya_stays_as_it_is() -> None:
    assert held(secret(CA), CA, Material.AUTHORITY).pair == PAIR
    accounts = secret(Purpose.SERVICE_ACCOUNTS)
    assert held(accounts, Purpose.SERVICE_ACCOUNTS, Material.SERVICE_ACCOUNTS).pair == ACCOUNTS


@subtest_cases(
    ("data", "words"),
    [
        ({"tls.crt": PAIR.certificate + b"#" * (128 << 10)}, "tls.crt has more than 128 KiB or 64 PEM blocks"),
        ({"tls.crt": PAIR.certificate * 65}, "tls.crt has more than 128 KiB or 64 PEM blocks"),
        ({"tls.crt": PAIR.certificate, "tls.key": PAIR.key * 65}, "tls.key has more than 128 KiB or 64 PEM blocks"),
        ({"tls.crt": PAIR.certificate, "tls.key": SHORT}, "tls.key has an RSA key of 1024 bits, not of 2048 to 8192"),
        ({"tls.crt": PAIR.certificate, "tls.key": ODD_CURVE}, "tls.key has an ECDSA key on another curve than P-256"),
        ({"tls.crt": WEAK_CERTIFICATE}, "tls.crt has an RSA key of 1024 bits"),
    ],
)
def test_sizes_and_kinds_of_keys_are_bounded(data: Mapping[str, bytes], words: str) -> None:
    found = problem(data)
    assert found.startswith("Secret fleet/harbour-ca: ")
    assert words in found
