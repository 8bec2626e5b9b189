"""Who owns the number of replicas when it is written through a Scale."""

from typing import Any

import pytest

from nagaya.apiserver.apply.scale import to_parent, to_subresource
from nagaya.apiserver.meta.status import ApiError

PATHS = {"x.io/v1": ("spec", "replicas"), "x.io/v2": ("spec", "size"), "x.io/v3": None}


def entry(manager: str, fields: dict[str, Any], version: str = "x.io/v1", **more: Any) -> dict[str, Any]:
    given = {"manager": manager, "operation": "Apply", "apiVersion": version, "fieldsType": "FieldsV1"}
    return {**given, "fieldsV1": fields, **more}


REPLICAS = {"f:spec": {"f:replicas": {}}}
TIME = {"time": "2020-01-01T00:00:00Z"}


def test_owners_of_the_parents_number_own_the_scales() -> None:
    entries = [
        entry("a", {"f:spec": {"f:replicas": {}, "f:x": {}}}, **TIME),
        entry("b", {"f:spec": {"f:size": {}}}, "x.io/v2"),
        entry("c", {"f:spec": {"f:x": {}}}),
        entry("d", REPLICAS, "x.io/v3"),
        entry("e", REPLICAS, "x.io/gone"),
    ]
    assert to_subresource(entries, PATHS) == [
        entry("b", REPLICAS, "autoscaling/v1"),
        entry("a", REPLICAS, "autoscaling/v1", **TIME),
    ]


def test_who_lost_the_number_in_the_scale_loses_it_in_the_parent() -> None:
    entries = [entry("a", {"f:spec": {"f:replicas": {}, "f:x": {}}}, **TIME), entry("b", REPLICAS)]
    scale = [entry("c", REPLICAS, "autoscaling/v1", subresource="scale", **TIME)]
    assert to_parent(entries, scale, "x.io/v1", PATHS) == [
        entry("c", REPLICAS, subresource="scale"),
        entry("a", {"f:spec": {"f:x": {}}}, **TIME),
    ]


def test_who_keeps_the_number_keeps_its_record() -> None:
    entries = [entry("a", {"f:spec": {"f:replicas": {}, "f:x": {}}}, **TIME)]
    assert to_parent(entries, to_subresource(entries, PATHS), "x.io/v1", PATHS) == entries


def test_records_of_unknown_versions_are_dropped_and_others_kept() -> None:
    entries = [entry("a", REPLICAS, "x.io/gone"), entry("b", REPLICAS, "x.io/v3"), entry("c", {"f:spec": {"f:x": {}}})]
    assert to_parent(entries, [], "x.io/v1", PATHS) == entries[1:]


def test_a_scale_record_without_the_number_adds_nothing() -> None:
    scale = [entry("a", {"f:metadata": {"f:labels": {}}}, "autoscaling/v1")]
    assert to_parent([], scale, "x.io/v1", PATHS) == []


def test_unreadable_records_are_an_error() -> None:
    with pytest.raises(ApiError, match="operation must be `Apply` or `Update`"):
        to_subresource([entry("a", REPLICAS, operation="x")], PATHS)
