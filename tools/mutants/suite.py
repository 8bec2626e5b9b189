"""Which tests are worth running for a mutant, and whether one of them detects it.

A failure counts only if the test fails twice with the mutant and passes without it; exceeding the time limit counts as
a failure.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from candidates import Mutant, find_sources
from coverage.numbits import register_sqlite_functions
from workspace import ROOT, Workspace

ROUND_TESTS, ROUND_SECONDS = 60, 120.0
"""Tests in one pytest process: a limit for each, so that an early failure saves the rest."""
STARTUP = 60.0
"""Seconds that pytest may take besides the tests themselves."""


class Suite:
    """The tests of a map, and which of them are worth running for a mutant."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path)
        register_sqlite_functions(self._database)
        if self._database.execute("SELECT digest FROM source").fetchone() != (hash_sources(ROOT),):
            raise SystemExit(f"Cannot use {path}: the source changed since. Make the map again.")
        rows = self._database.execute("SELECT name, seconds, shared FROM test").fetchall()
        self.seconds = {name: seconds for name, seconds, _ in rows}
        self._shared = {name: set(json.loads(shared)) for name, _, shared in rows}
        self._reliable: set[str] = set()

    def tests(self, mutant: Mutant) -> tuple[list[str], list[str], bool]:
        """Return the tests that execute the mutant, other tests of its package, and whether anything executes it."""
        lines = range(mutant.first, mutant.last + 1)
        query = "SELECT context FROM line_bits JOIN file ON file.id = file_id JOIN context ON context.id = context_id"
        where = f"path = ? AND ({' OR '.join('num_in_numbits(?, numbits)' for _ in lines)})"
        found = {name for (name,) in self._database.execute(f"{query} WHERE {where}", (mutant.file, *lines))}
        narrow = {test for test, shared in self._shared.items() if test in found or shared & found}
        tiers = (f"tests/unit/{mutant.package}", f"tests/integration/{Path(mutant.package).name}", "tests/simulation")
        wide = [[test for test in self.seconds if test.startswith(f"{tier}/")] for tier in tiers]
        rest = [test for tests in wide for test in self._ordered(tests, mutant) if test not in narrow]
        return self._ordered(narrow, mutant), rest, bool(found)

    def _ordered(self, tests: Iterable[str], mutant: Mutant) -> list[str]:
        """Cheapest first. Near tests count as cheaper, and each further case of the same test as dearer."""
        cases: Counter[str] = Counter()
        cost = {}
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            cases[function := test.split("[")[0]] += 1
            parts = [Path(name).parts[2:] for name in (function.split("::")[0].replace("/test_", "/"), mutant.file)]
            common = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(*parts, strict=False))))
            cost[test] = (self.seconds[test] + 0.05) * cases[function] / (1 + common)
        return sorted(cost, key=lambda test: cost[test])

    def rounds(self, tests: Sequence[str]) -> Iterator[list[str]]:
        """Yield tests for one pytest process at a time, those of a file together."""
        taken: list[str] = []
        for test in [*tests, ""]:
            total = sum(self.seconds[name] for name in taken)
            if taken and (not test or len(taken) == ROUND_TESTS or total + self.seconds[test] > ROUND_SECONDS):
                files = list(dict.fromkeys(name.split("::")[0] for name in taken))
                yield sorted(taken, key=lambda name: files.index(name.split("::")[0]))
                taken = []
            taken.append(test)

    def examine(
        self, mutant: Mutant, plan: tuple[list[str], list[str], bool], workspace: Workspace, options: argparse.Namespace
    ) -> dict[str, Any]:
        """Look for a test that detects the mutant."""
        narrow, wide, executed = plan
        tried: list[str] = []
        doubtful: set[str] = set()
        result = {"id": mutant.id, "package": mutant.package, "file": mutant.file, "line": mutant.line}
        complete = True
        for tests, budget in ((narrow, options.budget), (wide, options.wide)):
            end = time.monotonic() + budget
            for group in self.rounds(tests):
                if time.monotonic() > end:
                    complete = complete and tests is wide
                    break
                while group := [test for test in group if test not in doubtful]:
                    limit = STARTUP + options.timeout_factor * sum(self.seconds[test] for test in group)
                    with workspace.mutated(mutant):
                        status, failed = workspace.check(group, limit)
                        confirmed = status == "timeout" or (failed and workspace.check(failed, limit)[0] != "passed")
                    tried += group
                    if status == "passed":
                        break
                    if confirmed and self._is_reliable(failed, workspace, limit):
                        return {**result, "status": status, "test": failed[0], "tried": len(tried)}
                    doubtful.update(failed)
        status = "survived" if executed else "not executed"
        return {**result, "status": status, "tried": len(tried), "complete": complete, "doubtful": sorted(doubtful)}

    def _is_reliable(self, tests: Sequence[str], workspace: Workspace, limit: float) -> bool:
        if not self._reliable.issuperset(tests) and workspace.check(tests, limit)[0] == "passed":
            self._reliable.update(tests)
        return self._reliable.issuperset(tests)


def hash_sources(root: Path) -> str:
    """Hash what mutants are drawn from: a map is valid for one source."""
    return hashlib.sha256(b"".join(path.read_bytes() for _, path in find_sources(root))).hexdigest()
