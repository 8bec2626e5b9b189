"""The field manager as the write path uses it: what always holds, and what it does with requests that are odd."""

import asyncio
from collections.abc import Coroutine
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.apiserver.apply import fieldset
from nagaya.apiserver.apply.atoms import atom_of
from nagaya.apiserver.apply.compare import compare
from nagaya.apiserver.apply.manager import FieldManager
from nagaya.apiserver.apply.merge import merge
from nagaya.apiserver.apply.value_set import set_of
from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.meta.status import ApiError
from nagaya.apiserver.schema.openapi_types import types_from_openapi

NOW = "2020-01-01T00:00:00Z"
LATER = "2020-01-02T00:00:00Z"
Obj = dict[str, Any]
SPEC = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "items": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "v": {"type": "string"}}},
        },
        "whole": {"type": "array", "items": {"type": "string"}},
    },
}
STRUCT = types_from_openapi({"type": "object", "properties": {"spec": SPEC}})
ATOM = atom_of(STRUCT)


def manager() -> FieldManager:
    return FieldManager(GroupVersionKind("x.io", "v1", "W"), {"x.io/v1": STRUCT})


def obj(spec: Any, **metadata: Any) -> Obj:
    return {"apiVersion": "x.io/v1", "kind": "W", "metadata": {"name": "n", **metadata}, "spec": spec}


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run what never waits: there is one version, so nothing is converted."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waited")


def apply(live: Obj | None, spec: Any, by: str, *, force: bool = False, now: str = NOW) -> Obj | None:
    result = run(manager().apply(live, obj(spec), manager=by, force=force, now=now))
    return None if result is None else {**result, "metadata": {"uid": "u", **result["metadata"]}}


def update(live: Obj | None, spec: Any, by: str, *, now: str = NOW, **metadata: Any) -> Obj:
    made = obj(spec, **metadata)
    if live is not None:
        made["metadata"] = {**live["metadata"], **metadata}
    result: Obj = run(manager().update(live, made, manager=by, now=now))
    return {**result, "metadata": {"uid": "u", **result["metadata"]}}


def managers(live: Obj) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in live["metadata"].get("managedFields", [])}


def owned(live: Obj) -> Any:
    """What anybody owns of the spec."""
    result: Any = {}
    for entry in live["metadata"].get("managedFields", []):
        result = fieldset.union(result, {key: node for key, node in entry["fieldsV1"].items() if key == "f:spec"})
    return result


words = st.sampled_from(["x", "y"])
names = st.sampled_from(["k", "l", "m"])
specs = st.fixed_dictionaries(
    {},
    optional={
        "a": words,
        "b": st.integers(0, 1),
        "map": st.dictionaries(names, words, min_size=1),
        "tags": st.lists(names, unique=True, min_size=1),
        "items": st.dictionaries(names, words, min_size=1).map(
            lambda found: [{"name": name, "v": value} for name, value in found.items()]
        ),
        "whole": st.lists(words, min_size=1),
    },
)
writes = st.lists(st.tuples(st.booleans(), st.sampled_from(["p", "q", "r"]), specs), min_size=1, max_size=5)


def replay(history: list[tuple[bool, str, Obj]]) -> Obj:
    """An object that has seen some updates and forced applies.

    A label that nobody takes away keeps it tracked: an object whose last manager goes is tracked no more.
    """
    live: Obj | None = update(None, {}, "keeper", labels={"kept": "yes"})
    for is_apply, by, spec in history:
        live = (apply(live, spec, by, force=True) or live) if is_apply else update(live, spec, by)
    assert live is not None
    return live


@settings(max_examples=60)
@given(writes)
def test_every_field_has_an_owner_and_every_owner_has_its_fields(history: list[tuple[bool, str, Obj]]) -> None:
    live = replay(history)
    # An emptied container may be left to nobody; what has a value may not.
    spec = {name: value for name, value in (live["spec"] or {}).items() if value not in (None, {}, [])}
    there = fieldset.leaves(set_of(ATOM, {"spec": spec} if spec else {}))
    assert fieldset.difference(there, owned(live)) == {}
    everything = compare(ATOM, {}, {"spec": live["spec"]}).added
    assert fieldset.difference(fieldset.leaves(owned(live)), everything) == {}


@settings(max_examples=60)
@given(writes, specs)
def test_applying_the_same_twice_changes_nothing(history: list[tuple[bool, str, Obj]], spec: Obj) -> None:
    once = apply(replay(history), spec, "s", force=True) or replay(history)
    assert apply(once, spec, "s", now=LATER) is None


@settings(max_examples=60)
@given(writes, specs)
def test_a_conflict_is_a_changed_field_that_another_owns(history: list[tuple[bool, str, Obj]], spec: Obj) -> None:
    live = replay(history)
    merged = merge(ATOM, {"spec": live["spec"]}, {"spec": spec})
    disputed = fieldset.intersection(owned(live), compare(ATOM, {"spec": live["spec"]}, merged).written)
    if disputed:
        with pytest.raises(ApiError) as raised:
            apply(live, spec, "newcomer")
        causes = raised.value.status["details"]["causes"]
        assert {cause["field"] for cause in causes} == {fieldset.display(path) for path in fieldset.paths(disputed)}
    else:
        applied = apply(live, spec, "newcomer") or live
        assert applied["spec"] == merged["spec"]


