"""The schemas of OpenAPI v2 in the protobuf form, which is the only one that kubectl reads.

kubectl needs it for one thing: to check a `v1` List before it takes it apart. So the document holds the schemas and not
the requests. Field numbers are those of the gnostic project's `OpenAPIv2.proto`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from nagaya.apiserver.meta.status import JsonObject

CONTENT_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

_TEXTS: Final = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13, "discriminator": 26}
_DOUBLES: Final = {"multipleOf": 6, "maximum": 7, "minimum": 9}
_FLAGS: Final = {"exclusiveMaximum": 8, "exclusiveMinimum": 10, "uniqueItems": 16, "readOnly": 27}
_NUMBERS: Final = {
    "maxLength": 11,
    "minLength": 12,
    "maxItems": 14,
    "minItems": 15,
    "maxProperties": 17,
    "minProperties": 18,
}
_DEFAULT, _REQUIRED, _ENUM, _ADDITIONAL, _TYPE, _ITEMS, _ALL_OF, _PROPERTIES, _EXTENSION = (
    5,
    19,
    20,
    21,
    22,
    23,
    24,
    25,
    31,
)


def document(swagger: JsonObject) -> bytes:
    """An OpenAPI v2 document, without its paths."""
    info = swagger["info"]
    definitions = _named(swagger["definitions"])
    return b"".join(
        (
            _text(1, swagger["swagger"]),
            _message(2, _text(1, info["title"]) + _text(2, info["version"])),
            _message(8, b""),
            _message(9, definitions),
        )
    )


def _named(schemas: JsonObject) -> bytes:
    """Schemas by name."""
    return b"".join(
        _message(1, _text(1, name) + _message(2, b"".join(_schema(each)))) for name, each in sorted(schemas.items())
    )


def _schema(schema: JsonObject) -> Iterator[bytes]:
    """The fields of one schema. What the form has no field for is left out."""
    for name, value in schema.items():
        if name in _TEXTS:
            yield _text(_TEXTS[name], value)
        elif name in _DOUBLES:
            yield _key(_DOUBLES[name], 1) + struct.pack("<d", value)
        elif name in _FLAGS:
            yield _number(_FLAGS[name], int(value))
        elif name in _NUMBERS:
            yield _number(_NUMBERS[name], value)
        elif name.startswith("x-"):
            yield _message(_EXTENSION, _text(1, name) + _message(2, _any(value)))
        else:
            yield from _structure(name, value)


def _structure(name: str, value: Any) -> Iterator[bytes]:
    if name == "default":
        yield _message(_DEFAULT, _any(value))
    elif name == "required":
        yield from (_text(_REQUIRED, each) for each in value)
    elif name == "enum":
        yield from (_message(_ENUM, _any(each)) for each in value)
    elif name == "type":
        yield _message(_TYPE, _text(1, value))
    elif name == "items":
        yield _message(_ITEMS, _message(1, _join(_schema(value))))
    elif name == "allOf":
        yield from (_message(_ALL_OF, _join(_schema(each))) for each in value)
    elif name == "properties":
        yield _message(_PROPERTIES, _named(value))
    elif name == "additionalProperties":
        inner = _number(2, int(value)) if isinstance(value, bool) else _message(1, _join(_schema(value)))
        yield _message(_ADDITIONAL, inner)


def _any(value: Any) -> bytes:
    """A value of any shape, as YAML text; JSON is YAML."""
    return _text(2, orjson.dumps(value).decode())


def _join(parts: Iterable[bytes]) -> bytes:
    return b"".join(parts)


def _key(field: int, wire: int) -> bytes:
    return _varint(field << 3 | wire)


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


def _number(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value)


def _message(field: int, content: bytes) -> bytes:
    return _key(field, 2) + _varint(len(content)) + content


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())
