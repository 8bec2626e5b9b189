"""An object before anybody has written it."""

from nagaya.apiserver.apply.zero import zero_object
from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.schema.openapi_types import types_from_openapi
from nagaya.apiserver.schema.types import Field, List, Map, Omit, Scalar, Struct, Type, Untyped

TEXT = Scalar("string")
KIND = GroupVersionKind("apps", "v1", "Thing")


def struct(**fields: Field) -> Struct:
    return Struct(fields, name="v1.Thing")


def always(type_: Type) -> Field:
    return Field(type_, omit=Omit.NEVER)


def test_a_built_in_object_has_its_structs_and_what_is_always_written() -> None:
    inner = struct(needed=always(List(TEXT)), optional=Field(List(TEXT)))
    kind = struct(
        metadata=Field(struct(), omit=Omit.EMPTY),
        spec=Field(inner),
        pointer=Field(inner, pointer=True),
        gone=Field(inner, omit=Omit.ZERO),
        data=Field(Map(TEXT)),
    )
    assert zero_object(KIND, kind) == {
        "metadata": {},
        "spec": {"needed": None},
        "apiVersion": "apps/v1",
        "kind": "Thing",
    }


def test_every_type_has_its_own_nothing() -> None:
    kind = struct(
        text=always(TEXT),
        number=always(Scalar("integer")),
        flag=always(Scalar("boolean")),
        raw=always(Scalar("string", "byte")),
        amount=always(Scalar("string", "quantity")),
        span=always(Scalar("string", "duration")),
        moment=Field(Scalar("string", "date-time")),
        either=Field(Scalar("int-or-string")),
        anything=Field(Untyped("raw")),
        map=always(Map(TEXT)),
        pointer=Field(TEXT, omit=Omit.NEVER, pointer=True),
        optional=Field(TEXT),
    )
    zero = zero_object(KIND, kind)
    assert zero == {
        "text": "",
        "number": 0,
        "flag": False,
        "raw": None,
        "amount": "0",
        "span": "0s",
        "moment": None,
        "either": 0,
        "anything": None,
        "map": None,
        "pointer": None,
        "apiVersion": "apps/v1",
        "kind": "Thing",
    }


def test_a_custom_resource_starts_with_its_type_alone() -> None:
    kind = types_from_openapi({"type": "object", "properties": {"spec": {"type": "object"}}})
    assert zero_object(KIND, kind) == {"apiVersion": "apps/v1", "kind": "Thing"}
