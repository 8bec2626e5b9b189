from datetime import UTC, datetime
from typing import Any

import pytest

from nagaya.apiserver.table.builtin import table_for_builtin
from nagaya.apiserver.table.builtin.cluster import API_SERVICES

NOW = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.mark.parametrize(
    ("obj", "cells"),
    [
        ({}, ["Local", "Unknown"]),
        ({"spec": {"service": {"namespace": "n", "name": "s"}}}, ["n/s", "Unknown"]),
        ({"status": {"conditions": [{"type": "Available", "status": "True", "reason": "Local"}]}}, ["Local", "True"]),
        (
            {"status": {"conditions": [{"type": "Available", "status": "False", "reason": "Down"}]}},
            ["Local", "False (Down)"],
        ),
    ],
)
def test_an_api_service_says_who_serves_it(obj: dict[str, Any], cells: list[str]) -> None:
    assert API_SERVICES.row(obj, NOW)[1:3] == cells


def test_flow_schemas_are_listed_in_the_order_in_which_they_are_asked() -> None:
    objects = [
        {"metadata": {"name": name}, "spec": {"matchingPrecedence": precedence}}
        for name, precedence in [("c", 9), ("b", 1), ("a", 9)]
    ]
    made = table_for_builtin(
        "flowcontrol.apiserver.k8s.io", "FlowSchema", objects, {"resourceVersion": "1"}, "None", NOW
    )
    assert [row["cells"][0] for row in made["rows"]] == ["b", "a", "c"]
