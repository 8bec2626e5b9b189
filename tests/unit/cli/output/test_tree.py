"""Trees on narrow terminals."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from rich.console import Console

from nagaya.cli.output.tree import fits, narrow_tree, paragraph, tree_table
from nagaya.insight.tree.branch import Branch
from nagaya.insight.tree.tree import tree
from unit.insight.scene import START, Scene

NOW = START + timedelta(seconds=60)


def grown() -> Branch:
    scene = Scene()
    counts = {"desiredReplicas": 2, "replicas": 2, "readyReplicas": 1}
    scene.cluster(
        ("Available", "False", "NotAvailable", "* Workers: one of them\n* And more"), status={"workers": counts}
    )
    workers = scene.deployment()
    scene.machine("demo-workers-x-a", workers)
    scene.machine("demo-workers-x-b", workers, deleting=5)
    return tree(scene.picture())


def test_messages_go_below_and_the_first_line_says_where() -> None:
    stream = io.StringIO()
    Console(file=stream, width=100).print(narrow_tree(grown(), NOW, 100))
    lines = stream.getvalue().splitlines()
    assert lines[0].split() == ["NAME", "READY", "STATUS", "REASON", "SINCE"]
    assert lines[1].startswith("Cluster default/demo (simulated)")
    assert lines[1].split()[-4:] == ["1/2", "False", "NotAvailable", "60s"]
    assert lines[2:4] == ["│   * Workers: one of them", "│   * And more"]
    assert [line.split("  ")[0] for line in lines[4:5]] == ["├─SimulatedCluster demo"]
    assert any(line.strip().startswith("└─Machine demo-workers-x-b, v1.36.3 (deleting)") for line in lines)
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("width", "header"),
    [(66, ["NAME", "READY", "STATUS"]), (80, ["NAME", "READY", "STATUS", "REASON"])],
)
def test_columns_give_way_before_names_do(width: int, header: list[str]) -> None:
    stream = io.StringIO()
    Console(file=stream, width=width).print(narrow_tree(grown(), NOW, width))
    lines = stream.getvalue().splitlines()
    assert lines[0].split() == header
    assert "…" not in stream.getvalue()
    assert max(map(len, lines)) <= width


def test_names_give_way_when_it_is_narrower_still() -> None:
    stream = io.StringIO()
    Console(file=stream, width=40).print(narrow_tree(grown(), NOW, 40))
    assert "…" in stream.getvalue()
    assert max(map(len, stream.getvalue().splitlines())) <= 40


def test_a_wide_terminal_gets_the_table() -> None:
    table = tree_table(grown(), NOW)
    assert fits(table, 200)
    assert not fits(table, 120)


def test_paragraphs_keep_lists() -> None:
    assert paragraph("* one two three\n  * four five", 10) == "* one two\n  three\n  * four\n    five"
    assert paragraph("", 10) == ""
    assert paragraph("unbreakable-word", 5) == "unbreakable-word"
