"""Records what each test costs, for the budget that `make test` prints (tools/run_tests.py).

With `--times FILE` a run appends one JSON line per test to FILE: its node id, outcome, wall seconds of set-up, call and
tear-down, CPU seconds of its process and of the children that it waited for, seconds in which its process waited for a
processor, the reason if it was skipped, and the reason that a long test states (`@pytest.mark.long("...")`). Fixtures
that several tests share count for the first one.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from _pytest.subtests import SubtestReport

_STARTED = pytest.StashKey[tuple[float, float, float]]()
_SCHEDULER = Path("/proc/self/schedstat")
_PROPERTY = "nagaya-times"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--times", metavar="FILE", help="append a JSON line per test to FILE: outcome, seconds, CPU seconds"
    )


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--times")
    if file and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(Path(file)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    item.stash[_STARTED] = (time.perf_counter(), _cpu_seconds(), _delay_seconds())
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    if call.when == "teardown":
        began, cpu, delay = item.stash[_STARTED]
        marker = item.get_closest_marker("long")
        measured = {
            "seconds": round(time.perf_counter() - began, 3),
            "cpu": round(_cpu_seconds() - cpu, 3),
            "delay": round(_delay_seconds() - delay, 3),
            "stated": marker.args[0] if marker else None,
        }
        item.user_properties.append((_PROPERTY, measured))
    return (yield)


def _cpu_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _delay_seconds() -> float:
    """Seconds in which the main thread could have run, but others did; 0 where the kernel does not count them."""
    try:
        return int(_SCHEDULER.read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


class _Writer:
    """Runs where the reports of all workers arrive."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("a")
        self._outcomes: dict[str, tuple[str, str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed or (report.skipped and not isinstance(report, SubtestReport)):
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            if self._outcomes.get(report.nodeid, ("",))[0] != "failed":
                self._outcomes[report.nodeid] = (report.outcome, why.removeprefix("Skipped: "))
        # Of a worker that crashed comes one report, of no phase.
        if report.when not in ("teardown", "???") or isinstance(report, SubtestReport):
            return
        outcome, why = self._outcomes.pop(report.nodeid, ("passed", ""))
        measured = dict(report.user_properties).get(_PROPERTY) or {
            "seconds": report.duration,
            "cpu": 0.0,
            "delay": 0.0,
            "stated": None,
        }
        line = {"test": report.nodeid, "outcome": outcome, "reason": why, **measured}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def pytest_unconfigure(self) -> None:
        self._file.close()
