"""What `nagaya crds` prints."""

from __future__ import annotations

import json
from functools import cache

import yaml
from click.testing import CliRunner

from nagaya.api.catalog import PARTS
from nagaya.api.crd import render
from nagaya.cli.crds import crds


@cache
def output_of(*arguments: str) -> str:
    result = CliRunner().invoke(crds, arguments)
    assert result.exit_code == 0, result.output
    return result.output


@cache
def printed(*arguments: str) -> list[dict[str, object]]:
    return list(yaml.load_all(output_of(*arguments), yaml.CSafeLoader))


def test_all_kinds_are_printed_as_yaml() -> None:
    assert printed() == [render(each) for part in PARTS.values() for each in part]


def test_all_kinds_are_printed_as_one_list_of_json() -> None:
    listed = json.loads(output_of("-o", "json"))
    assert listed["kind"] == "List"
    assert listed["items"] == printed()


def test_parts_can_be_chosen() -> None:
    assert printed("--only", "ipam, addons") == [render(each) for name in ("ipam", "addons") for each in PARTS[name]]


def test_an_unknown_part_is_refused_with_those_that_there_are() -> None:
    result = CliRunner().invoke(crds, ["--only", "core,nope"])
    assert result.exit_code == 2
    assert "there is no part" in result.output
    assert all(name in result.output.replace("\n", " ") for name in ("nope", *PARTS))


def test_nothing_is_written_as_an_anchor() -> None:
    output = CliRunner().invoke(crds, ["--only", "core"]).output
    assert "&id" not in output
