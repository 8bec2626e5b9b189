"""Sets of fields: their JSON form, and that operations on trees are operations on sets of paths."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.apply import fieldset
from nagaya.apiserver.apply.fieldset import FieldSet
from support.subtest_cases import subtest_cases

Paths = set[tuple[str, ...]]

elements = st.sampled_from(["f:a", "f:b", "f:c", 'k:{"n":1}', 'k:{"n":2}', 'v:"x"', "i:0"])
path_sets = st.sets(st.lists(elements, min_size=1, max_size=3).map(tuple), max_size=8)


def tree(paths: Paths) -> FieldSet:
    result: FieldSet = {}
    for path in paths:
        result = fieldset.union(result, fieldset.of_path(path))
    return result


def read(value: Any) -> FieldSet:
    return fieldset.parse(orjson.dumps(value)).fields


@given(path_sets)
def test_a_set_holds_the_paths_it_was_made_of(paths: Paths) -> None:
    assert set(fieldset.paths(tree(paths))) == paths
    assert all(fieldset.has(tree(paths), path) for path in paths)


@given(path_sets)
def test_the_json_form_is_the_set_itself(paths: Paths) -> None:
    made = tree(paths)
    parsed = fieldset.parse(orjson.dumps(made))
    assert parsed == (made, True)
    assert fieldset.ordered(made) == made


@given(path_sets, path_sets)
def test_operations_are_those_of_sets(left: Paths, right: Paths) -> None:
    a, b = tree(left), tree(right)
    assert set(fieldset.paths(fieldset.union(a, b))) == left | right
    assert set(fieldset.paths(fieldset.intersection(a, b))) == left & right
    assert set(fieldset.paths(fieldset.difference(a, b))) == left - right
    below = {path for path in left if any(path[: len(prefix)] == prefix for prefix in right)}
    assert set(fieldset.paths(fieldset.recursive_difference(a, b))) == left - below
    inner = {path[:length] for path in left for length in range(1, len(path))}
    assert set(fieldset.paths(fieldset.leaves(a))) == left - inner


@given(path_sets, path_sets)
def test_operations_change_no_argument_and_leave_equal_forms(left: Paths, right: Paths) -> None:
    a, b = tree(left), tree(right)
    before = orjson.dumps([a, b])
    for operation in (fieldset.union, fieldset.intersection, fieldset.difference, fieldset.recursive_difference):
        result = operation(a, b)
        assert result == tree(set(fieldset.paths(result)))
    assert orjson.dumps([a, b]) == before


def test_a_set_that_loses_nothing_stays_the_same_object() -> None:
    fields = fieldset.of(["spec", "a"], ["spec", "b"])
    assert fieldset.difference(fields, fieldset.of(["spec", "c"], ["status"])) is fields
    assert fieldset.recursive_difference(fields, fieldset.of(["status"])) is fields


def test_a_container_that_is_a_member_has_a_dot() -> None:
    assert fieldset.of(["data"], ["data", "x"]) == {"f:data": {".": {}, "f:x": {}}}


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        (None, {}),
        ({"f:a": None}, {"f:a": {}}),
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": {"x:later": {}}}, {"f:a": {}}),
        ({"f:a": {}, "x:later": 5}, {"f:a": {}}),
        ({".": {}, "f:a": {}}, {"f:a": {}}),
        ({'k:{"b":1,"a":2}': {}, 'k:{"a":2,"b":1}': {"f:x": {}}}, {'k:{"a":2,"b":1}': {".": {}, "f:x": {}}}),
    ],
)
def test_other_ways_to_write_a_set_are_understood(written: Any, read_as: FieldSet) -> None:
    assert read(written) == read_as
    assert not fieldset.parse(orjson.dumps(written)).canonical


@subtest_cases("written", [5, [], "f:a", {"f:a": 1}, {"f:a": []}, {"a": {}}, {"": {}}, {"v:{": {}}])
def test_what_is_no_set_is_refused(written: Any) -> None:
    with pytest.raises(ValueError):
        read(written)


def test_elements_are_written_in_the_order_of_kubernetes() -> None:
    fields = {'k:{"p":443}': {}, "i:0": {}, "f:b": {"f:z": {}, ".": {}, "f:y": {}}, 'k:{"p":80}': {}, "v:1": {}}
    written = orjson.dumps(fieldset.ordered(fields)).decode()
    expected = '{"f:b":{".":{},"f:y":{},"f:z":{}},"k:{\\"p\\":80}":{},"k:{\\"p\\":443}":{},"v:1":{},"i:0":{}}'
    assert written == expected


def test_members_of_a_level_are_listed_before_those_below() -> None:
    fields = {"f:spec": {"f:items": {".": {}, 'k:{"name":"a"}': {".": {}, "f:v": {}}}, "f:text": {}}}
    assert [fieldset.display(path) for path in fieldset.paths(fields)] == [
        ".spec.items",
        ".spec.text",
        '.spec.items[name="a"]',
        '.spec.items[name="a"].v',
    ]


def test_long_texts_are_read_and_not_remembered() -> None:
    written = {f"f:{each}": {} for each in range(5000)}
    long, short = orjson.dumps(written), orjson.dumps({"f:a": {}})
    assert fieldset.parse(long).fields == written
    assert fieldset.parse(long) is not fieldset.parse(long)
    assert fieldset.parse(short) is fieldset.parse(short)
