from __future__ import annotations

import contextlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.wire.malformed import Malformed
from nagaya.wire.spdy.dictionary import DICTIONARY
from nagaya.wire.spdy.frames import (
    Data,
    Frame,
    FrameReader,
    FrameWriter,
    GoAway,
    MoreHeaders,
    Ping,
    RstStream,
    Settings,
    SynReply,
    SynStream,
    WindowUpdate,
)
from nagaya.wire.spdy.headers import HeaderCompressor, HeaderDecompressor
from support.subtest_cases import subtest_cases

streams = st.integers(1, 2**31 - 1)
words = st.integers(0, 2**32 - 1)
texts = st.text(st.characters(max_codepoint=255), max_size=20)
names = texts.map(str.lower).filter(lambda name: name and name == name.lower() and name.isascii())
headers = st.dictionaries(names, texts, max_size=5)
frames: st.SearchStrategy[Frame] = (
    st.builds(SynStream, streams, headers, st.booleans(), st.booleans(), st.integers(0, 2**31 - 1), st.integers(0, 7))
    | st.builds(SynReply, streams, headers, st.booleans())
    | st.builds(MoreHeaders, streams, headers, st.booleans())
    | st.builds(RstStream, streams, words)
    | st.builds(Settings, st.lists(st.tuples(st.integers(0, 2**24 - 1), words), max_size=3).map(tuple))
    | st.builds(Ping, words)
    | st.builds(GoAway, st.integers(0, 2**31 - 1), words)
    | st.builds(WindowUpdate, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
    | st.builds(Data, streams, st.binary(max_size=300), st.booleans())
)


@given(st.lists(frames, max_size=8), st.integers(1, 40))
def test_frames_are_found_however_the_bytes_come(sent: list[Frame], piece: int) -> None:
    writer, reader = FrameWriter(), FrameReader()
    wire = b"".join(map(writer.encode, sent))
    found = [each for begin in range(0, len(wire), piece) for each in reader.feed(wire[begin : begin + piece])]
    assert found == sent


@given(st.binary(max_size=200))
def test_any_bytes_are_frames_or_malformed(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        FrameReader().feed(data)


@given(st.lists(frames, min_size=1, max_size=4), st.data())
def test_a_flipped_bit_is_another_frame_or_malformed(sent: list[Frame], data: st.DataObject) -> None:
    writer = FrameWriter()
    wire = bytearray(b"".join(map(writer.encode, sent)))
    wire[data.draw(st.integers(0, len(wire) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with contextlib.suppress(Malformed):
        FrameReader().feed(bytes(wire))


def test_the_dictionary_is_the_protocols() -> None:
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_what_kubectl_sends_is_understood() -> None:
    sent = bytes.fromhex(GO_SYN_STREAMS)
    assert FrameReader().feed(sent) == [
        SynStream(1, {"port": "2379", "requestid": "0", "streamtype": "error"}),
        Data(1, b"", fin=True),
        SynStream(3, {"port": "2379", "requestid": "0", "streamtype": "data"}),
    ]


@subtest_cases(
    ("data", "why"),
    [
        ("80020006 00000004 00000001", "version 2"),
        ("80030006 00000005 0000000100", "instead of 4"),
        ("80030007 00000004 00000001", "instead of 8"),
        ("80030009 00000004 00000001", "instead of 8"),
        ("80030003 00000008 00000000 00000005", "stream 0"),
        ("00000000 00000000", "stream 0"),
        ("80030001 00ffffff", "65536 are allowed"),
        ("00000001 00ffffff", "1048576 are allowed"),
        ("80030001 00000002 0000", "10 or more"),
        ("80030001 0000000c 00000001 00000000 0000 abcd", "decompressed"),
        ("80030002 00000004 00000001", "ends within a number"),
        ("80030004 00000004 00000005", "instead of 44"),
    ],
)
def test_malformed_frames_are_refused(data: str, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        FrameReader().feed(bytes.fromhex(data))


def test_unknown_control_frames_are_skipped() -> None:
    assert FrameReader().feed(bytes.fromhex("8003000a 00000002 abcd 80030006 00000004 00000001")) == [Ping(1)]


def compressed(plain: bytes) -> bytes:
    stream = zlib.compressobj(zdict=DICTIONARY)
    return stream.compress(plain) + stream.flush(zlib.Z_SYNC_FLUSH)


def number(value: int) -> bytes:
    return value.to_bytes(4, "big")


@pytest.mark.parametrize(
    ("plain", "why"),
    [
        (number(1) + number(9) + b"a", "within a header"),
        (number(2**32 - 1), "within a number"),
        (number(1) + number(1) + b"A" + number(0), "lower case"),
        (number(1) + number(0) + number(0), "empty"),
        (number(2) + 2 * (number(1) + b"a" + number(0)), "twice"),
        (number(0) + b"x", "longer"),
        (number(1) + number(1) + b"a" + number(100_000) + bytes(100_000), "more than 65536"),
    ],
)
def test_malformed_headers_are_refused(plain: bytes, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        HeaderDecompressor().decode(compressed(plain))


def test_a_small_block_that_grows_without_end_is_refused_early() -> None:
    bomb = compressed(number(1) + number(1) + b"a" + number(2**30) + bytes(50_000_000))
    assert len(bomb) < 100_000
    with pytest.raises(Malformed, match="more than 65536"):
        HeaderDecompressor().decode(bomb)


def test_later_blocks_are_shorter_as_the_compression_goes_on() -> None:
    compressor, decompressor = HeaderCompressor(), HeaderDecompressor()
    block = {"streamtype": "data", "port": "2379", "requestid": "0"}
    first, second = compressor.encode(block), compressor.encode(block)
    assert len(second) < len(first) / 2
    assert [decompressor.decode(first), decompressor.decode(second)] == [block, block]


# Written by the SPDY library of kubectl.
GO_SYN_STREAMS = (
    "800300010000003e0000000100000000000078f9e3c6a7c202253a48f95b044eea46c6e6960c0c0c9c4590f8ca04a5634603"
    "704a2c294a4dcc851636aca9a0a800000000ffff0000000101000000800300010000001600000003000000000000225333a8"
    "a44a04000000ffff"
)
