"""Amounts that containers ask for."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.builtins.kinds.core_resources import round_up
from nagaya.apiserver.builtins.kinds.pod_resources import aggregate, computed_qos_class
from nagaya.apiserver.meta.quantity import parse


def container(cpu: int, **more: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": {"cpu": str(cpu)}}, **more}


COUNTS = st.lists(st.integers(0, 9), max_size=4)


@given(COUNTS, COUNTS, COUNTS)
def test_sidecars_add_up_and_other_init_containers_take_turns(
    main: list[int], side: list[int], init: list[int]
) -> None:
    spec = {
        "containers": [container(each) for each in main],
        "initContainers": [
            *(container(each, restartPolicy="Always") for each in side),
            *(container(each) for each in init),
        ],
    }
    needed = max([sum(main) + sum(side), *(sum(side) + each for each in init)])
    total = aggregate(spec, "requests").get("cpu")
    assert (total.value if total else 0) == needed


def test_amounts_are_rounded_up_to_thousandths() -> None:
    amounts = {"cpu": "1n", "memory": "1Gi", "x": "1500u"}
    round_up(amounts)
    assert {name: str(parse(text)) for name, text in amounts.items()} == {"cpu": "1m", "memory": "1Gi", "x": "2m"}


def test_a_pod_is_guaranteed_what_it_limits_and_asks_for() -> None:
    both = {"cpu": "1", "memory": "1Gi"}
    full = {"spec": {"containers": [{"name": "c", "resources": {"limits": both, "requests": both}}]}}
    part = {"spec": {"containers": [{"name": "c", "resources": {"limits": both, "requests": {"cpu": "1"}}}]}}
    none: dict[str, Any] = {"spec": {"containers": [{"name": "c"}]}}
    assert [computed_qos_class(each) for each in (full, part, none)] == ["Guaranteed", "Burstable", "BestEffort"]
