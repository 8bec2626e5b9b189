from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.cluster.secrets import Purpose
from nagaya.clusters.certificates.held import held
from nagaya.clusters.certificates.kubeconfig import administrator_kubeconfig, read, trusted
from nagaya.clusters.certificates.wanted import Material
from nagaya.kube.kubeconfig import parse_text
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from support.certificates import AUTHORITY, PAIR, secret
from support.standing_clock import StandingClock
from support.subtest_cases import subtest_cases

CLOCK = StandingClock()
KEY = keys.generate()
TEXT = administrator_kubeconfig("harbour", Endpoint(host="fd00::1", port=6443), AUTHORITY, KEY, CLOCK)


def test_a_kubeconfig_says_what_was_put_into_it() -> None:
    content = read(TEXT)
    assert content.server == "https://[fd00::1]:6443"
    assert content.authorities == [AUTHORITY.certificate]
    assert content.certificate.subject.rfc4514_string() == "CN=kubernetes-admin,O=system:masters"
    assert content.key.public_key() == KEY.public_key()
    assert parse_text(TEXT).server == content.server
    assert yaml.safe_load(TEXT)["current-context"] == "harbour-admin@harbour"


def test_all_authorities_of_a_cluster_are_trusted_and_nothing_else_is_copied() -> None:
    other = CertificateAuthority.create("kubernetes", CLOCK)
    data = {"tls.crt": b"hello\n" + PAIR.certificate + b"note\n" + other.certificate_pem, "tls.key": PAIR.key}
    found = held(secret(Purpose.CLUSTER_AUTHORITY, data), Purpose.CLUSTER_AUTHORITY, Material.AUTHORITY)
    assert trusted(found) == PAIR.certificate + other.certificate_pem


CONFIG = yaml.safe_load(TEXT)


@subtest_cases(
    "text",
    [
        b"",
        b"\xff",
        b"a: b: c",
        b"[]",
        b"current-context: x",
        yaml.safe_dump({**CONFIG, "current-context": "other"}).encode(),
        yaml.safe_dump({**CONFIG, "users": [{"name": "harbour-admin", "user": {"token": "secret-token"}}]}).encode(),
        TEXT.replace(b"client-key-data: ", b"client-key-data: secret-"),
    ],
)
def test_what_is_not_such_a_kubeconfig_is_refused_without_its_content(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"it is not a kubeconfig|not Base64") as failure:
        read(text)
    assert "secret" not in str(failure.value)
    assert failure.value.__suppress_context__


@given(st.binary(max_size=60) | st.integers(0, len(TEXT)).map(lambda end: TEXT[:end]))
def test_whatever_is_there_is_read_or_refused(text: bytes) -> None:
    try:
        content = read(text)
    except ValueError as error:
        assert "PRIVATE" not in str(error)
    else:
        assert "PRIVATE" not in repr(content)
