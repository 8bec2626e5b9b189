from __future__ import annotations

from nagaya.controlplane.hosted.data_store.leaf import valid_pair
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.key_pair import KeyPair
from support.certificates import AUTHORITY
from support.standing_clock import StandingClock

SPEC, CLOCK = CertificateSpec("tenant"), StandingClock()


def test_a_pair_that_is_good_is_kept_without_the_text_around_it() -> None:
    made = valid_pair(KeyPair(b"", b""), SPEC, AUTHORITY, CLOCK)
    written = KeyPair(b"kind: Config\n" + made.certificate, b"users: []\n" + made.key)
    assert valid_pair(made, SPEC, AUTHORITY, CLOCK) == made
    assert valid_pair(written, SPEC, AUTHORITY, CLOCK) == made
