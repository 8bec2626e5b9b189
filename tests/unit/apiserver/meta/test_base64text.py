"""Bytes in JSON are read as leniently, and refused as precisely, as Go does."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.meta import base64text
from nagaya.apiserver.meta.base64text import Base64Error
from support.subtest_cases import subtest_cases


@pytest.mark.parametrize(
    ("written", "kept"), [("", ""), ("YQ==", "YQ=="), ("YW\nJj\r\n", "YWJj"), ("QR==", "QQ=="), ("YQ=\n=", "YQ==")]
)
def test_line_breaks_and_spare_bits_are_ignored(written: str, kept: str) -> None:
    assert base64text.canonical(written) == kept


@subtest_cases(
    ("written", "position"),
    [("a", 0), ("YWJjZ", 4), ("YQ=", 3), ("YQ=x", 2), ("YQ==x", 4), ("Y Q=", 1), ("====", 0), ("YWJj=", 4), ("é", 0)],
)
def test_the_first_wrong_byte_is_named(written: str, position: int) -> None:
    with pytest.raises(Base64Error) as caught:
        base64text.canonical(written)
    assert str(caught.value) == f"illegal base64 data at input byte {position}"


@given(st.binary())
def test_every_byte_survives(data: bytes) -> None:
    written = base64text.encode(data)
    assert base64text.canonical(written) == written
    assert base64.b64decode(written) == data


@pytest.mark.parametrize(("written", "position"), [("!!", 0), ("ab=", 2), ("ab+d", 2), ("abcda", 4), ("é", 0)])
def test_the_first_wrong_byte_of_an_unpadded_text_is_named(written: str, position: int) -> None:
    with pytest.raises(Base64Error, match=f"illegal base64 data at input byte {position}$"):
        base64text.decode_unpadded(written)


@given(st.binary(max_size=40))
def test_every_byte_survives_without_padding(data: bytes) -> None:
    assert base64text.decode_unpadded(base64.urlsafe_b64encode(data).rstrip(b"=").decode()) == data
