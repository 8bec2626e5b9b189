"""What a Secret says, CAPMOX's included, and the sentences for one that says too little."""

from __future__ import annotations

import pytest

from nagaya.infrastructure.proxmox.client import Endpoint, Password, Token
from nagaya.infrastructure.proxmox.client.facts import read
from support.subtest_cases import subtest_cases

TOKEN = {"token": b"nagaya@pve!main", "secret": b"hush\n"}
PRINT = "AB:" * 31 + "AB"


def test_a_secret_of_capmox_works_as_it_is() -> None:
    facts = read({**TOKEN, "url": b"https://pve.example.org:8006/api2/json\n", "insecure": b"true"})
    assert facts.endpoints == (Endpoint("pve.example.org"),)
    assert facts.credentials == Token("nagaya@pve!main", "hush")
    assert facts.trust.insecure


def test_a_secret_that_does_not_say_insecure_does_not_mean_it() -> None:
    assert not read({**TOKEN, "url": b"pve"}).trust.insecure
    assert not read({**TOKEN, "url": b"pve", "insecure": b"false"}).trust.insecure


def test_the_connection_counts_more_than_the_secret() -> None:
    facts = read({**TOKEN, "url": b"old"}, endpoints=["a", "https://a:8006", "b"], fingerprints=[PRINT, PRINT.lower()])
    assert facts.endpoints == (Endpoint("a"), Endpoint("b"))
    assert facts.trust.fingerprints == ("ab" * 32,)
    assert not facts.trust.covers_other_hosts


def test_a_password_keeps_its_spaces() -> None:
    facts = read({"user": b"root@pam", "password": b" a b \n"}, endpoints=["pve"])
    assert facts.credentials == Password("root@pam", " a b ")


@subtest_cases(
    ("secret", "more", "why"),
    [
        (TOKEN, {}, "no address of Proxmox VE"),
        ({}, {"endpoints": ["pve"]}, "neither `token` and `secret` nor"),
        ({"token": b"main", "secret": b"hush"}, {"endpoints": ["pve"]}, "user@realm!name"),
        ({"token": b"a@pve!main"}, {"endpoints": ["pve"]}, "no key `secret`"),
        ({"user": b"root", "password": b"hush"}, {"endpoints": ["pve"]}, "name@realm"),
        ({"user": b"root@pam"}, {"endpoints": ["pve"]}, "no key `password`"),
        ({**TOKEN, "insecure": b"maybe"}, {"endpoints": ["pve"]}, "neither true nor false"),
        ({**TOKEN, "secret": b"\xff"}, {"endpoints": ["pve"]}, "`secret` is not text"),
        ({**TOKEN, "secret": b"hush" * 2000}, {"endpoints": ["pve"]}, "`secret` is too long"),
        ({**TOKEN, "url": b"hush," * 40_000}, {}, "`url` is too long"),
        (TOKEN, {"endpoints": ["ftp://pve"]}, "not by ftp"),
        (TOKEN, {"endpoints": ["pve"], "fingerprints": ["ab:cd"]}, "not SHA-256"),
        (TOKEN, {"endpoints": ["pve"], "authority": "hush"}, "must be PEM"),
    ],
)
def test_what_is_missing_is_named_and_no_secret_is(secret: dict[str, bytes], more: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why) as raised:
        read(secret, **more)
    assert "hush" not in str(raised.value)
