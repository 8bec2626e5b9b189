"""Runtime classes."""

from typing import Any

from support.core_kinds import CoreKinds

NAME = "runtimeclasses.node.k8s.io"


async def refused(**members: Any) -> list[str]:
    return await CoreKinds().refused(NAME, {"handler": "h", **members})


async def test_a_handler_is_a_label_and_stays() -> None:
    assert await refused(handler="") == ["handler: Required value"]
    assert await refused(handler="a.b") == ['handler: Invalid value: "a.b": must not contain dots']
    kinds = CoreKinds()
    await kinds.create(NAME, {"handler": "h"})
    found = await kinds.change_refused(NAME, "it", {"handler": "g"})
    assert found == ['handler: Invalid value: "g": field is immutable']


async def test_overhead_is_of_known_resources() -> None:
    assert await refused(overhead={"podFixed": {"cpu": "-1"}}) == [
        'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'
    ]
    assert await refused(overhead={"podFixed": {"hugepages-2Mi": "2Mi"}}) == [
        "overhead: Forbidden: HugePages require cpu or memory"
    ]


async def test_no_toleration_is_there_twice() -> None:
    tolerations = [{"key": "a", "tolerationSeconds": seconds, "effect": "NoExecute"} for seconds in (1, 2)]
    shown = '{"Key":"a","Operator":"","Value":"","Effect":"NoExecute","TolerationSeconds":2}'
    assert await refused(scheduling={"tolerations": tolerations}) == [
        f"scheduling.tolerations[1]: Duplicate value: {shown}"
    ]
