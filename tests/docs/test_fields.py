"""The pages that list every field are what the definitions say, and leave out none."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from docs.page import ROOT, section
from nagaya.api.catalog import PARTS
from nagaya.api.crd import render
from nagaya.api.definition import Definition

_DEFINITIONS = [(part, each) for part, definitions in PARTS.items() for each in definitions]
_ROW = re.compile(r"^\| `(.+?)` \| .+? \| (.+) \|$", re.MULTILINE)
_ELSEWHERE = re.compile(r"Its fields are those of \[(\w+) `(.+?)`\]\((.+?)\.md#\w+\)")


def test_they_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools/fields.py", "--check"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, f"`make reference` writes these anew: {done.stdout}{done.stderr}"


@pytest.mark.parametrize(("part", "definition"), _DEFINITIONS, ids=[each.kind.kind for _, each in _DEFINITIONS])
def test_every_field_of_a_kind_is_there_with_its_meaning(part: str, definition: Definition) -> None:
    schema = render(definition)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    fields = [each for name in ("spec", "status") if name in schema for each in _fields(name, schema[name])]
    for path, description in fields:
        assert " ".join(description.split()).replace("|", r"\|") in _told(part, definition.kind.kind, path), path


def _fields(path: str, schema: Any) -> Iterator[tuple[str, str]]:
    yield path, schema["description"]
    while isinstance(inner := schema.get("items", schema.get("additionalProperties")), dict):
        path, schema = path + ("[]" if "items" in schema else ".*"), inner
    for name, field in schema.get("properties", {}).items():
        yield from _fields(f"{path}.{name}", field)


def _told(part: str, kind: str, path: str) -> str:
    """What a reader finds of a field, on whichever page."""
    rows = _rows(part, kind)
    if path in rows:
        return rows[path]
    nearest = max((each for each in rows if re.match(re.escape(each) + r"(\[\]|\.\*|\.)", path)), key=len)
    elsewhere = _ELSEWHERE.search(rows[nearest])
    assert elsewhere is not None, f"{kind} {path} is not told"
    other, root, page = elsewhere.groups()
    inside = re.sub(r"^(\[\]|\.\*)+", "", path.removeprefix(nearest))
    return _told(page, other, root + inside)


@cache
def _rows(part: str, kind: str) -> dict[str, str]:
    return dict(_ROW.findall(section((ROOT / f"docs/reference/fields/{part}.md").read_text(), f"## {kind}")))
