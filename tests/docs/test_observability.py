"""The dashboard and the alerts use figures that are told, and the page names each alert."""

from __future__ import annotations

import json
import re

import click
import yaml

from docs.page import ROOT
from nagaya.cli.main import main

FOLDER = ROOT / "docs/observability"
ALERTS = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
RULES = [rule for group in ALERTS for rule in group["rules"]]
PAGE = (ROOT / "docs/reference/metrics.md").read_text()
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
_ROW = re.compile(r"^\| `([a-z_]+)` \| (\w+) \|", re.MULTILINE)
_NAME = re.compile(r"\b((?:capi|nagaya|workqueue|controller_runtime|rest_client|leader_election|apiserver)_[a-z_]+)\b")


def _asked() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]


def _labels() -> dict[str, set[str]]:
    rows = re.findall(r"^\| `([a-z_]+)` \| \w+ \|([^|]*)\|", PAGE, re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}


def _family(name: str) -> str:
    return name if name in _labels() else re.sub(r"_(bucket|sum|count)$", "", name)


def _told() -> set[str]:
    found = set()
    for name, kind in _ROW.findall(PAGE):
        found |= {f"{name}_{part}" for part in ("bucket", "sum", "count")} if kind == "histogram" else {name}
    return found


def test_the_dashboard_asks_for_figures_that_are_told() -> None:
    assert len(_asked()) > 15
    for expression in _asked():
        names = _NAME.findall(expression)
        assert names, expression
        assert set(names) <= _told(), expression


def test_alerts_ask_for_figures_that_are_told_and_say_what_to_do() -> None:
    assert RULES
    for rule in RULES:
        assert set(_NAME.findall(rule["expr"])) <= _told(), rule
        assert _NAME.findall(rule["expr"]), rule
        assert rule["labels"]["severity"] in ("info", "warning", "critical"), rule
        assert rule["annotations"]["summary"].endswith("."), rule
        assert rule["annotations"]["description"], rule


def test_dashboard_and_alerts_ask_for_labels_that_their_figures_have() -> None:
    for expression in [*_asked(), *(rule["expr"] for rule in RULES)]:
        for name, inside in re.findall(r"\b([a-z_]+)\{([^}]*)\}", expression):
            assert set(re.findall(r"(\w+)(?:=~|!=|!~|=)", inside)) <= _labels()[_family(name)], expression
        grouped = {
            each.strip() for group in re.findall(r"(?:by|on) \(([^)]*)\)", expression) for each in group.split(",")
        }
        there = set.intersection(*(_labels()[_family(name)] for name in _NAME.findall(expression)))
        assert grouped - {"le"} <= there, expression


def test_what_alerts_tell_of_is_in_their_labels() -> None:
    for rule in RULES:
        there = set.intersection(*(_labels()[_family(name)] for name in _NAME.findall(rule["expr"])))
        grouped = re.search(r"by \(([^)]*)\)", rule["expr"])
        left = {each.strip() for each in grouped[1].split(",")} if grouped else there
        used = re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))
        assert set(used) <= left, rule


def test_every_alert_has_its_section_which_it_leads_to() -> None:
    page = (ROOT / "docs/observability.md").read_text()
    sections = re.findall(r"^### (\w+)$", page.partition("## Alerts")[2], re.MULTILINE)
    assert sections == [rule["alert"] for rule in RULES]
    for rule in RULES:
        assert rule["annotations"]["runbook"] == f"docs/observability.md#{rule['alert'].lower()}"


def test_commands_of_alerts_exist() -> None:
    for rule in RULES:
        for words in re.findall(r"\bnagaya ((?:[a-z]+ ?)+)", rule["annotations"]["description"]):
            command: click.Command | None = main
            for word in words.split():
                if not isinstance(command, click.Group):
                    break
                command = command.get_command(click.Context(command), word)
            assert command is not None, rule
