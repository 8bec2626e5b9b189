import copy
from typing import Any

import pytest

from nagaya.apiserver.patch import strategic
from nagaya.apiserver.patch.strategic_error import StrategicPatchError
from nagaya.apiserver.schema.types import Field, List, Map, Scalar, Struct, Untyped
from support.subtest_cases import subtest_cases

STRING = Scalar("string")
INTEGER = Scalar("integer", "int32")


def merging(element: Any, key: str = "") -> Field:
    return Field(List(element), patch_strategy=frozenset({"merge"}), merge_key=key)


PORT = Struct({"port": Field(INTEGER), "name": Field(STRING)}, name="v1.Port")
CONTAINER = Struct(
    {
        "name": Field(STRING),
        "image": Field(STRING),
        "args": Field(List(STRING)),
        "ports": merging(PORT, "port"),
        "limits": Field(Map(Scalar("string", "quantity"))),
    },
    name="v1.Container",
)
SOURCE = Struct({"file": Field(STRING), "secret": Field(STRING)}, name="v1.Source")
SPEC = Struct(
    {
        "containers": merging(CONTAINER, "name"),
        "keyless": merging(CONTAINER),
        "source": Field(SOURCE, patch_strategy=frozenset({"retainKeys"})),
        "whole": Field(SOURCE, patch_strategy=frozenset({"replace"})),
        "selector": Field(Map(STRING)),
        "nested": Field(Map(Map(STRING))),
        "raw": Field(Untyped("raw")),
        "json": Field(Untyped("json"), pointer=True),
        "paused": Field(Scalar("boolean")),
    },
    name="v1.Spec",
)
META = Struct({"finalizers": merging(STRING), "labels": Field(Map(STRING))}, name="v1.Meta")
KIND = Struct({"metadata": Field(META), "spec": Field(SPEC)}, name="v1.Thing")


def patched(original: Any, patch: Any) -> Any:
    kept = copy.deepcopy((original, patch))
    result = strategic.apply(original, patch, KIND)
    assert (original, patch) == kept
    return result


def spec(original: Any, patch: Any) -> Any:
    return patched({"spec": original}, {"spec": patch})["spec"]


def refused(original: Any, patch: Any) -> tuple[int, str]:
    with pytest.raises(StrategicPatchError) as raised:
        patched({"spec": original}, {"spec": patch})
    return raised.value.code, raised.value.message


