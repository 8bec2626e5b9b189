"""Marks the unit tests that `make check` leaves out.

tests/unit/slow.txt lists them, as measured on a machine that does nothing else. A test that is not listed counts as
quick. To measure again: `pytest -n 2 --times FOLDER/unit.jsonl tests/unit`, and then `tools/run_tests.py slow FOLDER >
tests/unit/slow.txt`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

_HERE = Path(__file__).parent
_SLOW = frozenset((_HERE / "slow.txt").read_text().splitlines())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.split("[")[0] in _SLOW:
            item.add_marker(pytest.mark.slow)
    if config.option.markexpr == "not slow" and all(item.get_closest_marker("slow") for item in items):
        config.option.markexpr = ""  # a package that has only slow tests is not left untested
