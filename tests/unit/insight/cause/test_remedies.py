"""Remedies are for reasons that exist: each is a reason in the tables of the reference, of the kind that it is for."""

from __future__ import annotations

import re

from docs.page import ROOT, section
from nagaya.insight.cause import condition
from nagaya.insight.cause.remedies import REMEDIES

PAGE = (ROOT / "docs/reference/conditions.md").read_text()


def _reasons(kind: str) -> set[str]:
    return set(re.findall(r"^\| `(\w+)` \|", section(PAGE, f"## {kind}"), re.MULTILINE))


def test_every_remedy_is_for_a_reason_that_the_reference_explains() -> None:
    unknown = [key for key in REMEDIES if key[1] not in _reasons(key[0])]
    assert unknown == []


def test_no_reason_is_both_work_and_somebodys_business() -> None:
    assert set() == condition._WORKING & condition._HELD


def test_remedies_are_sentences() -> None:
    for key, text in REMEDIES.items():
        assert text[0].isupper(), key
        assert text.endswith((".", "?")), key
