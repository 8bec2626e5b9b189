from __future__ import annotations

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.controlplane.hosted.host.balancer.client_hello import LONGEST, offers_http2
from support.tls_greeting import hello


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_that_offers_http2_is_recognised(version: ssl.TLSVersion) -> None:
    assert offers_http2(hello("h2", "http/1.1", version=version)) is True
    assert offers_http2(hello("http/1.1", "h2", version=version)) is True
    assert offers_http2(hello("http/1.1", version=version)) is False
    assert offers_http2(hello(version=version)) is False


@given(st.data())
def test_it_is_not_known_before_the_greeting_is_whole(data: st.DataObject) -> None:
    whole = hello("h2")
    end = data.draw(st.integers(0, len(whole) - 1))

    assert offers_http2(whole[:end]) is None
    assert offers_http2(whole + b"what follows") is True


@given(st.integers(1, 100))
def test_a_greeting_may_be_spread_over_records(size: int) -> None:
    whole = hello("h2")
    content = whole[5:]
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    spread = b"".join(whole[:3] + len(each).to_bytes(2, "big") + each for each in pieces)

    assert offers_http2(spread) is True


@given(st.binary(max_size=400))
def test_nonsense_is_not_http2_and_does_no_harm(noise: bytes) -> None:
    assert offers_http2(noise) in (False, None)
    whole = hello("h2")
    assert offers_http2(whole[:44] + noise + whole[44 + len(noise) :]) in (True, False, None)


def test_what_never_ends_is_no_greeting() -> None:
    endless = (b"\x16\x03\x01\x40\x00" + b"\xff" * 0x4000) * (LONGEST // 0x4000 + 1)

    assert offers_http2(endless) is False
    assert offers_http2(b"GET / HTTP/1.1\r\n") is False
