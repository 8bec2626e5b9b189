from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.wire import grpc
from nagaya.wire.grpc import Code, MessageReader
from nagaya.wire.malformed import Malformed
from support.subtest_cases import subtest_cases


@given(st.lists(st.binary(max_size=300), max_size=10), st.integers(1, 50))
def test_messages_are_found_however_the_bytes_come(messages: list[bytes], piece: int) -> None:
    wire = b"".join(map(grpc.frame, messages))
    reader = MessageReader()
    found = [each for begin in range(0, len(wire), piece) for each in reader.feed(wire[begin : begin + piece])]
    assert found == messages
    assert not reader.partial


def test_the_middle_of_a_message_is_noticed() -> None:
    reader = MessageReader()
    assert reader.feed(grpc.frame(b"abc")[:-1]) == []
    assert reader.partial


def test_messages_that_are_too_large_or_compressed_are_refused() -> None:
    assert MessageReader(3).feed(grpc.frame(b"abc")) == [b"abc"]
    with pytest.raises(Malformed, match="4 bytes; 3 are allowed"):
        MessageReader(3).feed(grpc.frame(b"abcd")[:5])
    with pytest.raises(Malformed, match="compressed"):
        MessageReader().feed(b"\x01\x00\x00\x00\x00")


@given(st.text())
def test_words_survive_their_encoding(words: str) -> None:
    encoded = grpc.encode_words(words)
    assert encoded.isascii()
    assert grpc.decode_words(encoded) == words


def test_broken_escapes_are_left_as_they_are() -> None:
    assert grpc.decode_words("100% sure %zz") == "100% sure %zz"


@given(st.floats(0, 1e12))
def test_a_timeout_is_never_told_shorter_than_it_is(seconds: float) -> None:
    told = grpc.encode_timeout(seconds)
    assert len(told) <= 9
    read = grpc.decode_timeout(told)
    assert read >= min(seconds, 99_999_999 * 3600) * (1 - 1e-9)
    assert read <= seconds * 1.01 + 1e-6


@subtest_cases("value", ["", "5", "S", "-1S", "5s", "123456789S", "1.5S", "²S"])
def test_timeouts_of_another_form_are_refused(value: str) -> None:
    with pytest.raises(Malformed):
        grpc.decode_timeout(value)


def test_codes_that_nobody_knows_say_nothing() -> None:
    assert grpc.read_code("5") is Code.NOT_FOUND
    assert grpc.read_code("99") is Code.UNKNOWN
    assert grpc.read_code("x") is Code.UNKNOWN
    assert grpc.code_of_http(503) is Code.UNAVAILABLE
    assert grpc.code_of_http(403) is Code.PERMISSION_DENIED
    assert grpc.code_of_http(418) is Code.UNKNOWN