def containers(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": name, **more} for name in names]


def names(value: dict[str, Any]) -> str:
    return "".join(item["name"] for item in value["containers"])


def test_maps_are_merged_and_null_removes() -> None:
    assert spec({"selector": {"a": "1", "b": "2"}}, {"selector": {"a": None, "c": "3"}}) == {
        "selector": {"b": "2", "c": "3"}
    }


def test_lists_without_a_strategy_are_replaced() -> None:
    live = {"containers": [{"name": "a", "args": ["x", "y"]}]}
    assert spec(live, {"containers": [{"name": "a", "args": ["z"]}]}) == {"containers": [{"name": "a", "args": ["z"]}]}


def test_items_are_merged_by_their_key() -> None:
    live = {"containers": [{"name": "a", "image": "1", "ports": [{"port": 80}]}, {"name": "b", "image": "2"}]}
    changed = spec(
        live, {"containers": [{"name": "a", "image": "3", "ports": [{"port": 81}, {"port": 80, "name": "p"}]}]}
    )
    assert changed["containers"] == [
        {"name": "a", "image": "3", "ports": [{"port": 81}, {"port": 80, "name": "p"}]},
        {"name": "b", "image": "2"},
    ]


def test_new_items_come_first() -> None:
    assert names(spec({"containers": containers("a", "b")}, {"containers": containers("c")})) == "cab"


def test_new_items_keep_their_nulls_and_directives() -> None:
    new = {"name": "n", "image": None, "$setElementOrder/ports": [{"port": 1}]}
    assert spec({"containers": containers("a")}, {"containers": [new]})["containers"][0] == new


def test_new_members_lose_their_nulls_and_directives() -> None:
    patch = {"selector": {"a": None, "b": "1"}, "containers": [{"name": "a", "image": None}, {"$patch": "delete"}]}
    assert spec({}, patch) == {"selector": {"b": "1"}, "containers": [{"name": "a"}]}
    assert spec({}, {"source": {"$patch": "replace", "file": "x"}}) == {}


def test_items_can_be_deleted() -> None:
    patch = {"containers": [{"name": "b", "$patch": "delete"}, {"name": "zz", "$patch": "delete"}]}
    assert names(spec({"containers": containers("a", "b", "c")}, patch)) == "ac"


def test_a_list_can_be_replaced_as_a_whole() -> None:
    patch = {"containers": [{"$patch": "replace"}, {"name": "z"}]}
    assert spec({"containers": containers("a", "b")}, patch) == {"containers": containers("z")}


def test_a_map_can_be_replaced_or_emptied() -> None:
    live = {"selector": {"a": "1"}}
    assert spec(live, {"selector": {"$patch": "replace", "b": "2"}}) == {"selector": {"b": "2"}}
    assert spec(live, {"selector": {"$patch": "delete"}}) == {"selector": {}}


def test_a_field_may_be_replaced_by_its_strategy() -> None:
    assert spec({"whole": {"file": "x"}}, {"whole": {"secret": "y"}}) == {"whole": {"secret": "y"}}


def test_only_retained_keys_stay() -> None:
    patch = {"source": {"$retainKeys": ["secret"], "secret": "y"}}
    assert spec({"source": {"file": "x"}}, patch) == {"source": {"secret": "y"}}
    assert refused({"source": {}}, {"source": {"$retainKeys": ["file"], "secret": "y"}}) == (
        400,
        "invalid patch format of retainKeys",
    )
    assert refused({"source": {}}, {"source": {"$retainKeys": "file"}})[0] == 400


def test_scalars_are_merged_without_duplicates() -> None:
    assert patched({"metadata": {"finalizers": ["a", "b"]}}, {"metadata": {"finalizers": ["c", "b"]}}) == {
        "metadata": {"finalizers": ["c", "a", "b"]}
    }


def test_scalars_can_be_deleted_from_a_list() -> None:
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "x"]}}
    assert patched({"metadata": {"finalizers": ["a", "b"]}}, patch) == {"metadata": {"finalizers": ["b"]}}
    assert patched({"metadata": {}}, patch) == {"metadata": {}}


@pytest.mark.parametrize(
    ("live", "changes", "order", "expected"),
    [
        ("abc", "", "cba", "cba"),
        ("abc", "", "ca", "bca"),
        ("abcd", "", "db", "acdb"),
        ("abc", "d", "da", "dabc"),
        ("ab", "c", "acb", "acb"),
    ],
)
def test_the_patch_can_set_the_order(live: str, changes: str, order: str, expected: str) -> None:
    patch: dict[str, Any] = {"$setElementOrder/containers": containers(*order)}
    if changes:
        patch["containers"] = containers(*changes, image="new")
    assert names(spec({"containers": containers(*live)}, patch)) == expected


def test_an_item_that_takes_the_place_of_a_deleted_one_follows_what_was_live() -> None:
    patch = {
        "$setElementOrder/containers": containers("new"),
        "containers": [{"name": "new"}, {"name": "old", "$patch": "delete"}],
    }
    assert names(spec({"containers": containers("old", "sidecar")}, patch)) == "sidecarnew"


def test_the_order_of_scalars_can_be_set() -> None:
    patch = {"metadata": {"finalizers": ["d"], "$setElementOrder/finalizers": ["c", "d", "a"]}}
    assert patched({"metadata": {"finalizers": ["a", "b", "c"]}}, patch)["metadata"]["finalizers"] == [
        "b",
        "c",
        "d",
        "a",
    ]


