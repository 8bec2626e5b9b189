"""From what a client sent to the object that the real server would hold.

The real server decodes a body into Go structs and works on those; what it stores and answers is what Go writes back.
`normalise` makes the same journey without the structs. Strictness is the caller's matter: unknown and repeated fields
come back as findings, which become warnings, a failure, or nothing, depending on what the client asked for.
"""

from __future__ import annotations

from typing import Any, Final

from nagaya.apiserver.builtins import examine, facts, readers
from nagaya.apiserver.builtins.gotypes import GoStruct
from nagaya.apiserver.builtins.repeated import merge_repeated
from nagaya.apiserver.meta import base64text, gostring, jsonscan, quantity, times
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.types import Struct

__all__ = ["DecodeError", "decode_options", "interpret", "normalise"]

_UNUSUAL: Final = (readers.Unusual, times.TimeError, quantity.QuantityError, base64text.Base64Error)
_TYPE_META: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


def interpret(value: Any) -> tuple[str, str]:
    """What a body says it is: its `apiVersion` and `kind`, empty if it does not say. Raises DecodeError.

    As in the real server this first look ignores the case of the two names.
    """
    if value is None:
        return "", ""
    if value.__class__ is not dict:
        raise _unlike(value, f"Go value of type {_TYPE_META}")
    found = {"apiversion": "", "kind": ""}
    for name, item in value.items():
        folded = name.lower()
        if folded in found and item is not None:
            if item.__class__ is not str:
                written = "kind" if folded == "kind" else "apiVersion"
                raise _unlike(item, f"Go struct field .{written} of type string")
            found[folded] = item
    return found["apiversion"], found["kind"]


def _unlike(value: Any, due: str) -> DecodeError:
    word = examine.word(value)
    return DecodeError(f"couldn't get version/kind; json parse error: json: cannot unmarshal {word} into {due}")


def normalise(
    struct: Struct, obj: Any, *, strict: bool = True, body: bytes | None = None, repeated: bool = False
) -> tuple[JsonObject, list[str]]:
    """The object as Go would write it, and what a strict decoder would find (`unknown field "spec.foo"`).

    `body` is the JSON that `obj` was read from, if there is one: messages quote numbers as they were written. The two
    may differ in `apiVersion` and `kind`, which the caller may have filled in. With `repeated` the reader found fields
    given twice in the body, which Go merges; they are among the findings then. Without `strict` there are no findings.
    Raises DecodeError with the real server's text. The object is not changed, and shares with the result what needs no
    change.
    """
    assert isinstance(struct, GoStruct), f"not a built-in type: {struct.name}"
    if not (repeated and body is not None):
        unknown: list[str] = []
        try:
            result = readers.struct_reader(struct)({} if obj is None else obj, unknown)
        except _UNUSUAL:
            pass  # it is looked at more closely below
        else:
            return result, examine.findings(struct, obj) if unknown and strict else []
    scanned = _with_literals(obj) if body is None else jsonscan.scan(body)
    found = examine.findings(struct, scanned)
    try:
        result = readers.struct_reader(struct)(merge_repeated(struct, scanned) or {}, [])
    except _UNUSUAL as error:
        raise DecodeError(f"{struct.name} cannot be decoded: {error}") from error
    named = {name: obj[name] for name in ("kind", "apiVersion") if obj and obj.get(name)}
    return {**jsonscan.plain(result), **named}, found if strict else []


def decode_options(kind: str, value: Any) -> JsonObject:
    """The options of a request that are sent as a body, such as DeleteOptions. Raises DecodeError."""
    return normalise(facts.struct_of(f"meta/v1.{kind}"), value, strict=False)[0]


def _with_literals(value: Any) -> Any:
    """A value with its floats as texts of numbers, for types that read the text."""
    if value.__class__ is dict:
        return {key: _with_literals(item) for key, item in value.items()}
    if value.__class__ is list:
        return [_with_literals(item) for item in value]
    return jsonscan.Literal(gostring.number(value)) if value.__class__ is float else value
