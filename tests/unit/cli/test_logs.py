from __future__ import annotations

import asyncio
import json
import logging

from nagaya.cli.logs import JsonLines, TextLines
from nagaya.kube.controller import Controller
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from support.crates import COLLECTION, CRATES
from support.kube import FakeServer
from support.virtual_run import run, virtual_world

log = logging.getLogger("yard")


class Kept(logging.Handler):
    """Formats lines when they are written, as a real handler does."""

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


def owned_by(name: str, kind: str = "Crate", version: str = "example.org/v1") -> dict[str, object]:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


def lines_of(formatter: logging.Formatter, *owners: tuple[str, str], fails: bool = False) -> list[str]:
    """What is logged while crate `a` is reconciled. Each of `owners` names an object and who owns it."""
    kept = Kept(formatter)

    async def reconcile(key: Key) -> None:
        if key.name == "a":
            log.warning("its lid is open")
            if fails:
                raise OSError("the lid is stuck")

    async def main() -> None:
        server, world = FakeServer(), virtual_world()
        version = f"{CRATES.group}/{CRATES.version}" if CRATES.group else CRATES.version
        whose = {name: [owned_by(owner, CRATES.kind, version)] for name, owner in owners}
        for name in {"a", *(each for pair in owners for each in pair)}:
            server.put(COLLECTION, "n", name, metadata={"ownerReferences": whose.get(name, [])})
        manager = Manager(server.client(world), world)
        manager.add(Controller("crates", CRATES, reconcile, workers=1))
        await manager.start()
        if fails:
            await asyncio.sleep(1.0)  # it never is idle: it is tried again and again
        else:
            await manager.idle()
        await manager.stop()

    root = logging.getLogger()
    root.addHandler(kept)
    try:
        run(main())
    finally:
        root.removeHandler(kept)
    return kept.lines


def test_a_line_says_which_object_whose_it_is_and_in_which_reconcile() -> None:
    (line,) = lines_of(TextLines(), ("a", "b"), ("b", "c"))
    kind = CRATES.kind
    assert "WARNING yard: its lid is open" in line
    assert line.split(" [")[1].rpartition("-")[0] == f"{kind} n/a of {kind}/b of {kind}/c, crates"


def test_json_has_the_same_as_fields() -> None:
    (line,) = lines_of(JsonLines(), ("a", "b"))
    said = json.loads(line)
    assert said["level"] == "warning"
    assert said["message"] == "its lid is open"
    assert said["object"] == {"kind": CRATES.kind, "namespace": "n", "name": "a"}
    assert said["owners"] == [f"{CRATES.kind}/b"]
    assert said["reconcileID"].startswith("crates-")


def test_a_failed_reconcile_is_one_line_of_json_with_its_trace() -> None:
    told, failed = (json.loads(each) for each in lines_of(JsonLines(), fails=True)[:2])
    assert "OSError: the lid is stuck" in failed["message"]
    assert "Traceback" in failed["trace"]
    assert told["reconcileID"] == failed["reconcileID"]


def test_owners_in_a_circle_end() -> None:
    (line,) = lines_of(JsonLines(), ("a", "b"), ("b", "a"))
    assert len(json.loads(line)["owners"]) == 8


def test_outside_of_a_reconcile_a_line_is_about_nothing() -> None:
    record = logging.LogRecord("yard", logging.INFO, "", 0, "the gate is %s", ("open",), None)
    assert TextLines().format(record).endswith("INFO yard: the gate is open")
    assert set(json.loads(JsonLines().format(record))) == {"time", "level", "logger", "message"}
