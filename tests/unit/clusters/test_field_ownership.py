"""Labels that the maker of an object may take away, and those that it may not."""

from __future__ import annotations

from typing import Any

from nagaya.api.untyped import Untyped
from nagaya.clusters import field_ownership
from nagaya.clusters.field_ownership import MetadataChange

MANAGER, METADATA_MANAGER = "capi-machineset", "capi-machineset-metadata"
TEMPLATE = Untyped({"spec": {"template": {"metadata": {"labels": {"from": "template"}}}}})


def metadata_change(
    metadata: dict[str, Any], wanted: dict[str, dict[str, str]], template: Untyped | None
) -> MetadataChange | None:
    return field_ownership.metadata_change(
        metadata, wanted, template, manager=MANAGER, metadata_manager=METADATA_MANAGER
    )


def claim(manager: str, *labels: str, operation: str = "Apply", spec: bool = False) -> dict[str, Any]:
    fields: dict[str, Any] = {"f:metadata": {"f:labels": {".": {}, **{f"f:{each}": {} for each in labels}}}}
    if spec:
        fields["f:spec"] = {}
    return {"manager": manager, "operation": operation, "fieldsV1": fields}


def wanted(**labels: str) -> dict[str, dict[str, str]]:
    return {"labels": labels, "annotations": {}}


def test_an_object_that_is_as_it_should_be_is_left_alone() -> None:
    metadata = {
        "labels": {"a": "1", "from": "template", "mine": "x"},
        "managedFields": [claim("capi-machineset", "a", "from"), claim("kubectl", "mine", operation="Update")],
    }
    assert metadata_change(metadata, wanted(a="1"), TEMPLATE) is None


def test_the_first_claim_is_given_up_and_what_is_stale_goes_with_it() -> None:
    first = claim("capi-machineset", "a", "b", "from", spec=True)
    other = claim("kubectl", "mine", operation="Update")
    metadata = {
        "labels": {"a": "1", "b": "2", "from": "template", "mine": "x"},
        "managedFields": [first, other],
    }
    change = metadata_change(metadata, wanted(a="1"), TEMPLATE)
    assert change is not None
    assert change.move == {
        "labels": {"b": None},
        "managedFields": [{**first, "fieldsV1": {"f:spec": {}}}, other],
    }
    assert change.apply == {"labels": {"a": "1"}}


def test_what_somebody_else_claims_as_well_stays() -> None:
    metadata = {
        "labels": {"a": "1", "b": "2"},
        "managedFields": [claim("capi-machineset", "a", "b"), claim("somebody", "b")],
    }
    assert metadata_change(metadata, wanted(a="1"), TEMPLATE) is None


def test_what_older_versions_claimed_twice_is_nobody_elses() -> None:
    first, classic = claim("capi-machineset", "a", "b"), claim("manager", "b", "own", operation="Update")
    metadata = {"labels": {"a": "1", "b": "2", "own": "x"}, "managedFields": [first, classic]}
    change = metadata_change(metadata, wanted(a="1"), TEMPLATE)
    assert change is not None
    assert change.move == {
        "labels": {"b": None},
        "managedFields": [{**first, "fieldsV1": {}}, claim("manager", "own", operation="Update")],
    }


def test_without_its_template_nothing_is_taken_from_the_first_claim() -> None:
    metadata = {"labels": {"a": "1", "b": "2"}, "managedFields": [claim("capi-machineset", "a", "b")]}
    assert metadata_change(metadata, wanted(a="1"), None) is None
    change = metadata_change(metadata, wanted(a="2"), None)
    assert change is not None
    assert change.move is not None
    assert "labels" not in change.move


def test_later_changes_are_one_apply() -> None:
    metadata = {"labels": {"a": "1", "b": "2"}, "managedFields": [claim("capi-machineset-metadata", "a", "b")]}
    change = metadata_change(metadata, wanted(a="1"), TEMPLATE)
    assert change is not None
    assert change.move is None
    assert change.apply == {"labels": {"a": "1"}}
    assert metadata_change(metadata, wanted(a="1", b="2"), TEMPLATE) is None


def test_what_is_there_but_unclaimed_is_claimed() -> None:
    change = metadata_change({"labels": {"a": "1"}}, wanted(a="1"), TEMPLATE)
    assert change is not None
    assert (change.move, change.apply) == (None, {"labels": {"a": "1"}})


def test_an_object_that_nobody_claims_gets_what_is_missing() -> None:
    change = metadata_change({"labels": {"x": "y"}}, wanted(a="1"), None)
    assert change is not None
    assert (change.move, change.apply) == (None, {"labels": {"a": "1"}})
