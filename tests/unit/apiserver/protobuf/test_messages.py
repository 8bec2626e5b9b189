"""Protobuf bodies become the objects that Go makes of them."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver import protobuf
from nagaya.apiserver.builtins import decode, facts
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.gvk import GroupVersion, GroupVersionKind
from nagaya.apiserver.protobuf.messages import MAX_DEPTH, struct_message
from support.subtest_cases import subtest_cases

# Written by tools/typefacts/vectors.py: bodies as Go clients send them, with the objects that Go reads from them.
VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())

CONFIG_MAP = facts.struct_of(GroupVersionKind("", "v1", "ConfigMap"))
POD = facts.struct_of(GroupVersionKind("", "v1", "Pod"))


def field(number: int, payload: bytes | int) -> bytes:
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def read(struct: str, *fields: bytes) -> Any:
    body = b"".join(fields)
    return struct_message(facts.struct_of(struct))(body, 0, len(body), 0)


@subtest_cases("vector", VECTORS, ids=lambda vector: vector["object"]["kind"])
def test_bodies_of_go_clients_are_read_as_go_reads_them(vector: dict[str, Any]) -> None:
    api_version, kind, obj = protobuf.decode(base64.b64decode(vector["protobuf"]))
    assert {"apiVersion": api_version, "kind": kind, **obj} == vector["object"]


@subtest_cases("vector", VECTORS, ids=lambda vector: vector["object"]["kind"])
def test_what_comes_out_needs_no_further_change(vector: dict[str, Any]) -> None:
    obj = vector["object"]
    version = GroupVersion.parse(obj["apiVersion"])
    struct = facts.struct_of(GroupVersionKind(version.group, version.version, obj["kind"]))
    assert decode.normalise(struct, obj) == (obj, [])


def test_a_small_message_by_hand() -> None:
    entry = field(1, b"key") + field(2, b"value")
    assert read("core/v1.ConfigMap", field(1, field(1, b"name")), field(2, entry), field(4, 0)) == {
        "metadata": {"name": "name"},
        "data": {"key": "value"},
        "immutable": False,
    }


def test_unknown_fields_are_skipped() -> None:
    group = varint(900 << 3 | 3) + field(1, 5) + varint(2 << 3 | 5) + b"1234" + varint(900 << 3 | 4)
    fixed = varint(901 << 3 | 1) + b"12345678"
    assert read("core/v1.ConfigMap", field(99, b"x"), field(100, 7), group, fixed) == {"metadata": {}}


def test_a_message_in_parts_is_put_together() -> None:
    parts = field(1, field(1, b"name")), field(1, field(3, b"space")), field(1, field(1, b"other"))
    assert read("core/v1.ConfigMap", *parts) == {"metadata": {"name": "other", "namespace": "space"}}


def test_a_later_scalar_replaces_an_earlier_one_even_if_it_is_empty() -> None:
    assert read("core/v1.ConfigMap", field(1, field(1, b"name") + field(1, b""))) == {"metadata": {}}


def test_negative_numbers_have_ten_bytes_and_32_bits_are_cut_out() -> None:
    assert read("core/v1.ContainerPort", field(3, -5)) == {"containerPort": -5}
    assert read("core/v1.ContainerPort", field(3, 2**32 + 7)) == {"containerPort": 7}


def test_repeated_numbers_may_be_packed() -> None:
    loose = field(4, 1), field(4, 300)
    packed = field(4, varint(1) + varint(300))
    assert read("core/v1.PodSecurityContext", *loose) == read("core/v1.PodSecurityContext", packed)
    assert read("core/v1.PodSecurityContext", packed) == {"supplementalGroups": [1, 300]}


def test_an_incomplete_map_entry_has_empty_parts() -> None:
    assert read("core/v1.ConfigMap", field(2, field(1, b"k")))["data"] == {"k": ""}
    assert read("core/v1.ConfigMap", field(2, b""))["data"] == {"": ""}
    assert read("core/v1.ConfigMap", field(3, field(1, b"k")))["binaryData"] == {"k": ""}


def test_texts_that_are_not_utf8_are_replaced() -> None:
    assert read("core/v1.ConfigMap", field(1, field(1, b"a\xff")))["metadata"] == {"name": "a\ufffd"}


def test_dates() -> None:
    lease = "coordination/v1.LeaseSpec"
    assert read(lease, field(4, field(1, 0) + field(2, 1_999_999))) == {"renewTime": "1970-01-01T00:00:00.001999Z"}
    assert read(lease, field(4, field(1, 1) + field(2, -1_000_000))) == {"renewTime": "1970-01-01T00:00:00.999000Z"}
    assert read(lease, field(4, b"")) == {"renewTime": None}
    assert read("core/v1.ConfigMap", field(1, field(8, b""))) == {"metadata": {}}


def test_ports_are_numbers_or_names() -> None:
    action = "core/v1.HTTPGetAction"
    assert read(action, field(2, field(1, 0) + field(2, 80) + field(3, b"http")))["port"] == 80
    assert read(action, field(2, field(1, 1) + field(2, 80) + field(3, b"http")))["port"] == "http"
    with pytest.raises(DecodeError, match=r"impossible IntOrString\.Type"):
        read(action, field(2, field(1, 2)))


@subtest_cases(
    ("body", "problem"),
    [
        (b"\x0a", "unexpected EOF"),
        (b"\x0a\x05abc", "unexpected EOF"),
        (b"\x0a\x80", "unexpected EOF"),
        (b"\x80" * 11, "proto: integer overflow"),
        (b"\x0a" + b"\xff" * 9 + b"\x01", "proto: negative length found during unmarshaling"),
        (b"\x08\x01", "proto: wrong wireType = 0 for field ObjectMeta"),
        (b"\x22\x01a", "proto: wrong wireType = 2 for field Immutable"),
        (b"\x0c", "proto: wiretype end group for non-group"),
        (b"\x02\x00", "proto: illegal tag 0 (wire type 2)"),
        (varint(99 << 3 | 6), "proto: illegal wireType 6"),
        (varint(99 << 3 | 1) + b"123", "unexpected EOF"),
        (varint(99 << 3 | 3) * 200, "proto: groups are nested too deep"),
    ],
)
def test_a_malformed_message_is_refused(body: bytes, problem: str) -> None:
    with pytest.raises(DecodeError) as caught:
        read("core/v1.ConfigMap", body)
    assert str(caught.value) == problem


def test_a_malformed_quantity_is_refused() -> None:
    with pytest.raises(DecodeError, match="quantities must match"):
        read("core/v1.EmptyDirVolumeSource", field(2, field(1, b"much")))


def test_malformed_raw_json_is_refused() -> None:
    with pytest.raises(DecodeError, match="invalid character"):
        read("apps/v1.ControllerRevision", field(2, field(1, b"{bad")))


def test_nesting_is_bounded() -> None:
    schema = b""
    for _ in range(MAX_DEPTH + 50):
        schema = field(30, field(1, b"x") + field(2, schema))
    with pytest.raises(DecodeError, match="nested too deep"):
        read("apiextensions/v1.JSONSchemaProps", schema)


def test_many_parts_of_a_message_are_read_in_one_go() -> None:
    part = field(1, field(1, b"n"))
    assert read("core/v1.ConfigMap", part * 50_000) == {"metadata": {"name": "n"}}


@given(st.sampled_from(VECTORS), st.data())
def test_any_damage_is_read_or_refused(vector: dict[str, Any], data: st.DataObject) -> None:
    body = bytearray(base64.b64decode(vector["protobuf"]))
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(4, len(body) - 1))
        body[position] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(4, len(body)))
    with suppress(DecodeError):
        assert json.dumps(protobuf.decode(bytes(body[:end])))


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    for struct in (CONFIG_MAP, POD):
        with suppress(DecodeError):
            assert json.dumps(struct_message(struct)(body, 0, len(body), 0))
