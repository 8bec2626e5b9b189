from datetime import UTC, datetime
from typing import Any

import pytest

from nagaya.apiserver.table.builtin import table_for_builtin

NOW = datetime(2026, 11, 16, tzinfo=UTC)
OBJECT: dict[str, Any] = {
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "metadata": {"name": "a", "resourceVersion": "7", "creationTimestamp": "2026-11-15T23:00:00Z"},
    "data": {"x": "1"},
}


def config_maps(*objects: Any, meta: Any = None, include: str = "", **options: Any) -> dict[str, Any]:
    meta = {"resourceVersion": "9"} if meta is None else meta
    return table_for_builtin("", "ConfigMap", objects, meta, include, NOW, **options)


def test_a_table_has_columns_and_rows() -> None:
    made = config_maps(OBJECT)
    assert (made["kind"], made["apiVersion"], made["metadata"]) == ("Table", "meta.k8s.io/v1", {"resourceVersion": "9"})
    assert [column["name"] for column in made["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert set(made["columnDefinitions"][0]) == {"name", "type", "format", "description", "priority"}
    assert made["rows"][0]["cells"] == ["a", 1, "60m"]


@pytest.mark.parametrize("include", ["", "Metadata"])
def test_rows_carry_metadata_by_default(include: str) -> None:
    row = config_maps(OBJECT, include=include)["rows"][0]
    assert row["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": OBJECT["metadata"],
    }


def test_rows_carry_the_object_or_nothing_if_asked() -> None:
    assert config_maps(OBJECT, include="Object")["rows"][0]["object"] is OBJECT
    assert config_maps(OBJECT, include="None")["rows"][0]["object"] is None


def test_the_bookmark_that_ends_the_initial_events_always_carries_its_metadata() -> None:
    bookmark = {"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}, "resourceVersion": "3"}}
    row = config_maps(bookmark, include="None")["rows"][0]
    assert row["object"]["metadata"] == bookmark["metadata"]
    assert row["cells"] == ["", 0, "<unknown>"]


def test_the_list_is_carried_on() -> None:
    meta = {"resourceVersion": "9", "continue": "c", "remainingItemCount": 0}
    assert config_maps(meta=meta)["metadata"] == meta
    assert config_maps(meta={"resourceVersion": "9", "continue": ""})["metadata"] == {"resourceVersion": "9"}


def test_a_single_object_gives_the_table_its_resource_version() -> None:
    assert config_maps(OBJECT, meta={})["metadata"] == {"resourceVersion": "7"}
    assert config_maps({"metadata": {}}, meta={})["metadata"] == {}


def test_later_events_of_a_watch_have_no_columns() -> None:
    assert config_maps(OBJECT, headers=False)["columnDefinitions"] is None


def test_an_older_version_of_tables_is_served_too() -> None:
    made = config_maps(OBJECT, version="v1beta1")
    assert made["apiVersion"] == made["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


def test_an_empty_list_has_no_rows() -> None:
    assert config_maps()["rows"] == []


def test_conditions_of_rows_are_shown_when_there_are_any() -> None:
    pods = [{"status": {"phase": phase}} for phase in ("Running", "Succeeded")]
    rows = table_for_builtin("", "Pod", pods, {}, "None", NOW)["rows"]
    assert "conditions" not in rows[0]
    assert rows[1]["conditions"][0]["reason"] == "Succeeded"


def test_a_kind_without_a_table_of_its_own_shows_when_it_was_made() -> None:
    made = table_for_builtin("rbac.authorization.k8s.io", "Role", [OBJECT], {}, "", NOW)
    assert [(column["name"], column["type"]) for column in made["columnDefinitions"]] == [
        ("Name", "string"),
        ("Created At", "date"),
    ]
    assert made["rows"][0]["cells"] == ["a", "2026-11-15T23:00:00Z"]
    assert table_for_builtin("rbac.authorization.k8s.io", "Role", [], {}, "", NOW)["rows"] is None
