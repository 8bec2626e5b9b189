"""LimitRanges."""

from typing import Any

import pytest

from support.core_kinds import CoreKinds


def limits(*found: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"limits": list(found)}}


async def test_what_a_container_gets_follows_from_what_it_may_ask_for() -> None:
    made = await CoreKinds().create(
        "limitranges", limits({"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Gi"}})
    )
    assert made["spec"]["limits"] == [
        {
            "type": "Container",
            "max": {"cpu": "2"},
            "min": {"memory": "1Gi"},
            "default": {"cpu": "2"},
            "defaultRequest": {"cpu": "2", "memory": "1Gi"},
        }
    ]


async def test_a_range_needs_no_name() -> None:
    made = await CoreKinds().create("limitranges", {"metadata": {"name": ""}})
    assert len(made["metadata"]["name"]) == 36


@pytest.mark.parametrize(
    ("limit", "found"),
    [
        (
            {"type": "Foo"},
            ['spec.limits[0].type: Invalid value: "Foo": must be a standard limit type or fully qualified'],
        ),
        (
            {"type": "Pod", "default": {"cpu": "1"}},
            ["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"],
        ),
        (
            {"type": "PersistentVolumeClaim"},
            [
                "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, "
                "but neither was provided"
            ],
        ),
        (
            {"type": "Pod", "max": {"cpu": "1"}, "min": {"cpu": "2"}},
            ['spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'],
        ),
        (
            {
                "type": "Pod",
                "max": {"memory": "1000"},
                "min": {"memory": "3"},
                "maxLimitRequestRatio": {"memory": "400"},
            },
            [
                'spec.limits[0].maxLimitRequestRatio[memory]: Invalid value: "400": '
                "ratio 400 is greater than max/min = 333.333333"
            ],
        ),
        (
            {"type": "Container", "default": {"a/b": "2"}, "defaultRequest": {"a/b": "1"}},
            [
                'spec.limits[0].defaultRequest[a/b]: Invalid value: "1": '
                "default value 2 must equal to defaultRequest value 1 in a/b"
            ],
        ),
    ],
)
async def test_what_is_wrong_with_a_limit_is_said(limit: dict[str, Any], found: list[str]) -> None:
    assert await CoreKinds().refused("limitranges", limits(limit)) == found


async def test_a_type_stands_once() -> None:
    found = await CoreKinds().refused("limitranges", limits({"type": "Pod"}, {"type": "Pod"}))
    assert found == ['spec.limits[1].type: Duplicate value: "Pod"']
