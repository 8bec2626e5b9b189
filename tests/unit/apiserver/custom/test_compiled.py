"""What was compiled once in a process is not compiled again, whoever asks."""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.cel.crd_rules import compile_rules
from nagaya.apiserver.custom.compiled import compiled


def version(kind: str = "string") -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": kind}}}}}
    return {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}


def test_the_same_content_is_compiled_once() -> None:
    assert compiled("Boat", version(), compile_rules) is compiled("Boat", version(), compile_rules)


def test_another_schema_or_kind_is_another_thing() -> None:
    first = compiled("Boat", version(), compile_rules)
    assert compiled("Boat", version("integer"), compile_rules) is not first
    assert compiled("Ship", version(), compile_rules).resource.kind == "Ship"


def test_whoever_changes_what_he_gave_changes_nothing_of_it() -> None:
    given = version()
    first = compiled("Boat", given, compile_rules)
    given["schema"]["openAPIV3Schema"]["properties"].clear()
    assert "spec" in first.resource.raw_schema["properties"]
