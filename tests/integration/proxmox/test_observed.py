"""What the dashboard and the alerts ask for is told by a plane that has a cluster on Proxmox VE."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml
from prometheus_client.samples import Sample

from support.proxmox_town import play, town
from support.proxmox_town_life import CREATE, live
from support.proxmox_town_manifests import Shop

FOLDER = Path(__file__).parents[3] / "docs/observability"
_MATCHER = re.compile(r'(\w+)(=~|!=|=)"([^"]*)"')
_NAME = re.compile(r"\b((?:capi|nagaya|workqueue|controller_runtime|rest_client)_[a-z_]+)(?:\{([^}]*)\})?")
_AT_TIMES = {"nagaya_proxmox_oldest_task_timestamp_seconds"}
"""What is there only while something is under way."""


def asked() -> set[tuple[str, str]]:
    """Figures with what is asked of their labels."""
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    rules = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0]["rules"]
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    expressions += [rule["expr"] for rule in rules]
    found = [each for expression in expressions for each in _NAME.findall(expression.replace("$namespace", ".*"))]
    assert len(found) > 20
    return set(found)


def fits(sample: Sample, name: str, matchers: str) -> bool:
    if sample.name != name:
        return False
    for label, how, value in _MATCHER.findall(matchers):
        there = sample.labels[label]
        good = re.fullmatch(value, there) is not None if how == "=~" else (there == value) is (how == "=")
        if not good:
            return False
    return True


def test_every_figure_of_the_dashboard_and_the_alerts_is_told_with_its_labels() -> None:
    async def main() -> list[Sample]:
        async with town(Shop(1, 1)) as here:
            await here.begin()
            await live(here, (CREATE,))
            return [sample for family in here.plane.metrics.registry.collect() for sample in family.samples]

    samples = play(main())
    missing = {
        f"{name}{{{matchers}}}" if matchers else name
        for name, matchers in asked()
        if not any(fits(each, name, matchers) for each in samples)
    }
    assert missing == _AT_TIMES
