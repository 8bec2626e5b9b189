"""Every figure that a process tells is in the reference, with its type and labels, and none that is not told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn, cast

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from docs.page import ROOT, section
from nagaya.apiserver.server import ApiServer, Config
from nagaya.clusters.state_metrics import StateMetrics
from nagaya.infrastructure.proxmox.client import ClientMetrics
from nagaya.infrastructure.proxmox.client.errors import ProxmoxError
from nagaya.kube.cache.cache import Cache
from nagaya.kube.connection import Connection
from nagaya.kube.metrics import Metrics
from nagaya.kube.remote import Remotes
from nagaya.world import World

PAGE = (ROOT / "docs/reference/metrics.md").read_text()
KNOWN = {
    "apiserver/web/metrics.py",
    "kube/metrics.py",
    "infrastructure/proxmox/client/metrics.py",
    "clusters/state_metrics.py",
}
"""All modules that make figures."""

Row = tuple[str, str, tuple[str, ...]]


def _told(heading: str) -> set[Row]:
    found = re.findall(r"^\| `([a-z_]+)` \| (\w+) \|([^|]*)\|", section(PAGE, heading), re.MULTILINE)
    return {(name, kind, tuple(re.findall(r"`(\w+)`", labels))) for name, kind, labels in found}


def _made(registry: CollectorRegistry, labels: dict[str, tuple[str, ...]] | None = None) -> set[Row]:
    return {_row(family, labels or _labels(registry)) for family in registry.collect()}


def _row(family: Metric, labels: dict[str, tuple[str, ...]]) -> Row:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    return name, family.type, labels[family.name]


def _labels(registry: CollectorRegistry) -> dict[str, tuple[str, ...]]:
    """Those that collectors were made with; of figures that are read when somebody looks, those of a sample."""
    found: dict[str, tuple[str, ...]] = {}
    for collector in {*registry._collector_to_names}:  # the library has no public way to them
        if hasattr(collector, "_labelnames"):
            found |= {each.name: tuple(collector._labelnames) for each in collector.collect()}
        else:
            found |= {each.name: tuple(each.samples[0].labels) if each.samples else () for each in collector.collect()}
    return found


def test_the_figures_of_controllers_are_documented() -> None:
    assert _told("## Controllers") == _made(Metrics().registry)


def test_the_figures_of_clusters_and_machines_are_documented() -> None:
    class EveryKind:
        def has(self, kind: object) -> bool:
            return True

        def list(self, kind: object) -> list[object]:
            return []

    world = World()
    told = StateMetrics(cast(Cache, EveryKind()), Remotes(_nowhere, world))
    made = {(each.name, each.type, tuple(each._labelnames)) for each in told.collect()}
    assert _told("## Clusters and machines") == made


def _nowhere(connection: Connection) -> NoReturn:
    raise AssertionError("nobody wants a tenant here")


def test_the_figures_of_proxmox_are_documented() -> None:
    assert _told("## Proxmox VE") == _made(ClientMetrics().registry)


async def test_the_figures_of_the_management_api_are_documented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registries: list[CollectorRegistry] = []

    class Remembered(CollectorRegistry):
        def __init__(self) -> None:
            super().__init__()
            registries.append(self)

    monkeypatch.setattr("nagaya.apiserver.web.metrics.CollectorRegistry", Remembered)
    server = await ApiServer.start(Config(data_dir=tmp_path, metrics=True), World())
    await server.listen()
    try:
        (registry,) = registries
        assert _told("## The management API") == _made(registry)
    finally:
        await server.stop()


def test_every_kind_of_error_is_documented() -> None:
    rows = set(re.findall(r"^\| `(\w+)` \| [^|]+ \|$", section(PAGE, "## Proxmox VE"), re.MULTILINE))
    assert rows == {each.kind for each in _errors(ProxmoxError)}


def _errors(kind: type[ProxmoxError]) -> Iterator[type[ProxmoxError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _errors(each)


def test_no_other_module_makes_figures() -> None:
    """Whoever adds one adds it here, and to the page."""
    room = ROOT / "src/nagaya"
    makes = re.compile(
        r"^from prometheus_client(\.core)? import .*(Counter|Gauge|Histogram|Summary|Info|Enum)", re.MULTILINE
    )
    found = {str(path.relative_to(room)) for path in room.rglob("*.py") if makes.search(path.read_text())}
    assert found == KNOWN
