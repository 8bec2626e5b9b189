"""Records how Kubernetes prints built-in objects, for the unit tests of tables.

    python tools/strategic-oracle/record_tables.py ORACLE > tests/unit/apiserver/table/builtin/recorded.jsonl

Each line has a kind, an object, its cells, and the time at which they were made; the first of a kind has its columns.
Of many random objects the ones are kept that show the most different cells in the least space.
"""

from __future__ import annotations

import random
import sys
from datetime import UTC, datetime
from typing import Any

import orjson
from oracle import Oracle
from table_cases import TABLE_KINDS, random_object

_TRIES = 300
_KEPT = 4
_LARGEST = 1200


def main() -> int:
    """Record a few objects of every kind."""
    oracle = Oracle(sys.argv[1])
    source = random.Random(1)
    for kind in TABLE_KINDS:
        seen: set[bytes] = set()
        for where, obj, cells in _best(oracle, source, kind):
            cell_key = orjson.dumps(cells)
            if cell_key in seen:
                continue
            seen.add(cell_key)
            line = {**where, "now": datetime.now(UTC).isoformat(timespec="seconds"), "object": obj, "cells": cells}
            if len(seen) == 1:
                line["columns"] = [
                    [column[member] for member in ("name", "type", "format", "priority")]
                    for column in oracle.ask("columns", **where)["columns"]
                ]
            sys.stdout.write(orjson.dumps(line).decode() + "\n")
            if len(seen) == _KEPT:
                break
    oracle.close()
    return 0


def _best(oracle: Oracle, source: random.Random, kind: tuple[str, str, str]) -> list[tuple[Any, Any, Any]]:
    found = []
    for _ in range(_TRIES):
        where, obj, ask = random_object(oracle, source, kind)
        obj.pop("kind", None)
        obj.pop("apiVersion", None)
        size = len(orjson.dumps(obj))
        answer = ask()
        if size < _LARGEST and "cells" in answer:
            told = sum(cell not in ("", None, 0, False) and "<" not in str(cell) for cell in answer["cells"])
            found.append((told * 100 - size / 20, where, obj, answer["cells"]))
    found.sort(key=lambda each: -each[0])
    return [each[1:] for each in found]


if __name__ == "__main__":
    sys.exit(main())