@settings(max_examples=60)
@given(specs, specs)
def test_what_only_one_manager_applied_goes_when_it_stops(first: Obj, second: Obj) -> None:
    live = apply(None, first, "a")
    assert live is not None
    changed = apply(live, second, "a") or live
    kept = {key: value for key, value in (changed["spec"] or {}).items() if value is not None}
    assert set_of(ATOM, {"spec": kept}) == set_of(ATOM, {"spec": second})


@settings(max_examples=60)
@given(specs, specs)
def test_what_another_manager_applies_too_stays(first: Obj, second: Obj) -> None:
    live = apply(None, first, "a")
    live = apply(live, second, "b", force=True) or live
    live = apply(live, {}, "a") or live
    assert live is not None
    assert fieldset.difference(set_of(ATOM, {"spec": second}), set_of(ATOM, {"spec": live["spec"]})) == {}


@settings(max_examples=60)
@given(writes, specs)
def test_an_update_owns_exactly_what_it_changes(history: list[tuple[bool, str, Obj]], spec: Obj) -> None:
    live = replay(history)
    changed = update(live, spec, "updater", now=LATER)
    written = compare(ATOM, {"spec": live["spec"]}, {"spec": spec}).written
    assert managers(changed).get("updater", {}) == written
    for name, fields in managers(changed).items():
        assert name == "updater" or fieldset.intersection(fields, written) == {}


def test_arguments_are_never_changed() -> None:
    live = update(apply(None, {"a": "x", "tags": ["k"]}, "a"), {"a": "y", "map": {"k": "v"}}, "b")
    patch = obj({"a": "z", "items": [{"name": "k"}]})
    before = deepcopy((live, patch))
    run(manager().apply(live, patch, manager="c", force=True, now=LATER))
    run(manager().update(live, patch, manager="c", now=LATER))
    assert (live, patch) == before


def test_times_change_only_when_fields_are_set() -> None:
    live = update(None, {"a": "x", "b": 1}, "m")
    for spec, time in [({"a": "x", "b": 1}, NOW), ({"a": "x"}, NOW), ({"a": "y"}, LATER)]:
        changed = update(live, spec, "m", now=LATER)
        assert [entry["time"] for entry in changed["metadata"]["managedFields"]] == [time]


def test_an_object_whose_last_manager_goes_is_tracked_no_more() -> None:
    live = apply(None, {"a": "x"}, "m")
    assert live is not None
    emptied = update(live, {}, "n")
    assert "managedFields" not in emptied["metadata"]
    assert "managedFields" not in update(emptied, {"a": "y"}, "n")["metadata"]


def test_a_nameless_manager_is_called_unknown() -> None:
    assert list(managers(update(None, {"a": "x"}, ""))) == ["unknown"]


def test_metadata_that_the_server_keeps_is_never_owned() -> None:
    live = update(None, {"a": "x"}, "m", uid="u", generation=1, resourceVersion="1", labels={"l": "v"})
    assert managers(live) == {"m": {"f:metadata": {"f:labels": {".": {}, "f:l": {}}}, "f:spec": {".": {}, "f:a": {}}}}


def test_a_write_through_a_subresource_cannot_change_the_records() -> None:
    live = update(None, {"a": "x"}, "m")
    changed = {**live, "metadata": {**live["metadata"], "managedFields": []}}
    result = run(manager().update(live, changed, manager="s", now=LATER, subresource="status"))
    assert result["metadata"]["managedFields"] == live["metadata"]["managedFields"]


def test_an_object_that_does_not_fit_is_written_without_records(caplog: pytest.LogCaptureFixture) -> None:
    live = update(update(None, {"a": "x"}, "m"), {"a": {"secret": "s"}}, "n")
    assert "managedFields" not in live["metadata"]
    assert "secret" not in caplog.text


def test_an_object_that_no_longer_fits_loses_its_records() -> None:
    live = {**update(None, {"a": "x"}, "m"), "spec": {"a": "x", "gone": 1}}
    assert "managedFields" not in update(live, {"a": "x"}, "n")["metadata"]


def test_broken_records_of_the_live_object_fail_an_apply_and_not_an_update() -> None:
    live = update(None, {"a": "x"}, "m")
    live["metadata"]["managedFields"][0]["operation"] = "Patch"
    with pytest.raises(ApiError, match="failed to decode managed fields: operation must be"):
        apply(live, {"a": "x"}, "n")
    assert "managedFields" not in update(live, {"a": "y"}, "n")["metadata"]


