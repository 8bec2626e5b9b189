"""Compares patches, selectors, durations and tables with Kubernetes' own code over random cases.

    python tools/strategic-oracle/compare.py ORACLE [--seed N] [--cases N] [subject ...]

Where Go's answer depends on the order in which it happens to walk a map, a difference can be chance: such cases are
asked several times, and any of the answers will do.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import orjson
from oracle import Oracle
from patch_cases import json_case, merge_case, strategic_case
from selector_cases import duration_case, fields_case, labels_case
from table_cases import custom_table_case, table_case

Case = Callable[[Oracle, random.Random], tuple[Any, Callable[[], Any], Any]]

SUBJECTS: dict[str, Case] = {
    "strategic": strategic_case,
    "json": json_case,
    "merge": merge_case,
    "labels": labels_case,
    "fields": fields_case,
    "duration": duration_case,
    "custom-table": custom_table_case,
    "table": table_case,
}


def _same(theirs: Any, ours: Any) -> bool:
    return theirs == {"panic": True} or orjson.dumps(theirs, option=orjson.OPT_SORT_KEYS) == orjson.dumps(
        ours, option=orjson.OPT_SORT_KEYS
    )


def main() -> int:
    """Ask, compare, and show the first differences of each subject."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("oracle")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--show", type=int, default=3)
    parser.add_argument("subjects", nargs="*")
    options = parser.parse_args()
    oracle = Oracle(options.oracle)
    wrong = 0
    for subject in options.subjects or SUBJECTS:
        source = random.Random(options.seed)
        different = panics = errors = 0
        for _ in range(options.cases):
            case, ask, ours = SUBJECTS[subject](oracle, source)
            theirs = ask()
            panics += "panic" in theirs
            errors += "error" in theirs
            if _same(theirs, ours) or any(_same(ask(), ours) for _ in range(20)):
                continue
            different += 1
            if different <= options.show:
                print(f"{subject}: {orjson.dumps(case).decode()}\n  theirs {theirs}\n  ours   {ours}")
        print(f"{subject}: {options.cases} cases, {errors} refused, {panics} panics, {different} differ")
        wrong += different
    oracle.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
