"""The dashboard and the alerts use figures that are told, and the page names each alert."""

from __future__ import annotations

import json
import re

import yaml

from docs.page import ROOT

FOLDER = ROOT / "docs/observability"
ALERTS = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
_ROW = re.compile(r"^\| `([a-z_]+)` \| (\w+) \|", re.MULTILINE)
_NAME = re.compile(r"\b((?:capi|nagaya|workqueue|controller_runtime|rest_client|leader_election|apiserver)_[a-z_]+)\b")


def _told() -> set[str]:
    found = set()
    for name, kind in _ROW.findall((ROOT / "docs/reference/metrics.md").read_text()):
        found |= {f"{name}_{part}" for part in ("bucket", "sum", "count")} if kind == "histogram" else {name}
    return found


def test_the_dashboard_asks_for_figures_that_are_told() -> None:
    asked = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    assert len(asked) > 15
    for expression in asked:
        names = _NAME.findall(expression)
        assert names, expression
        assert set(names) <= _told(), expression


def test_alerts_ask_for_figures_that_are_told_and_say_what_to_do() -> None:
    rules = [rule for group in ALERTS for rule in group["rules"]]
    assert rules
    for rule in rules:
        assert set(_NAME.findall(rule["expr"])) <= _told(), rule
        assert _NAME.findall(rule["expr"]), rule
        assert rule["labels"]["severity"] in ("info", "warning", "critical"), rule
        assert rule["annotations"]["summary"].endswith("."), rule
        assert rule["annotations"]["runbook"], rule


def test_every_alert_is_on_the_page() -> None:
    page = (ROOT / "docs/observability.md").read_text()
    listed = re.findall(r"^\| `([A-Z]\w+)` \|", page, re.MULTILINE)
    assert listed == [rule["alert"] for group in ALERTS for rule in group["rules"]]
