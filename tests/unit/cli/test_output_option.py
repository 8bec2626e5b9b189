"""Programs can read what every command says."""

from __future__ import annotations

import click

from support.cli_commands import leaves
from support.subtest_cases import subtest_cases

STAYING = {"nagaya up", "nagaya controllers", "nagaya simulate proxmox"}
"""Commands that do not end by themselves: what they say is their log."""
SHOWING = {"nagaya demo"}
"""Commands that are there to be looked at: what they make is asked for with the others."""


@subtest_cases("path", sorted({*leaves()} - STAYING - SHOWING))
def test_every_command_that_ends_speaks_json_and_yaml(path: str) -> None:
    [output] = [each for each in leaves()[path].params if "--output" in each.opts]
    assert "-o" in output.opts
    assert isinstance(output.type, click.Choice)
    assert {*output.type.choices} == {"json", "yaml"}
