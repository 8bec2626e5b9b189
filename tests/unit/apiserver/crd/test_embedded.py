from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.crd import embedded
from nagaya.apiserver.crd.schema import read
from nagaya.apiserver.meta.field_errors import Path

_WHOLE = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
_SCHEMA = read(
    {
        "type": "object",
        "properties": {
            "one": _WHOLE,
            "many": {"type": "array", "items": _WHOLE},
            "named": {"type": "object", "additionalProperties": _WHOLE},
        },
    }
)
_COERCE = embedded.compile_coercion(_SCHEMA)
_VALIDATE = embedded.compile_validation(_SCHEMA)


def coerced(value: Any, *, drop: bool = False) -> tuple[Any, list[str]]:
    assert _COERCE is not None
    reading = embedded.Reading(drop_malformed=drop)
    return _COERCE(value, Path(), reading), reading.unknown


def errors(value: Any) -> list[str]:
    assert _VALIDATE is not None
    return [str(error) for error in _VALIDATE(value, Path())]


def test_schemas_without_embedded_objects_compile_to_nothing() -> None:
    plain = read({"type": "object", "properties": {"a": {"type": "string"}}})
    assert embedded.compile_coercion(plain) is None
    assert embedded.compile_validation(plain) is None


def test_metadata_of_embedded_objects_is_made_canonical() -> None:
    value = {"one": {"kind": "K", "metadata": {"name": "a", "foo": 1}}, "many": [{"metadata": None}]}
    assert coerced(value) == (
        {"one": {"kind": "K", "metadata": {"name": "a"}}, "many": [{"metadata": {}}]},
        ["one.metadata.foo"],
    )
    assert "foo" in value["one"]["metadata"]


def test_nothing_to_do_gives_the_value_itself() -> None:
    value = {"one": {"kind": "K", "metadata": {"name": "a"}}, "many": [], "named": {"x": {"kind": "K"}}}
    assert coerced(value)[0] is value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"one": {"apiVersion": 5}}, "one.apiVersion: Invalid value: 5: must be a string"),
        ({"named": {"x": {"kind": None}}}, "named[x].kind: Invalid value: null: must be a string"),
        (
            {"many": [{"metadata": {"name": 5}}]},
            'many[0].metadata: Invalid value: {"name":5}: '
            "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
        ),
    ],
)
def test_an_embedded_object_that_cannot_be_read_is_refused(value: Any, message: str) -> None:
    with pytest.raises(embedded.MalformedResourceError) as caught:
        coerced(value)
    assert str(caught.value) == message


def test_what_cannot_be_read_in_a_stored_object_is_dropped() -> None:
    assert coerced({"one": {"apiVersion": 5, "kind": "K", "metadata": {"name": 5}}}, drop=True)[0] == {
        "one": {"kind": "K", "metadata": {}}
    }


def test_an_embedded_object_needs_a_kind_but_no_name() -> None:
    assert errors({"one": {}}) == ["one.apiVersion: Required value", "one.kind: Required value"]
    assert errors({"one": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}}}) == []


def test_names_in_embedded_objects_follow_the_general_rules() -> None:
    value = {"many": [{"apiVersion": "a/b/c", "kind": "", "metadata": {"name": "a/b"}}]}
    assert errors(value) == [
        'many[0].apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        'many[0].kind: Invalid value: "": must not be empty',
        "many[0].metadata.name: Invalid value: \"a/b\": may not contain '/'",
    ]
