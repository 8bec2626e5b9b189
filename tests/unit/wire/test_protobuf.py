from __future__ import annotations

import contextlib
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.wire import protobuf
from nagaya.wire.malformed import Malformed
from nagaya.wire.protobuf import Enumeration, Int64, Message, UInt64
from support.subtest_cases import subtest_cases


class Colour(Enumeration):
    NONE = 0
    RED = 1


class Leaf(Message, frozen=True):
    name: Annotated[str, 1] = ""
    colour: Annotated[Colour, 2] = Colour.NONE


class Tree(Message, frozen=True):
    id: Annotated[UInt64, 1] = 0
    offset: Annotated[Int64, 2] = 0
    blob: Annotated[bytes, 3] = b""
    flag: Annotated[bool, 4] = False
    leaf: Annotated[Leaf | None, 5] = None
    leaves: Annotated[tuple[Leaf, ...], 6] = ()
    words: Annotated[tuple[str, ...], 7] = ()
    numbers: Annotated[tuple[Int64, ...], 8] = ()
    colours: Annotated[tuple[Colour, ...], 9] = ()
    maybe: Annotated[Int64 | None, 300] = None


class Nest(Message, frozen=True):
    inner: Annotated[Nest | None, 1] = None


colours = st.sampled_from(Colour) | st.integers(-(2**31), 2**31 - 1).map(Colour)
signed = st.integers(-(2**63), 2**63 - 1)
leaves = st.builds(Leaf, name=st.text(), colour=colours)
trees = st.builds(
    Tree,
    id=st.integers(0, 2**64 - 1),
    offset=signed,
    blob=st.binary(),
    flag=st.booleans(),
    leaf=st.none() | leaves,
    leaves=st.lists(leaves).map(tuple),
    words=st.lists(st.text()).map(tuple),
    numbers=st.lists(signed).map(tuple),
    colours=st.lists(colours).map(tuple),
    maybe=st.none() | signed,
)


@given(trees)
def test_what_is_written_is_read_back(tree: Tree) -> None:
    assert protobuf.decode(Tree, protobuf.encode(tree)) == tree


@given(trees, st.data())
def test_a_message_that_is_cut_short_is_malformed_or_a_shorter_message(tree: Tree, data: st.DataObject) -> None:
    written = protobuf.encode(tree)
    cut = data.draw(st.integers(0, len(written)))
    with contextlib.suppress(Malformed):
        assert isinstance(protobuf.decode(Tree, written[:cut]), Tree)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_malformed(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        protobuf.decode(Tree, data)


def test_zero_values_are_not_sent_unless_their_presence_means_something() -> None:
    assert protobuf.encode(Tree()) == b""
    assert protobuf.encode(Tree(maybe=0)) == b"\xe0\x12\x00"
    assert protobuf.encode(Tree(leaf=Leaf())) == b"\x2a\x00"
    assert protobuf.decode(Tree, b"\xe0\x12\x00").maybe == 0


def test_numbers_that_a_field_cannot_hold_are_refused() -> None:
    assert protobuf.encode(Tree(id=2**64 - 1)) == b"\x08" + b"\xff" * 9 + b"\x01"
    assert protobuf.encode(Tree(offset=-1)) == b"\x10" + b"\xff" * 9 + b"\x01"
    for tree in (Tree(id=2**64), Tree(id=-1), Tree(offset=2**63), Tree(offset=-(2**63) - 1)):
        with pytest.raises(ValueError, match="64 bits"):
            protobuf.encode(tree)


def test_unknown_fields_of_all_kinds_are_skipped() -> None:
    unknown = b"\xf8\x01\x05" + b"\xf9\x01" + bytes(8) + b"\xfa\x01\x02ab" + b"\xfd\x01" + bytes(4)
    assert protobuf.decode(Tree, unknown + b"\x08\x07" + unknown) == Tree(id=7)


def test_unknown_values_of_an_enumeration_are_kept() -> None:
    leaf = protobuf.decode(Leaf, b"\x10\x2a")
    assert (leaf.colour, leaf.colour.name) == (42, "UNKNOWN_42")
    assert protobuf.encode(leaf) == b"\x10\x2a"


def test_repeated_numbers_are_read_packed_and_one_by_one() -> None:
    assert protobuf.decode(Tree, b"\x42\x02\x01\x02" + b"\x40\x03") == Tree(numbers=(1, 2, 3))


@subtest_cases(
    "data",
    [
        b"\x08",  # a number is missing
        b"\x08" + b"\xff" * 10,  # more than 64 bits
        b"\x08" + b"\xff" * 9 + b"\x02",  # a little more than 64 bits
        b"\x1a\x05ab",  # less than was promised
        b"\x1a" + b"\xff" * 9 + b"\x01",  # a length beyond all bounds
        b"\x0a\x01a",  # text where a number belongs
        b"\x18\x01",  # a number where text belongs
        b"\x0b\x0c",  # a group
        b"\x0f",  # no such wire type
        b"\x00\x01",  # field 0
        b"\x2a\x03\x0a\x01\xff",  # not UTF-8
    ],
)
def test_malformed_messages_are_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        protobuf.decode(Tree, data)


def test_messages_cannot_be_nested_without_end() -> None:
    data = b""
    for _ in range(1000):
        data = b"\x0a" + protobuf.encode_varint(len(data)) + data
    with pytest.raises(Malformed, match="nested"):
        protobuf.decode(Nest, data)
