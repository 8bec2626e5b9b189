"""The page about the linter lists every check, as it is."""

from __future__ import annotations

import re
from pathlib import Path

from nagaya.cloud.lint.catalog import CHECKS

PAGE = Path(__file__).parents[4] / "docs" / "lint.md"


def test_every_check_is_listed_with_what_it_says_at_worst() -> None:
    rows = re.findall(r"^\| (L\d+b?) \| (\w+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)

    assert rows == [(each.id, str(each.worst), each.title) for each in CHECKS]
