from __future__ import annotations

from typing import Any

from nagaya.apiserver.openapi import gnostic


def fields(data: bytes) -> list[tuple[int, Any]]:
    """The fields of a protobuf message, lengths and numbers read."""
    found: list[tuple[int, Any]] = []
    position = 0

    def varint() -> int:
        nonlocal position
        shift = value = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(data):
        key = varint()
        if key & 7 == 2:
            length = varint()
            found.append((key >> 3, data[position : position + length]))
            position += length
        elif key & 7 == 1:
            found.append((key >> 3, data[position : position + 8]))
            position += 8
        else:
            found.append((key >> 3, varint()))
    return found


def test_a_document_has_its_schemas_by_name() -> None:
    swagger = {
        "swagger": "2.0",
        "info": {"title": "t", "version": "v"},
        "definitions": {"b": {"type": "string"}, "a": {"$ref": "#/definitions/b", "x-more": [1]}},
    }
    document = dict(fields(gnostic.document(swagger)))
    assert document[1] == b"2.0"
    assert fields(document[2]) == [(1, b"t"), (2, b"v")]
    entries = [dict(fields(entry)) for _, entry in fields(document[9])]
    assert [entry[1] for entry in entries] == [b"a", b"b"]
    assert dict(fields(entries[0][2]))[1] == b"#/definitions/b"
    assert fields(dict(fields(entries[1][2]))[22]) == [(1, b"string")]


def test_lists_maps_and_bounds_keep_their_meaning() -> None:
    schema = {
        "type": "array",
        "items": {"type": "object", "additionalProperties": True},
        "maxItems": 300,
        "minimum": 0.5,
    }
    swagger = {"swagger": "2.0", "info": {"title": "", "version": ""}, "definitions": {"s": schema}}
    ((_, entry),) = fields(dict(fields(gnostic.document(swagger)))[9])
    found = dict(fields(dict(fields(entry))[2]))
    assert found[14] == 300
    assert found[9] == b"\x00\x00\x00\x00\x00\x00\xe0?"
    ((_, inner),) = fields(found[23])
    assert fields(dict(fields(inner))[21]) == [(2, 1)]
