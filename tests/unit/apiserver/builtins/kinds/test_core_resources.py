"""Names and amounts of resources."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.builtins.kinds import core_resources
from nagaya.apiserver.meta import quantity
from nagaya.apiserver.meta.field_errors import Path

HERE = Path("here")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("1", "1"), ("1500u", "2m"), ("1n", "1m"), ("0.0001", "1m"), ("1.5", "1.5"), ("100m", "100m"), ("-1500u", "-2m")],
)
def test_amounts_are_rounded_up_to_thousandths(sent: str, kept: str) -> None:
    amounts = {"cpu": sent}
    core_resources.round_up(amounts)
    assert amounts == {"cpu": kept}


@given(st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,12})?(n|u|m|k|Ki|M|e-?[0-9])?", fullmatch=True))
def test_rounding_never_makes_less_and_is_done_once(text: str) -> None:
    amounts = {"cpu": quantity.canonical(text)}
    core_resources.round_up(amounts)
    once = amounts["cpu"]
    assert quantity.parse(once) >= quantity.parse(text)
    assert quantity.parse(once) - quantity.parse(text) < quantity.parse("1m")
    core_resources.round_up(amounts)
    assert amounts["cpu"] == once


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("cpu", ""),
        ("hugepages-2Mi", ""),
        ("example.com/gpu", ""),
        ("storage", "must be a standard resource for containers"),
        ("foo", "must be a standard resource type or fully qualified"),
        ("requests.example.com/gpu", "doesn't follow extended resource name standard"),
    ],
)
def test_containers_ask_for_some_resources(name: str, problem: str) -> None:
    found = core_resources.validate_container_name(name, HERE)
    assert (found[0].detail if found else "") == problem


@pytest.mark.parametrize(
    ("name", "problem"),
    [("count/pods", ""), ("requests.storage", ""), ("storage", "must be a standard resource for quota")],
)
def test_quotas_count_others(name: str, problem: str) -> None:
    found = core_resources.validate_quota_name(name, HERE)
    assert (found[0].detail if found else "") == problem


def test_things_are_counted_in_whole_numbers() -> None:
    def details(name: str, text: str) -> list[str]:
        return [error.detail for error in core_resources.validate_amount(name, text, HERE)]

    assert details("pods", "1.5") == ["must be an integer"]
    assert details("example.com/gpu", "1.5") == ["must be an integer"]
    assert details("cpu", "1.5") == []
    assert details("cpu", "-1") == ["must be greater than or equal to 0"]


def test_amounts_are_equal_however_they_are_written() -> None:
    assert core_resources.is_equal({"storage": "1Gi"}, {"storage": "1024Mi"})
    assert core_resources.is_equal(None, {})
    assert not core_resources.is_equal({"storage": "1Gi"}, {"storage": "1G"})
