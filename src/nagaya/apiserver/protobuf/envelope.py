"""The wrapping of a protobuf body: a prefix, what kind of object is inside, and the object."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins import facts
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.gvk import GroupVersion, GroupVersionKind
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.protobuf import messages, special, wire

PREFIX: Final = b"k8s\x00"


def decode(body: bytes, default: GroupVersionKind | None = None) -> tuple[str, str, JsonObject]:
    """The apiVersion and kind that a body names, empty if it names none, and its object.

    What the body does not name is taken from `default` to find the struct. The object of a kind that is not built in
    cannot be read and comes back empty: refusing the kind is the caller's business. Raises DecodeError.
    """
    if not body:
        raise DecodeError("empty data")
    if not body.startswith(PREFIX):
        numbers = " ".join(str(byte) for byte in PREFIX)
        raise DecodeError(f"provided data does not appear to be a protobuf message, expected prefix [{numbers}]")
    if len(body) == len(PREFIX):
        raise DecodeError("empty body")
    api_version, kind, start, end = _unwrap(body)
    actual = _actual(api_version, kind, default)
    if not facts.is_known_kind(actual):
        return api_version, kind, {}
    obj = messages.struct_message(facts.struct_of(actual))(body, start, end, 0)
    return api_version, kind, obj


def _unwrap(body: bytes) -> tuple[str, str, int, int]:
    api_version = kind = ""
    start = end = len(body)
    for number, wire_type, begin, after in wire.fields(body, len(PREFIX), len(body)):
        if number in _FIELDS and wire_type != wire.BYTES:
            raise special.wrong_type(wire_type, _FIELDS[number])
        if number == 1:
            for inner, inner_type, inner_begin, inner_after in wire.fields(body, begin, after):
                if inner in {1, 2} and inner_type != wire.BYTES:
                    raise special.wrong_type(inner_type, "APIVersion" if inner == 1 else "Kind")
                if inner == 1:
                    api_version = special.text(body, inner_begin, inner_after)
                elif inner == 2:
                    kind = special.text(body, inner_begin, inner_after)
        elif number == 2:
            start, end = begin, after
    return api_version, kind, start, end


_FIELDS: Final = {1: "TypeMeta", 2: "Raw", 3: "ContentEncoding", 4: "ContentType"}


def _actual(api_version: str, kind: str, default: GroupVersionKind | None) -> GroupVersionKind:
    try:
        version = GroupVersion.parse(api_version)
    except ValueError:
        version = GroupVersion("", "")
    if default is None:
        return GroupVersionKind(version.group, version.version, kind)
    if not version.version:
        version = default.group_version
    return GroupVersionKind(version.group, version.version, kind or default.kind)
