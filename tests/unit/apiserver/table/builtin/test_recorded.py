"""Rows that the real server's printers made of random objects, most of which lack almost everything."""

from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from nagaya.apiserver.table.builtin import SHAPES, shape_of
from support.subtest_cases import subtest_cases


@cache
def recorded() -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (Path(__file__).parent / "recorded.jsonl").read_bytes().splitlines()]


def named(line: dict[str, Any]) -> str:
    return f"{line['group']}/{line['kind']}"


@subtest_cases("line", recorded, ids=named)
def test_a_row_has_the_cells_of_the_real_one(line: dict[str, Any]) -> None:
    row = shape_of(line["group"], line["kind"]).row
    assert row(line["object"], datetime.fromisoformat(line["now"])) == line["cells"]


@subtest_cases("line", lambda: [line for line in recorded() if "columns" in line], ids=named)
def test_a_kind_has_the_columns_of_the_real_one(line: dict[str, Any]) -> None:
    columns = shape_of(line["group"], line["kind"]).columns
    assert [[each.name, each.type, each.format, each.priority] for each in columns] == line["columns"]


def test_every_kind_with_a_table_of_its_own_was_recorded() -> None:
    kinds = {(line["group"], line["kind"]) for line in recorded()}
    # The aggregator prints API services itself.
    assert {tuple(kind) for kind in SHAPES} - kinds == {("apiregistration.k8s.io", "APIService")}


@subtest_cases("kind", SHAPES, ids=str)
def test_an_object_may_be_empty_or_full_of_nulls(kind: tuple[str, str]) -> None:
    shape, now = shape_of(*kind), datetime.fromisoformat("2026-11-16T00:00:00Z")
    bare = shape.row({}, now)
    assert len(bare) >= len(shape.columns)
    assert shape.row({"metadata": None, "spec": None, "status": None, "data": None}, now) == bare


def test_every_column_has_a_description() -> None:
    assert [column.name for shape in SHAPES.values() for column in shape.columns if not column.description] == []
