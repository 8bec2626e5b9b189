from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.wire import websocket
from nagaya.wire.malformed import Malformed
from nagaya.wire.websocket import Frame, FrameReader, Opcode
from support.subtest_cases import subtest_cases

payloads = st.binary(max_size=400)
messages = st.lists(
    st.builds(lambda data: [Frame(Opcode.BINARY, data)], payloads)
    | st.builds(lambda data: [Frame(Opcode.PING, data[:125])], payloads)
    | st.builds(
        lambda first, data, last: [
            Frame(Opcode.BINARY, first, final=False),
            Frame(Opcode.PONG, data[:125]),
            Frame(Opcode.CONTINUATION, data, final=False),
            Frame(Opcode.CONTINUATION, last),
        ],
        payloads,
        payloads,
        payloads,
    ),
    max_size=5,
)


@given(messages, st.integers(1, 60), st.none() | st.binary(min_size=4, max_size=4))
def test_frames_are_found_however_the_bytes_come(sent: list[list[Frame]], piece: int, mask: bytes | None) -> None:
    frames = [frame for message in sent for frame in message]
    wire = b"".join(websocket.encode(frame, mask or b"") for frame in frames)
    reader = FrameReader(masked=mask is not None)
    found = [each for begin in range(0, len(wire), piece) for each in reader.feed(wire[begin : begin + piece])]
    assert found == frames


@given(st.binary(max_size=100), st.booleans())
def test_any_bytes_are_frames_or_malformed(data: bytes, masked: bool) -> None:
    with contextlib.suppress(Malformed):
        FrameReader(masked=masked).feed(data)


@pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536, 200_000])
def test_all_forms_of_the_length(size: int) -> None:
    frame = Frame(Opcode.BINARY, bytes(size))
    assert FrameReader(masked=True).feed(websocket.encode(frame, b"abcd")) == [frame]


def test_the_example_of_the_standard() -> None:
    assert websocket.accept_key("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    masked = bytes.fromhex("818537fa213d7f9f4d5158")
    assert FrameReader(masked=True).feed(masked) == [Frame(Opcode.TEXT, b"Hello")]
    assert websocket.encode(Frame(Opcode.TEXT, b"Hello"), bytes.fromhex("37fa213d")) == masked


@subtest_cases(
    ("data", "why"),
    [
        (b"\xc2\x00", "extension"),
        (b"\x83\x00", "unknown opcode"),
        (b"\x82\x80", "is masked"),
        (b"\x09\x00", "control frame"),
        (b"\x89\x7e\x00\x7e", "control frame"),
        (b"\x80\x00", "out of order"),
        (b"\x02\x00\x82\x00", "out of order"),
        (b"\x82\x7f" + b"\xff" * 8, "allowed"),
    ],
)
def test_malformed_frames_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        FrameReader(masked=False).feed(data)


def test_a_server_refuses_what_is_not_masked() -> None:
    with pytest.raises(Malformed, match="not masked"):
        FrameReader(masked=True).feed(b"\x82\x00")


def test_the_reason_of_an_end() -> None:
    assert websocket.decode_close(websocket.encode_close(1011, "why")) == (1011, "why")
    assert websocket.decode_close(Frame(Opcode.CLOSE)) == (1005, "")
    with pytest.raises(Malformed):
        websocket.decode_close(Frame(Opcode.CLOSE, b"\x03"))
