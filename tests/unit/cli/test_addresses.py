from __future__ import annotations

import click
import pytest

from nagaya.cli.addresses import own_address, port_range
from support.subtest_cases import subtest_cases

COMMAND = click.Context(click.Command("x"))
OPTION = click.Option(["--x"])


@pytest.mark.parametrize(("value", "expected"), [("1-1", range(1, 2)), ("16443-17442", range(16443, 17443))])
def test_a_range_of_ports_includes_both_ends(value: str, expected: range) -> None:
    assert port_range(COMMAND, OPTION, value) == expected


@subtest_cases("value", ["", "1", "2-1", "0-5", "1-65536", "a-b", "1-2-3", "-1-5"])
def test_what_is_no_range_of_ports_is_refused(value: str) -> None:
    with pytest.raises(click.BadParameter, match="is not FIRST-LAST"):
        port_range(COMMAND, OPTION, value)


@pytest.mark.parametrize(
    ("value", "expected"), [(None, ""), ("192.0.2.1", "192.0.2.1"), ("2001:DB8::1", "2001:db8::1")]
)
def test_an_address_of_this_machine_may_be_left_out(value: str | None, expected: str) -> None:
    assert own_address(COMMAND, OPTION, value) == expected


@pytest.mark.parametrize("value", ["0.0.0.0", "::", "localhost", ""])
def test_an_address_that_nobody_can_connect_to_is_refused(value: str) -> None:
    with pytest.raises(click.BadParameter):
        own_address(COMMAND, OPTION, value)
