"""The recorded answers of PVE 9.2, as the test data has them: one case a line, each of one or more requests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

FOLDER = Path(__file__).parents[2] / "unit" / "simulators" / "proxmox" / "recorded"


@dataclass(frozen=True, slots=True)
class Case:
    """A request, or a few, and what PVE answered."""

    id: str
    title: str
    who: str
    steps: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """The number of the file that it stands in."""
        return self.id.partition(".")[0]


def files() -> dict[str, tuple[Case, ...]]:
    """All cases by the number of their file, in the order in which they were recorded."""
    return {path.name[:2]: _cases(path) for path in sorted(FOLDER.glob("*.jsonl"))}


def _cases(path: Path) -> tuple[Case, ...]:
    found = (orjson.loads(line) for line in path.read_bytes().splitlines())
    return tuple(
        Case(each["case"], each["title"], each["who"], tuple(each["steps"]), tuple(each.get("notes", ())))
        for each in found
    )
