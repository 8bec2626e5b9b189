"""From client-side to server-side apply."""

import json
from typing import Any

from nagaya.apiserver.apply import last_applied
from nagaya.apiserver.apply.atoms import atom_of
from nagaya.apiserver.apply.conflicts import Conflict, Conflicts
from nagaya.apiserver.apply.last_applied import ANNOTATION
from nagaya.apiserver.apply.managed import UPDATE, Manager
from nagaya.apiserver.schema.openapi_types import types_from_openapi

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
ATOM = atom_of(types_from_openapi(SCHEMA))
CLIENT = Manager("kubectl-client-side-apply", UPDATE, "x.io/v1")


def obj(annotation: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "x.io/v1", "kind": "W", "metadata": {"annotations": {ANNOTATION: annotation}}, **fields}


def applied(**fields: Any) -> str:
    return json.dumps({"apiVersion": "x.io/v1", "kind": "W", "metadata": {"name": "n"}, **fields})


CONFLICTS = Conflicts([Conflict(CLIENT, ("f:a",)), Conflict(CLIENT, ("f:b",))])


def test_fields_that_still_have_the_applied_value_are_excused() -> None:
    live = obj(applied(a="1", b="1"), a="1", b="1")
    assert last_applied.unexpected(CONFLICTS, ATOM, live, "x.io/v1") is None


def test_fields_that_have_changed_since_are_not() -> None:
    live = obj(applied(a="1", b="1"), a="1", b="2")
    rest = last_applied.unexpected(CONFLICTS, ATOM, live, "x.io/v1")
    assert rest is not None
    assert [conflict.path for conflict in rest.conflicts] == [("f:b",)]


def test_an_annotation_that_cannot_be_used_excuses_nothing() -> None:
    for text in ("", "{", "[]", '{"apiVersion":"x.io/v1"}', applied(apiVersion="x.io/v2"), applied(unknown=1)):
        live = obj(text, a="1", b="1")
        assert last_applied.unexpected(CONFLICTS, ATOM, live, "x.io/v1") is CONFLICTS


def test_the_annotation_is_kept_up_to_date() -> None:
    config = {
        "kind": "W",
        "apiVersion": "x.io/v1",
        "metadata": {"annotations": {ANNOTATION: "old", "k": "v"}},
        "a": "<",
    }
    refreshed = last_applied.refreshed(obj("old"), config)
    text = refreshed["metadata"]["annotations"][ANNOTATION]
    assert text == '{"a":"\\u003c","apiVersion":"x.io/v1","kind":"W","metadata":{"annotations":{"k":"v"}}}\n'


def test_an_object_without_the_annotation_does_not_get_one() -> None:
    without = {"metadata": {"annotations": {"k": "v"}}}
    assert last_applied.refreshed(without, {}) is without


def test_an_annotation_that_would_be_too_big_is_dropped() -> None:
    refreshed = last_applied.refreshed(obj("old"), {"a": "x" * 262144})
    assert refreshed["metadata"]["annotations"] == {}
