"""Device classes, and the expressions that choose devices."""

from typing import Any

import pytest

from nagaya.apiserver.builtins.kinds.device_selector import selectors
from nagaya.apiserver.meta.field_errors import Path
from support.core_kinds import CoreKinds

NAME = "deviceclasses.resource.k8s.io"


def problems(expression: str) -> list[str]:
    return [str(error) for error in selectors([{"cel": {"expression": expression}}], Path("s"))]


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "d"',
        'device.attributes["d"].model == "m" && device.allowMultipleAllocations',
        'device.attributes["d"].fast',
        'device.capacity["d"].memory.isGreaterThan(quantity("1Gi"))',
        'cel.bind(mine, device.attributes["d"], mine.fast && mine.large)',
    ],
)
def test_an_expression_sees_the_device(expression: str) -> None:
    assert problems(expression) == []


def test_an_expression_is_true_or_not() -> None:
    where = "s[0].cel.expression: Invalid value"
    assert problems("1") == [f'{where}: "1": must evaluate to bool or the unknown type, not int']
    assert problems("device.weight > 1")[0].startswith(f'{where}: "device.weight > 1": compilation failed: ERROR:')
    assert problems("x" * 10241) == ["s[0].cel.expression: Too long: may not be more than 10240 bytes"]


def test_a_selector_is_an_expression() -> None:
    assert [str(error) for error in selectors([{}], Path("s"))] == ["s[0].cel: Required value"]
    many: list[dict[str, Any]] = [{}] * 33
    assert [str(error) for error in selectors(many, Path("s"))] == ["s: Too many: 33: must have at most 32 items"]


async def test_a_resource_of_the_class_has_a_domain_of_somebody() -> None:
    found = await CoreKinds().refused(NAME, {"spec": {"extendedResourceName": "cpu"}})
    assert found == ['spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name']
    made = await CoreKinds().create(NAME, {"spec": {"extendedResourceName": "example.com/gpu"}})
    assert made["metadata"]["generation"] == 1


async def test_the_generation_counts_changes() -> None:
    kinds = CoreKinds()
    await kinds.create(NAME, {"spec": {}})
    changed = await kinds.change(NAME, "it", {"spec": {"selectors": [{"cel": {"expression": "true"}}]}})
    assert changed["metadata"]["generation"] == 2
