"""Measure what the tests detect: change the source in small ways and see whether a test fails.

    .venv/bin/python tools/mutants draw --seed 15 --count 200 > mutants.jsonl
    .venv/bin/python tools/mutants map --output before.map -- -n 4 --dist=loadscope tests
    .venv/bin/python tools/mutants run --mutants mutants.jsonl --map before.map --results before.jsonl

The drawn mutants are a function of the source and the seed. To compare two versions of the test suite, draw once, then
run `map` and `run` for each version on the same source. `run` continues where it was interrupted, and prints the share
of detected mutants at the end.

`map` runs the tests once and records which test executes which line. `run` takes the tests that execute the mutated
line, the cheapest and nearest first, until one fails. If none does, it takes other tests of the same package and the
simulation, because the map does not see subprocesses. A failure counts only if the test fails twice with the mutant
and passes without it; exceeding the time limit counts as a failure. Both commands work in a copy of the checkout with
its own virtual environment, so subprocesses import the copy too and the checkout itself is never changed.

Modules: `candidates` finds and draws mutants, `workspace` is the copy, `suite` chooses and runs tests, `plugins` work
inside pytest.
"""

from __future__ import annotations

import argparse
import json
import queue
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any

from candidates import PACKAGES, Mutant, draw
from coverage import CoverageData
from suite import Suite, hash_sources
from workspace import ROOT, Stopped, Workspace


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Provide a folder for copies of the checkout."""
    return tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True)


def print_drawn(options: argparse.Namespace) -> None:
    """`draw`: print one mutant per line."""
    for mutant in draw(ROOT, options.package or PACKAGES, options.count, options.seed):
        print(json.dumps(mutant._asdict()))


def write_map(options: argparse.Namespace) -> None:
    """`map`: run the tests with coverage and combine what the processes recorded."""
    options.output.unlink(missing_ok=True)
    with scratch() as folder:
        workspace, recorded = Workspace(Path(folder, "0")), Path(folder, "map")
        recorded.mkdir()
        environment = {"MUTANTS_MAP": str(recorded), "MUTANTS_PACKAGES": " ".join(PACKAGES)}
        workspace.pytest(*options.pytest, quiet=False, **environment)
        combined = CoverageData(str(options.output))
        for path in recorded.glob("lines.*"):
            part = CoverageData(str(path))
            part.read()
            combined.update(part)
        combined.close()
        rows = [json.loads(line) for path in recorded.glob("*.jsonl") for line in path.read_text().splitlines()]
        digest = hash_sources(workspace.path)
    with sqlite3.connect(options.output) as database:
        database.execute("CREATE TABLE source (digest TEXT)")
        database.execute("INSERT INTO source VALUES (?)", (digest,))
        database.execute("CREATE TABLE test (name TEXT PRIMARY KEY, seconds REAL, shared TEXT)")
        passed = [(row["name"], row["seconds"], json.dumps(row["shared"])) for row in rows if row["passed"]]
        database.executemany("INSERT OR REPLACE INTO test VALUES (?, ?, ?)", passed)
    print(f"{options.output}: {len(passed)} tests; {len(rows) - len(passed)} left out, because they did not pass.")


def run(options: argparse.Namespace) -> None:
    """`run`: examine the mutants that have no result yet, then print the table."""
    mutants = [Mutant(**json.loads(line)) for line in options.mutants.read_text().splitlines()]
    path = options.results or options.map.with_suffix(".results.jsonl")
    earlier = path.read_text().splitlines() if path.exists() else []
    results = {result["id"]: result for result in map(json.loads, earlier)}
    suite, pending = Suite(options.map), queue.SimpleQueue[tuple[Mutant, Any]]()
    for mutant in mutants:
        if mutant.id not in results:
            pending.put((mutant, suite.tests(mutant)))

    def work(workspace: Workspace) -> None:
        with suppress(Stopped, queue.Empty):
            while True:
                result = suite.examine(*pending.get_nowait(), workspace, options)
                results[result["id"]] = result
                with path.open("a") as stream:
                    stream.write(json.dumps(result) + "\n")
                print(
                    f"{len(results)}/{len(mutants)} {result['status']}: {result['id']} {result.get('test', '')}",
                    flush=True,
                )

    with scratch() as folder, ThreadPoolExecutor(options.jobs) as pool:
        workspaces = [Workspace(Path(folder, str(number))) for number in range(0 if pending.empty() else options.jobs)]
        try:
            for future in as_completed([pool.submit(work, workspace) for workspace in workspaces]):
                future.result()
        finally:
            for workspace in workspaces:
                workspace.stop()
    print_table([results[mutant.id] for mutant in mutants if mutant.id in results])


def print_table(results: Sequence[dict[str, Any]]) -> None:
    """Print the share of detected mutants for every package."""
    print(f"{'package':24}{'mutants':>9}{'detected':>10}{'share':>8}")
    for package in (*PACKAGES, "all"):
        statuses = [result["status"] for result in results if package in ("all", result["package"])]
        if statuses:
            detected = sum(status in ("killed", "timeout") for status in statuses)
            print(f"{package:24}{len(statuses):9}{detected:10}{detected / len(statuses):8.1%}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("draw", help="print mutants, one JSON object per line")
    command.set_defaults(command=print_drawn)
    command.add_argument("--seed", type=int, default=15, help="another seed draws other mutants (default: %(default)s)")
    command.add_argument("--count", type=int, default=200, help="number of mutants (default: %(default)s)")
    command.add_argument("--package", action="append", choices=PACKAGES, help="only this package (repeatable)")
    command = commands.add_parser("map", help="run the tests and record which test executes which line")
    command.set_defaults(command=write_map)
    command.add_argument("--output", type=Path, required=True, help="file to write")
    command.add_argument("pytest", nargs="*", metavar="-- PYTEST ARGUMENTS", help="tests, and options such as -n 4")
    command = commands.add_parser("run", help="examine mutants and print the share that the tests detect")
    command.set_defaults(command=run)
    command.add_argument("--mutants", type=Path, required=True, help="file that `draw` printed")
    command.add_argument("--map", type=Path, required=True, help="file that `map` wrote")
    command.add_argument("--results", type=Path, help="file to continue (default: beside the map, .results.jsonl)")
    command.add_argument("--jobs", type=int, default=1, help="mutants examined at a time (default: %(default)s)")
    command.add_argument(
        "--timeout-factor", type=float, default=5.0, help="time limit as a multiple of the recorded time (%(default)s)"
    )
    command.add_argument(
        "--budget", type=float, default=300.0, help="seconds for tests that execute a mutant (default: %(default)s)"
    )
    command.add_argument(
        "--wide", type=float, default=60.0, help="seconds for other tests of the package (default: %(default)s)"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        options.command(options)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