def test_the_order_has_to_fit_the_items() -> None:
    patch = {"$setElementOrder/containers": containers("z"), "containers": containers("c")}
    assert refused({"containers": containers("a")}, patch) == (
        500,
        "The order in patch list:\n[map[name:c]]\n doesn't match $setElementOrder list:\n[map[name:z]]\n",
    )


def test_an_order_for_a_list_that_is_nowhere_does_nothing() -> None:
    assert spec({}, {"$setElementOrder/containers": containers("a")}) == {}


@subtest_cases(
    ("live", "patch", "message"),
    [
        (
            {"containers": containers("a")},
            {"containers": [{"image": "x"}]},
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            {"containers": containers("a")},
            {"containers": [{"name": "a", "$patch": "bogus"}]},
            "unknown patch type: bogus in map: map[$patch:bogus name:a]",
        ),
        (
            {"containers": containers("a")},
            {"containers": [{"name": "a", "$patch": "merge"}]},
            "merging lists cannot yet be specified in the patch",
        ),
        (
            {"containers": containers("a")},
            {"containers": ["x"]},
            "list element types are not identical: [[map[name:a]] [x]]",
        ),
        ({"keyless": containers("a")}, {"keyless": containers("b")}, "cannot merge lists without merge key for struct"),
        ({"selector": {}}, {"selector": {"$patch": 1}}, "unknown patch type: %!s(int64=1) in map: map[$patch:1]"),
        ({}, {"$setElementOrder/x": []}, 'unable to find api field in struct Spec for the json field "x"'),
        ({}, {"$setElementOrder/containers": 1}, "expected a []interface {}, but received a int64"),
        (
            {"containers": []},
            {"$setElementOrder/containers": containers("a")},
            "no elements in any of the given slices",
        ),
        (
            {"containers": containers("a")},
            {"containers": None, "$setElementOrder/containers": containers("a")},
            "expected a []interface {}, but received a %!s(<nil>)",
        ),
        (
            {"nested": {"a": {"b": "1"}}},
            {"nested": {"a": {"b": "2"}}},
            "merging an object in json but data type is not struct, instead is: map",
        ),
        (
            {"raw": {"a": {"b": 1}}},
            {"raw": {"a": {"b": 2}}},
            'unable to find api field in struct RawExtension for the json field "a"',
        ),
        ({"raw": [1]}, {"raw": [2]}, "expected slice or array type, but got: struct"),
    ],
)
def test_what_makes_no_sense_is_an_internal_error(live: Any, patch: Any, message: str) -> None:
    assert refused(live, patch) == (500, message)


def test_a_few_mistakes_are_the_clients() -> None:
    assert refused({}, {"$setElementOrder": []}) == (400, "invalid patch format of setElementOrder list")
    assert refused({}, {"$deleteFromPrimitiveList": []}) == (400, "invalid patch format of primitive list")
    lists = {"containers": [[]]}
    assert refused(lists, lists) == (422, "lists of lists are not supported")


def test_a_free_form_list_behind_a_pointer_is_replaced() -> None:
    assert spec({"json": [1, 2]}, {"json": [3]}) == {"json": [3]}


def test_values_of_another_type_replace_what_was_there() -> None:
    assert spec({"paused": True}, {"paused": {"a": None}}) == {"paused": {}}


def test_true_is_not_one() -> None:
    live = {"containers": [{"name": "a", "ports": [{"port": 1}]}]}
    patch = {"containers": [{"name": "a", "ports": [{"port": True}]}]}
    assert len(spec(live, patch)["containers"][0]["ports"]) == 2


def test_what_is_not_touched_is_shared() -> None:
    live = {"metadata": {"labels": {"a": "b"}}, "spec": {"selector": {}}}
    assert patched(live, {"spec": {"paused": True}})["metadata"] is live["metadata"]
