"""Fixtures and settings for every tier."""

import asyncio
import signal
from collections.abc import Iterator

import pytest

from nagaya.cli import heap
from support.real import real_control_plane
from support.thoroughness import THOROUGH, deselect_exhaustive, load_hypothesis_profile
from support.tls_close import abort_closing_connections

# Otherwise the loop that asyncio makes on demand for synchronous tests is never closed by anyone.
asyncio.set_event_loop(None)
abort_closing_connections()

# A shell that starts the tests in the background makes them, and every program that they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

load_hypothesis_profile()

pytest_plugins = ["support.costs", "support.scheduling"]

__all__ = ["real_control_plane"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    deselect_exhaustive(config, items)


def pytest_collection_finish() -> None:
    """Collect garbage as rarely as Nagaya's own processes do. `make test-all` keeps Python's setting.

    Collections take 8 % of the CPU time of a simulation otherwise. Frequent collections find tasks that
    nothing refers to, which is worth the time where time does not matter.
    """
    if not THOROUGH:
        heap.settle()


@pytest.fixture(scope="session", autouse=True)
def loopback_allowed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tenants and Proxmox VE are in tests listens on loopback. Endpoints are published among tests alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAGAYA_ALLOWED_ENDPOINTS", "127.0.0.0/8,::1")
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data-home")))
        yield


@pytest.fixture(scope="session", autouse=True)
def kubectl_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """kubectl remembers what a server has by its address and port, which servers of other test runs have had before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECACHEDIR", str(tmp_path_factory.mktemp("kubectl-cache")))
        yield
