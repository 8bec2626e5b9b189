"""What machines on Proxmox VE cost: a cluster on an emulated data center gets 100 workers at once, and loses them.

The data center takes the times of a modest real one: seconds for a linked clone, minutes for a copy, 20 s for a boot.
Beside each run stands its floor: what an ideal client needs that makes the same machines there, with as many clones at
a time, sees the end of each task at once, and never looks at anything. On virtual time only waiting takes time, so the
ratio is what is lost by looking too late. A smaller run on the machine's own time, over HTTPS, shows that it holds
there. Every request is noted, and none may come sooner after another of its kind than the documentation promises.

    python benchmarks/proxmox.py [--machines 100] [--hosts 8] [--wall 12] [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))  # what is promised is written down there

from support.proxmox_request_log import PROMISES

AIM = 1.2
"""How many times the floor may be needed."""
REST = 600.0
"""Seconds for which `proxmox_load.py` watches a cluster at rest."""
CHANGES = ("POST", "PUT", "DELETE")
WALL_HOSTS = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """One run, as its process told it."""

    name: str
    machines: int
    hosts: int
    told: dict[str, Any]

    @property
    def ratio(self) -> float:
        """How many times the floor was needed."""
        return float(self.told["made"] / self.told["floor"])

    def per_machine(self, what: str) -> float:
        """Of requests or writes, how many for each machine."""
        return float(sum(self.told[what].values()) / self.machines)

    @property
    def changes(self) -> float:
        """Requests for each machine that change something."""
        made = sum(count for route, count in self.told["requests"].items() if route.startswith(CHANGES))
        return float(made / self.machines)


def measure(name: str, machines: int, hosts: int, *, full: bool, wall: bool) -> Measured:
    """A run in a process of its own, so that none has the memory of another."""
    order = {"machines": machines, "hosts": hosts, "full": full, "wall": wall}
    print(f"{name}: {machines} machines on {hosts} hosts ...", file=sys.stderr)
    done = subprocess.run(
        [sys.executable, HERE / "proxmox_load.py"], input=json.dumps(order), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    return Measured(name, machines, hosts, json.loads(done.stdout))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown, its first column to the left."""
    names = [*head]
    lines = [f"| {' | '.join(names)} |", f"|---|{'---:|' * (len(names) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def runs(measured: list[Measured]) -> str:
    """What each run took."""
    head = ("", "machines", "hosts", "floor", "all made", "ratio", "all Available", "requests to PVE per machine")
    more = ("of them changes", "writes to the API per machine", "CPU per machine", "peak memory", "all gone")
    rows = []
    for each in measured:
        told, met = each.told, "met" if each.ratio <= AIM else "missed"
        rows.append(
            (
                each.name,
                str(each.machines),
                str(each.hosts),
                f"{told['floor']:.1f} s",
                f"{told['made']:.1f} s",
                f"{each.ratio:.2f} (aim {AIM}: {met})",
                f"{told['available']:.1f} s",
                f"{each.per_machine('requests'):.1f}",
                f"{each.changes:.1f}",
                f"{each.per_machine('writes'):.1f}",
                f"{told['cpu'] / each.machines * 1000:.0f} ms",
                f"{told['memory']:.0f} MiB",
                f"{told['gone']:.1f} s",
            )
        )
    return table((*head, *more), rows)


def by_route(measured: list[Measured]) -> str:
    """Requests for each machine, by route, and how close two of the same were."""
    routes = Counter[str]()
    for each in measured:
        routes.update({route: count / each.machines for route, count in each.told["requests"].items()})
    head = ["request", *(each.name for each in measured), "closest repetition", "promised"]
    rows = []
    for route, _ in routes.most_common():
        closest = [each.told["closest"][route] for each in measured if route in each.told["closest"]]
        rows.append(
            (
                f"`{route}`",
                *(f"{each.told['requests'].get(route, 0) / each.machines:.2f}" for each in measured),
                f"{min(closest):.2f} s" if route in PROMISES and closest else "",
                f"{PROMISES[route]:g} s" if route in PROMISES else "",
            )
        )
    return table(head, rows)


def at_rest(measured: list[Measured]) -> str:
    """What is asked and written while nothing happens."""
    watched = [each for each in measured if each.told["rest_requests"]]
    return "\n".join(
        f"At rest, {each.name}: {sum(each.told['rest_requests'].values()) / REST * 60:.1f} requests a minute for "
        f"{each.machines + 1} machines together, {sum(each.told['rest_writes'].values())} writes to the API."
        for each in watched
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=100)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--wall", type=int, default=12, help="how many to make on this machine's time; 0: none")
    parser.add_argument("--quick", action="store_true", help="24 machines on 4 hosts, and 3 on this machine's time")
    given = parser.parse_args()
    machines, hosts, wall = (24, 4, 3) if given.quick else (given.machines, given.hosts, given.wall)
    measured = [
        measure("linked clones", machines, hosts, full=False, wall=False),
        measure("full clones", machines, hosts, full=True, wall=False),
    ]
    if wall:
        measured.append(measure("linked clones, own time, HTTPS", wall, WALL_HOSTS, full=False, wall=True))
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print(runs(measured), by_route(measured), at_rest(measured), sep="\n\n")
    broken = [f"{each.name}: {what}" for each in measured for what in each.told["broken"]]
    if broken:
        raise SystemExit("\n".join(["", "promises that were not kept:", *broken]))


if __name__ == "__main__":
    main()
