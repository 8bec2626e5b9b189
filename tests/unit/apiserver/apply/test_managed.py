"""The entries of managedFields, read and written."""

from typing import Any

import pytest

from nagaya.apiserver.apply import managed
from nagaya.apiserver.apply.managed import APPLY, UPDATE, InvalidManagedFields, Manager, Owned
from support.subtest_cases import subtest_cases


def entry(**members: Any) -> dict[str, Any]:
    given = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    return {**given, "fieldsV1": {"f:data": {}}, **members}


def test_entries_that_nobody_changes_are_written_as_they_were() -> None:
    entries = [entry(time="2020-01-01T00:00:00Z")]
    assert managed.encode(managed.decode(entries))[0] is entries[0]


def test_appliers_are_the_same_in_every_version_and_updaters_are_not() -> None:
    decoded = managed.decode([entry(operation="Apply"), entry(), entry(apiVersion="v2"), entry(subresource="status")])
    assert list(decoded) == [
        Manager("m", APPLY),
        Manager("m", UPDATE, "v1"),
        Manager("m", UPDATE, "v2"),
        Manager("m", UPDATE, "v1", "status"),
    ]


def test_other_spellings_are_written_in_the_usual_one() -> None:
    written = entry(time="2020-01-01T02:00:00.5+02:00", fieldsV1={"f:data": {".": {}}, "x:y": {}}, bogus=1)
    assert managed.encode(managed.decode([written])) == [entry(time="2020-01-01T00:00:00Z")]


def test_entries_are_sorted_by_operation_time_and_name() -> None:
    wanted = [
        entry(operation="Apply", manager="z"),
        entry(operation="Apply", manager="a", time="2020-01-01T00:00:00Z"),
        entry(manager="b", time="2020-01-01T00:00:00Z"),
        entry(manager="c", time="2020-01-01T00:00:00Z"),
        entry(manager="c", time="2020-01-01T00:00:00Z", subresource="status"),
        entry(manager="a", time="2020-01-02T00:00:00Z"),
    ]
    assert managed.encode(managed.decode(wanted[::-1])) == wanted


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"operation": "Patch"}, "operation must be `Apply` or `Update`"),
        ({"apiVersion": ""}, "apiVersion must not be empty"),
        ({"fieldsType": ""}, "missing fieldsType in managed fields entry 0"),
        ({"fieldsType": "FieldsV2"}, 'invalid fieldsType "FieldsV2" in managed fields entry 0'),
        ({"fieldsV1": []}, "error decoding set: "),
    ],
)
def test_entries_without_sense_are_refused(broken: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidManagedFields) as raised:
        managed.decode([entry(**broken)])
    assert str(raised.value).startswith(why)


@subtest_cases(
    "metadata",
    [
        None,
        {},
        {"managedFields": None},
        {"managedFields": "x"},
        {"managedFields": [5]},
        {"managedFields": [entry(manager=5)]},
        {"managedFields": [entry(time="yesterday")]},
        {"managedFields": [entry(time="2020-13-01T00:00:00Z")]},
        {"managedFields": [entry(time=5)]},
    ],
)
def test_what_is_no_list_of_entries_counts_as_none(metadata: Any) -> None:
    assert managed.entries_of(metadata) is None


@pytest.mark.parametrize(
    ("entries", "reset"),
    [
        (None, False),
        ([], True),
        ([{}], True),
        ([{"manager": "", "time": None}], True),
        ([{"manager": "m"}], False),
        ([{}, {}], False),
    ],
)
def test_an_empty_list_or_entry_asks_for_a_reset(entries: Any, reset: bool) -> None:
    assert managed.is_reset(entries) is reset


def updaters(count: int, **more: Owned) -> managed.Managed:
    return {
        Manager(f"m{number:02d}", UPDATE, "v1"): Owned({f"f:{number:02d}": {}}, "v1", f"2020-01-01T00:00:{number:02d}Z")
        for number in range(count)
    }


def test_ten_updaters_are_left_alone() -> None:
    there = {**updaters(10), Manager("a", APPLY): Owned({"f:x": {}}, "v1", None)}
    assert managed.cap(there) is there


def test_the_oldest_updates_are_merged_when_there_are_more() -> None:
    capped = managed.cap(updaters(12))
    ancient = capped[Manager("ancient-changes", UPDATE, "v1")]
    assert len(capped) == 10
    assert ancient.fields == {"f:00": {}, "f:01": {}, "f:02": {}}
    assert ancient.time == "2020-01-01T00:00:02Z"


def test_updates_in_different_versions_are_not_merged_with_each_other() -> None:
    there = {**updaters(10), Manager("old", UPDATE, "v0"): Owned({"f:old": {}}, "v0", None)}
    capped = managed.cap(there)
    assert capped[Manager("old", UPDATE, "v0")].fields == {"f:old": {}}
    assert capped[Manager("ancient-changes", UPDATE, "v1")].fields == {"f:00": {}, "f:01": {}}


def test_a_manager_introduces_itself() -> None:
    assert str(Manager("m", APPLY)) == '"m"'
    assert str(Manager("m", UPDATE, "v1")) == '"m" using v1'
    assert str(Manager("m", UPDATE, "v1", "status")) == '"m" with subresource "status" using v1'
