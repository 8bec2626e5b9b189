"""Plugins for the pytest processes: one records which test executes which line, one runs a selection of tests."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage


class Recorder:
    """Pytest plugin of `map`: one coverage context per test, and one per fixture that several tests share."""

    def __init__(self, folder: Path) -> None:
        self._tests, self._contexts = folder / f"{os.getpid()}.jsonl", [""]
        self._seconds, self._outcomes = 0.0, set[str]()
        packages = os.environ["MUTANTS_PACKAGES"].split()
        include = [str(Path.cwd() / "src/nagaya" / package / "*") for package in packages]
        self._coverage = Coverage(folder / "lines", data_suffix=True, config_file=False, include=include)
        self._coverage.set_option("run:relative_files", True)
        self._coverage.set_option("run:disable_warnings", ["no-data-collected"])
        self._coverage.start()

    @contextmanager
    def _context(self, name: str) -> Iterator[None]:
        self._contexts.append(name)
        self._coverage.switch_context(name)
        try:
            yield
        finally:
            self._contexts.pop()
            self._coverage.switch_context(self._contexts[-1])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Iterator[None]:
        name = re.sub(r"@[^\]]*$", "", item.nodeid)  # xdist appends the name of a group
        fixtures = [found[-1] for found in item._fixtureinfo.name2fixturedefs.values()]
        shared = [f"module {item.path}"]
        shared += (_fixture(fixture) for fixture in fixtures if fixture.scope != "function")
        self._seconds, self._outcomes = 0.0, set()
        with self._context(name):
            result = yield
        row = {"name": name, "seconds": self._seconds, "shared": shared, "passed": self._outcomes == {"passed"}}
        with self._tests.open("a") as stream:
            print(json.dumps(row), file=stream)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        with self._context(self._contexts[-1] if fixturedef.scope == "function" else _fixture(fixturedef)):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        """The last test of a file also ends what its file shares."""
        is_last = nextitem is None or nextitem.path != item.path
        with self._context(f"module {item.path}" if is_last else self._contexts[-1]):
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds += report.duration
        self._outcomes.add(report.outcome)

    def pytest_unconfigure(self) -> None:
        self._coverage.stop()
        self._coverage.save()


def _fixture(definition: Any) -> str:
    return f"fixture {definition.baseid}::{definition.argname}"


class Selector:
    """Pytest plugin of `run`: only the selected tests, in the order of the selection."""

    def __init__(self, path: Path) -> None:
        self._order = {test: number for number, test in enumerate(json.loads(path.read_text()))}
        self._failures = path.with_suffix(".failed")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self._order), key=lambda item: self._order[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            with self._failures.open("a") as stream:
                print(report.nodeid, file=stream)

    pytest_collectreport = pytest_runtest_logreport


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Register the plugin that the environment asks for."""
    for variable, plugin in (("MUTANTS_MAP", Recorder), ("MUTANTS_SELECT", Selector)):
        if path := os.environ.get(variable):
            early_config.pluginmanager.register(plugin(Path(path)))
