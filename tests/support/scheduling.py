"""Which tests one worker of pytest-xdist runs together (`--dist=loadscope`).

A file of the real tier starts servers that its tests share, and so does any file with a fixture for the whole module;
all tests of `real_control_plane` share one server. Each starts once per run if one worker runs all of them. Every other
test goes to the worker that is free, those of files with long tests first: if the last test is a long one, all other
workers wait for it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

_ROOT = Path(__file__).parents[2]
_SHARED_SERVER = "real_control_plane"
"""The fixture, and the group of the tests that use it."""
_ON_REAL_SERVER = re.compile(r"\[(?:[^\]]*-)?real(?:-[^\]]*)?\]$")
"""The id of a scenario that runs on the real server (servers.py)."""

_MODULE_FIXTURE = '@pytest.fixture(scope="module"'


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Distributes tests by what they share."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def scope_of(nodeid: str) -> str:
    """The name of the group that a test belongs to; its own id if it shares nothing."""
    file = nodeid.split("::")[0]
    if file.startswith("tests/real/"):
        return _SHARED_SERVER if _uses_shared_server(file) else file
    if _ON_REAL_SERVER.search(nodeid) or nodeid.split("::")[-1] in _users_of_shared_server(file):
        return _SHARED_SERVER
    return file if _shares_fixture(file) else nodeid


@cache
def _users_of_shared_server(file: str) -> frozenset[str]:
    """Find the tests that have the fixture as a parameter."""
    return frozenset(re.findall(rf"def (test_\w+)\([^)]*\b{_SHARED_SERVER}\b", (_ROOT / file).read_text()))


@cache
def _shares_fixture(file: str) -> bool:
    return _MODULE_FIXTURE in (_ROOT / file).read_text()


@cache
def _uses_shared_server(file: str) -> bool:
    return f"{_SHARED_SERVER}:" in (_ROOT / file).read_text()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    return Scheduling(config, log) if config.getoption("dist") == "loadscope" else None


def pytest_configure_node(node: Any) -> None:
    """Pass `--dist` to the workers, whose own option is always `no`."""
    node.workerinput["dist"] = node.config.getoption("dist")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put files with long tests first. Files stay whole, because their tests share fixtures."""
    if getattr(config, "workerinput", {}).get("dist") == "loadscope":
        long = {item.path for item in items if item.get_closest_marker("long")}
        items.sort(key=lambda item: item.path not in long)