@pytest.mark.parametrize(
    ("about", "kind"),
    [
        ({"apiVersion": "x.io/v2"}, "x.io/v2, Kind=W"),
        ({"kind": "V"}, "x.io/v1, Kind=V"),
        ({"kind": None, "apiVersion": None}, "/, Kind="),
        ({"apiVersion": "a/b/c"}, "/, Kind="),
        ({"apiVersion": 5}, "/, Kind="),
    ],
)
def test_a_configuration_of_another_kind_is_refused(about: Obj, kind: str) -> None:
    with pytest.raises(ApiError, match=f"invalid object type: {kind}") as raised:
        run(manager().apply(None, {**obj({}), **about}, manager="m", force=False, now=NOW))
    assert raised.value.code == 400


def test_nesting_without_end_is_an_answer_and_not_a_crash() -> None:
    struct = types_from_openapi({"type": "object", "properties": {"spec": {"type": "object"}}})
    fields = FieldManager(GroupVersionKind("x.io", "v1", "W"), {"x.io/v1": struct})
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert "managedFields" not in run(fields.update(None, obj(deep), manager="m", now=NOW))["metadata"]
    with pytest.raises(ApiError, match="nested too deeply"):
        run(fields.apply(None, obj(deep), manager="m", force=False, now=NOW))


def renaming(old: str, new: str) -> Any:
    async def convert(found: Obj, api_version: str) -> Obj | None:
        await asyncio.sleep(0)
        if api_version not in ("x.io/v1", "x.io/v2"):
            return None
        spec = dict(found.get("spec") or {})
        source, target = (old, new) if api_version == "x.io/v2" else (new, old)
        if source in spec:
            spec[target] = spec.pop(source)
        return {**found, "apiVersion": api_version, "spec": spec}

    return convert


def two_versions() -> dict[str, FieldManager]:
    schemas = {
        version: {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {name: {"type": "string"}}}},
        }
        for version, name in (("v1", "color"), ("v2", "colour"))
    }
    types = {f"x.io/{version}": types_from_openapi(schema) for version, schema in schemas.items()}
    convert = renaming("color", "colour")
    return {each: FieldManager(GroupVersionKind("x.io", each, "W"), types, convert=convert) for each in ("v1", "v2")}


async def test_records_are_followed_in_the_version_they_were_made_in() -> None:
    fields = two_versions()
    live = await fields["v1"].apply(None, obj({"color": "red"}), manager="a", force=False, now=NOW)
    assert live is not None
    in_v2 = await renaming("color", "colour")(live, "x.io/v2")
    blue = {**obj({"colour": "blue"}), "apiVersion": "x.io/v2"}
    with pytest.raises(ApiError, match=r'conflict with "a": \.spec\.color'):
        await fields["v2"].apply(in_v2, blue, manager="b", force=False, now=NOW)
    taken = await fields["v2"].apply(in_v2, blue, manager="b", force=True, now=NOW)
    assert taken is not None
    assert managers(taken) == {"b": {"f:spec": {"f:colour": {}}}}


async def test_a_manager_may_go_on_in_another_version() -> None:
    fields = two_versions()
    live = await fields["v1"].apply(None, obj({"color": "red"}), manager="a", force=False, now=NOW)
    assert live is not None
    in_v2 = await renaming("color", "colour")(live, "x.io/v2")
    nothing = {**obj({}), "apiVersion": "x.io/v2"}
    applied = await fields["v2"].apply(in_v2, nothing, manager="a", force=False, now=LATER)
    assert applied is not None
    assert "colour" not in (applied["spec"] or {})
    assert [entry["apiVersion"] for entry in applied["metadata"]["managedFields"]] == ["x.io/v2"]


async def test_records_of_a_version_that_is_gone_are_dropped() -> None:
    fields = two_versions()["v1"]
    live = await fields.update(None, obj({"color": "red"}, uid="u"), manager="a", now=NOW)
    live["metadata"]["managedFields"].append(
        {**live["metadata"]["managedFields"][0], "manager": "old", "apiVersion": "x.io/v0"}
    )
    changed = await fields.update(live, obj({"color": "blue"}, uid="u"), manager="b", now=LATER)
    assert set(managers(changed)) == {"a", "b"}


async def test_a_conversion_that_fails_stops_an_apply_and_not_an_update() -> None:
    async def convert(found: Obj, api_version: str) -> Obj | None:
        raise ApiError(500, "", "the webhook is down")

    fields = FieldManager(GroupVersionKind("x.io", "v1", "W"), {"x.io/v1": STRUCT}, convert=convert)
    live = update(None, {"a": "x"}, "m")
    live["metadata"]["managedFields"][0]["apiVersion"] = "x.io/v2"
    with pytest.raises(ApiError, match="the webhook is down"):
        await fields.apply(live, obj({"a": "y"}), manager="n", force=True, now=NOW)
    changed = await fields.update(live, {**live, "spec": {"a": "y"}}, manager="n", now=NOW)
    assert "managedFields" not in changed["metadata"]
