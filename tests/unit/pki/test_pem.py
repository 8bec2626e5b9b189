from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nagaya.pki import pem


@given(st.binary(), st.sampled_from(["CERTIFICATE", "EC PRIVATE KEY", "X"]))
def test_what_is_encoded_is_read_back(data: bytes, label: str) -> None:
    assert list(pem.blocks(pem.encode(label, data))) == [pem.Block(label, {}, data)]


def test_text_around_blocks_is_ignored() -> None:
    text = b"a comment\n" + pem.encode("A", b"1") + b"between\n" + pem.encode("B", b"2") + b"after"
    assert [(each.label, each.data) for each in pem.blocks(text)] == [("A", b"1"), ("B", b"2")]


def test_windows_line_ends_are_understood() -> None:
    assert next(pem.blocks(pem.encode("A", b"x" * 100).replace(b"\n", b"\r\n"))).data == b"x" * 100


def test_headers_are_told_apart_from_content() -> None:
    text = pem.encode("A", b"data").replace(b"-----BEGIN A-----\n", b"-----BEGIN A-----\nProc-Type: 4\nX: y\n\n")
    assert next(pem.blocks(text)) == pem.Block("A", {"Proc-Type": "4", "X": "y"}, b"data")


def test_broken_blocks_are_skipped() -> None:
    broken = b"-----BEGIN A-----\n!!!\n-----END A-----\n"
    unfinished = b"-----BEGIN A-----\nAAAA\n"
    assert [each.label for each in pem.blocks(broken + pem.encode("B", b"x") + unfinished)] == ["B"]


def test_a_block_ends_with_its_own_label() -> None:
    assert list(pem.blocks(b"-----BEGIN A-----\nAAAA\n-----END B-----\n")) == []


def test_beginnings_without_an_end_are_read_once_each() -> None:
    # A search for the end of each of them would take hours.
    assert list(pem.blocks(b"-----BEGIN A-----\n" * 500_000)) == []
    assert list(pem.blocks(b"".join(b"-----BEGIN %d-----\nX: y\n" % each for each in range(200_000)))) == []


def test_a_block_within_another_is_read() -> None:
    text = b"-----BEGIN A-----\nAAAA\n" + pem.encode("B", b"x") + b"-----END A-----\n"
    assert [each.label for each in pem.blocks(text)] == ["B"]
