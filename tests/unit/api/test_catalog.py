"""All kinds: described, and accepted by the API server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from nagaya.api.catalog import PARTS
from nagaya.api.crd import render
from nagaya.api.definition import Definition
from nagaya.apiserver.cel.crd_rules import compile_rules
from nagaya.apiserver.crd.definition import validate
from support.subtest_cases import subtest_cases

DEFINITIONS = [definition for part in PARTS.values() for definition in part]
BY_NAME = {str(definition.kind): definition for definition in DEFINITIONS}


each_definition = subtest_cases("definition", DEFINITIONS, ids=lambda definition: str(definition.kind))


@cache
def rendered(name: str) -> dict[str, Any]:
    return render(BY_NAME[name])


def fields(schema: dict[str, Any], place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{place}.{name}", field
        yield from fields(field, f"{place}.{name}")
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            yield from fields(schema[inner], f"{place}[]")


def root(definition: Definition) -> dict[str, Any]:
    found: dict[str, Any] = rendered(str(definition.kind))["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


@each_definition
def test_every_field_is_described(definition: Definition) -> None:
    bare = [place for place, field in fields(root(definition), "") if not field.get("description")]
    assert bare == [".metadata"]  # the API server describes it
    assert root(definition)["description"]


@each_definition
def test_descriptions_are_sentences(definition: Definition) -> None:
    odd = [
        f"{place}: {field['description']}"
        for place, field in fields(root(definition), "")
        if field.get("description") and not field["description"].endswith(".")
    ]
    assert odd == []


@each_definition
def test_columns_are_described(definition: Definition) -> None:
    assert [column.name for column in definition.columns if not column.description] == []


@each_definition
def test_the_api_server_accepts_the_definition(definition: Definition) -> None:
    stored = {**rendered(str(definition.kind)), "status": {"storedVersions": [definition.kind.version]}}
    assert [str(error) for error in validate(stored, compile_rules)] == []


def test_kinds_have_names_of_their_own() -> None:
    plurals = [str(each.kind) for each in DEFINITIONS]
    short = [name for each in DEFINITIONS for name in each.short_names]
    assert len(plurals) == len(set(plurals))
    assert len(short) == len(set(short))
