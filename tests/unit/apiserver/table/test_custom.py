from datetime import UTC, datetime
from typing import Any

import pytest

from nagaya.apiserver.meta.field_errors import Path
from nagaya.apiserver.table.custom import CustomTable, scale_table, validate_column
from support.subtest_cases import subtest_cases

NOW = datetime(2026, 11, 16, tzinfo=UTC)


def cell(kind: str, value: Any) -> Any:
    table = CustomTable([{"name": "X", "type": kind, "jsonPath": ".spec.x"}])
    return table.shape.row({"metadata": {"name": "n"}, "spec": {"x": value}}, NOW)[1]


@subtest_cases(
    ("kind", "value", "shown"),
    [
        ("string", "a", "a"),
        ("string", 3, "3"),
        ("string", 1.5, "1.5"),
        ("string", 2.0, "2"),
        ("string", True, "true"),
        ("string", None, "<no value>"),
        ("string", ["a", 1.0, None], '["a",1,null]'),
        ("string", {"b": "<", "a": 1}, '{"a":1,"b":"\\u003c"}'),
        ("integer", 3, 3),
        ("integer", 3.9, 3),
        ("integer", 1e30, -(2**63)),
        ("integer", "3", None),
        ("integer", True, None),
        ("integer", None, None),
        ("number", 3, 3),
        ("number", 1.5, 1.5),
        ("number", False, None),
        ("boolean", True, True),
        ("boolean", "true", None),
        ("date", "2026-11-15T22:00:00Z", "120m"),
        ("date", "", "<unknown>"),
        ("date", "null", "<unknown>"),
        ("date", "tomorrow", "<invalid>"),
        ("date", 5, None),
        ("unheard", "a", None),
    ],
)
def test_a_cell_is_shown_by_its_type(kind: str, value: Any, shown: Any) -> None:
    assert cell(kind, value) == shown


@pytest.mark.parametrize("kind", ["string", "integer", "number", "boolean", "date"])
def test_what_is_missing_is_null(kind: str) -> None:
    table = CustomTable([{"name": "X", "type": kind, "jsonPath": ".spec.x"}])
    assert table.shape.row({"metadata": {"name": "n"}}, NOW) == ["n", None]


def test_columns_are_declared() -> None:
    table = CustomTable(
        [
            {"name": "A", "type": "string", "jsonPath": ".a"},
            {"name": "B", "type": "integer", "jsonPath": ".b", "format": "int32", "priority": 1, "description": "b"},
        ]
    )
    assert table.table([], {"resourceVersion": "1"}, "", NOW)["columnDefinitions"][1:] == [
        {
            "name": "A",
            "type": "string",
            "format": "",
            "description": "Custom resource definition column (in JSONPath format): .a",
            "priority": 0,
        },
        {"name": "B", "type": "integer", "format": "int32", "description": "b", "priority": 1},
    ]


@pytest.mark.parametrize("declared", [None, []])
def test_without_columns_there_is_an_age(declared: Any) -> None:
    obj = {"metadata": {"name": "n", "creationTimestamp": "2026-11-15T23:59:00Z"}}
    made = CustomTable(declared).table([obj], {}, "", NOW)
    assert [(column["name"], column["type"]) for column in made["columnDefinitions"]] == [
        ("Name", "string"),
        ("Age", "date"),
    ]
    assert made["rows"][0]["cells"] == ["n", "60s"]


def test_columns_end_before_the_first_that_cannot_be_read() -> None:
    paths = [".a", ".a[", ".b"]
    table = CustomTable([{"name": path, "type": "string", "jsonPath": path} for path in paths])
    assert [column.name for column in table.shape.columns] == ["Name", ".a"]


def test_a_scale_shows_what_is_declared() -> None:
    table = scale_table({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"})
    assert [column.name for column in table.shape.columns] == ["Name", "Desired", "Available", "Age"]
    obj = {"metadata": {"name": "n"}, "spec": {"replicas": 3}, "status": {"replicas": 0}}
    assert table.shape.row(obj, NOW) == ["n", 3, 0, None]
    assert [column.name for column in scale_table({}).shape.columns] == ["Name", "Age"]


def test_a_declared_column_is_validated() -> None:
    path = Path("c")
    assert validate_column({"name": "A", "type": "date", "format": "int32", "jsonPath": ".a[?"}, path) == []
    assert [str(error) for error in validate_column({}, path)] == [
        "c.name: Required value",
        "c.type: Required value: must be one of boolean,date,integer,number,string",
        "c.JSONPath: Required value",
    ]
    wrong = {"name": "A", "type": "text", "format": "x", "jsonPath": "a"}
    assert [str(error) for error in validate_column(wrong, path)] == [
        'c.type: Invalid value: "text": must be one of boolean,date,integer,number,string',
        'c.format: Invalid value: "x": must be one of byte,date,date-time,double,float,int32,int64,password',
        'c.JSONPath: Invalid value: "a": must be a simple json path starting with .',
    ]
