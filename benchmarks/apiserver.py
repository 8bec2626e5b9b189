"""The embedded API server beside real kube-apiserver + etcd: start, memory, writes, lists and watches, in one table.

Both are started the same way (a process, data on disk, every write durable before it is acknowledged), one after the
other, and get the same load from the same generator (`load.py`). Ratios above 1 are in favour of the embedded server.

    python benchmarks/apiserver.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))  # the servers are those of the tests

from nagaya.binaries.errors import BinariesError
from nagaya.binaries.installer import Installer
from nagaya.binaries.releases import DEFAULT_VERSION
from support.real import RealControlPlane
from support.running_server import RunningServer

CLIENTS = (1, 16, 128)
LISTED = 5_000
LOAD_TIMEOUT = 300.0


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured."""

    starts: int
    seconds: float  # of each kind of write
    lists: int
    watchers: int
    events: int


FULL = Effort(starts=3, seconds=10.0, lists=9, watchers=1000, events=20)
QUICK = Effort(starts=1, seconds=2.0, lists=3, watchers=200, events=5)


@dataclass(slots=True)
class Server:
    """A server that runs, as the load generator and the table see it."""

    port: int
    ca: Path
    pair: Path
    pids: list[int]
    ready_after: float

    def memory(self) -> float:
        """MiB that its processes have."""
        pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.pids)
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def load(self, do: str, **settings: Any) -> dict[str, float]:
        """Let the generator work and return what it found."""
        order = {"do": do, "port": self.port, "ca": str(self.ca), "pair": str(self.pair), **settings}
        done = subprocess.run(
            [sys.executable, HERE / "load.py"],
            input=json.dumps(order),
            capture_output=True,
            text=True,
            timeout=LOAD_TIMEOUT,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit(f"{do} failed:\n{done.stderr[-3000:]}")
        found: dict[str, float] = json.loads(done.stdout)
        return found


@contextmanager
def embedded() -> Iterator[Server]:
    """`nagaya up`."""
    with RunningServer() as running:
        yield Server(running.port, *running.credentials(), [running.pid], running.ready_after)


@contextmanager
def real() -> Iterator[Server]:
    """etcd and kube-apiserver, without any controllers."""
    try:
        binaries, missing = Installer().find(DEFAULT_VERSION, ("etcd", "kube-apiserver", "kubectl"))
    except BinariesError as error:
        raise SystemExit(f"real Kubernetes cannot be used: {error}") from error
    if missing:
        raise SystemExit(f"real Kubernetes is not installed (missing: {', '.join(missing)}): run `make kubernetes`")
    with RealControlPlane(binaries, durable=True) as plane:
        pair = plane.folder / "pair.pem"
        pair.write_bytes((plane.folder / "admin.crt").read_bytes() + (plane.folder / "admin.key").read_bytes())
        port = int(plane.url.rpartition(":")[2])
        yield Server(port, plane.ca_file, pair, list(plane.pids.values()), plane.ready_after)


@dataclass(slots=True)
class Measured:
    """The numbers of one server, by what they are called in the table."""

    numbers: dict[str, float] = field(default_factory=dict)


def measure(make: Callable[[], Any], effort: Effort, say: Callable[[str], None]) -> Measured:
    """All measurements of one server."""
    found: dict[str, float] = {}
    starts = []
    for _ in range(effort.starts - 1):
        with make() as server:
            starts.append(server.ready_after)
    with make() as server:
        starts.append(server.ready_after)
        found["start to ready, s"] = statistics.median(starts)
        time.sleep(2)
        found["memory after start, MiB"] = server.memory()
        for do in ("create", "update"):
            for clients in CLIENTS:
                say(f"{do}s by {clients} clients")
                result = server.load(do, clients=clients, seconds=effort.seconds, prefix=f"{do}{clients}")
                label = f"durable {do}s, {clients} client{'s' if clients > 1 else ''}"
                found[f"{label}, per second"] = result["rate"]
                found[f"{label}, p50 ms"] = result["p50"]
                found[f"{label}, p99 ms"] = result["p99"]
        found["memory after the writes, MiB"] = server.memory()
        say(f"a list of {LISTED}")
        read_lists(server, effort, found)
        say(f"events to {effort.watchers} watchers")
        fan_out(server, effort, found)
        found["memory at the end, MiB"] = server.memory()
    return Measured(found)


def read_lists(server: Server, effort: Effort, found: dict[str, float]) -> None:
    """There may be more objects by now: both servers are asked for as many."""
    server.load("create", clients=16, seconds=LOAD_TIMEOUT, count=LISTED, prefix="listed")
    result = server.load("list", count=effort.lists, query=f"limit={LISTED}")
    if result["items"] != LISTED:
        raise SystemExit(f"the list has {result['items']} items")
    found[f"list of {LISTED}, p50 ms"] = result["p50"]


def fan_out(server: Server, effort: Effort, found: dict[str, float]) -> None:
    """One write to many watchers."""
    watchers = effort.watchers
    result = server.load("watch", clients=watchers, count=effort.events, seconds=0.5, prefix="fan-out")
    found[f"{watchers} watches opened, s"] = result["connecting"]
    found[f"event at {watchers} watchers, p50 ms"] = result["p50"]
    found[f"event at {watchers} watchers, p99 ms"] = result["p99"]


def table(ours: Measured, theirs: Measured) -> str:
    """Side by side, in Markdown."""
    lines = ["| | embedded | kube-apiserver + etcd | ratio |", "|---|---:|---:|---:|"]
    for name, mine in ours.numbers.items():
        other = theirs.numbers[name]
        more_is_better = name.endswith("per second")
        ratio = (mine / other if more_is_better else other / mine) if mine and other else 0.0
        lines.append(f"| {name} | {number(mine)} | {number(other)} | {ratio:.2f} |")
    return "\n".join(lines)


def number(value: float) -> str:
    """With as many digits as mean something."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def machine() -> str:
    """Where this was measured."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"Linux {platform.release()}, Python {platform.python_version()}"
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, {system}"


def main() -> None:
    """Measure both and print the table."""
    parser = argparse.ArgumentParser(description="Compare the embedded API server with kube-apiserver + etcd.")
    parser.add_argument("--quick", action="store_true", help="a minute instead of several, with rougher numbers")
    effort = QUICK if parser.parse_args().quick else FULL

    def say(words: str) -> None:
        print(f"... {words}", file=sys.stderr, flush=True)

    say("the embedded server")
    ours = measure(embedded, effort, say)
    say("kube-apiserver + etcd")
    theirs = measure(real, effort, say)
    print(f"{datetime.now(UTC):%Y-%m-%d}, {machine()}; Kubernetes {DEFAULT_VERSION}\n")
    print(table(ours, theirs))


if __name__ == "__main__":
    main()
