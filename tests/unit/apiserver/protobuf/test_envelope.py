"""A protobuf body says what it holds."""

from __future__ import annotations

import pytest

from nagaya.apiserver import protobuf
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.gvk import GroupVersionKind

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


def test_the_kind_stands_before_the_object() -> None:
    body = b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x06\x0a\x04\x0a\x02ab\x1a\x00\x22\x00"
    assert protobuf.decode(body) == ("v1", "ConfigMap", {"metadata": {"name": "ab"}})


def test_a_body_without_a_kind_is_read_as_the_default() -> None:
    assert protobuf.decode(b"k8s\x00\x12\x06\x0a\x04\x0a\x02ab", CONFIG_MAP) == ("", "", {"metadata": {"name": "ab"}})


def test_an_object_of_an_unknown_kind_comes_back_empty() -> None:
    body = b"k8s\x00\x0a\x0b\x0a\x02v9\x12\x05Thing\x12\x02\x0a\x00"
    assert protobuf.decode(body, CONFIG_MAP) == ("v9", "Thing", {})


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "empty data"),
        (b"k8s\x00", "empty body"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\x00\x08\x01", "proto: wrong wireType = 0 for field TypeMeta"),
        (b"k8s\x00\x0a\x7f", "unexpected EOF"),
        (b"k8s\x00\x0a\x02\x10\x01", "proto: wrong wireType = 0 for field Kind"),
    ],
)
def test_a_broken_envelope_is_refused(body: bytes, problem: str) -> None:
    with pytest.raises(DecodeError) as caught:
        protobuf.decode(body)
    assert str(caught.value) == problem
