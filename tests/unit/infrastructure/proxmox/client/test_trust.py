from __future__ import annotations

import pytest

from nagaya.infrastructure.proxmox.client import BadTrust, Trust, fingerprint

DIGITS = "0123456789abcdef" * 4
PAIRS = ":".join(DIGITS[index : index + 2] for index in range(0, 64, 2))


@pytest.mark.parametrize(
    "written",
    [DIGITS, DIGITS.upper(), PAIRS, PAIRS.upper(), f"sha256:{DIGITS}", f" sha256 Fingerprint={PAIRS.upper()}\n"],
)
def test_a_fingerprint_is_understood_in_all_forms(written: str) -> None:
    assert fingerprint(written) == DIGITS


@pytest.mark.parametrize("written", ["", "ab", DIGITS[:40], f"{DIGITS}00", "x" * 64])
def test_what_is_no_sha256_is_refused(written: str) -> None:
    with pytest.raises(BadTrust, match="64 hexadecimal digits"):
        fingerprint(written)


@pytest.mark.parametrize(
    ("trust", "covers"),
    [
        (Trust(), False),
        (Trust(authority="PEM"), True),
        (Trust(insecure=True), True),
        (Trust(fingerprints=(DIGITS,)), False),
        (Trust(authority="PEM", fingerprints=(DIGITS,)), False),
    ],
)
def test_hosts_that_nobody_named_are_asked_only_where_they_can_be_recognised(trust: Trust, covers: bool) -> None:
    assert trust.covers_other_hosts is covers
