"""What clusters cost the controllers: many clusters of 1 control plane machine and 3 workers come up and go again.

"embedded" is the whole plane in one process, API server and durable data included. "real" is `nagaya controllers`
against real kube-apiserver + etcd + kube-controller-manager, beside what upstream's three managers (v1.14.0, with
their in-memory provider) need there for clusters of the same size. Upstream's have a KubeadmControlPlane and
KubeadmConfigs, these have not: the ratios flatter Nagaya by as much. Requests are those of the controllers to the
management API until all is done; CPU and memory are those of the process. Ratios below 1 are in Nagaya's favour.

    python benchmarks/core.py [--clusters 10,100,500] [--real 2,10,20] [--quick]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))  # the servers are those of the tests

from nagaya.binaries.errors import BinariesError
from nagaya.binaries.installer import Installer
from nagaya.binaries.releases import DEFAULT_VERSION
from support.real import CONTROL_PLANE, CONTROLLERS, RealControlPlane

WORKERS = 3
MACHINES = 1 + WORKERS
WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE")
AIM_SECONDS = {100: 60.0}
"""How soon so many clusters are to be Available on the embedded server with two cores."""
AIM_RATIO = 0.25
"""What part of upstream's time and requests is the most that Nagaya may need on the real server."""
SHOWN_REQUESTS = 12


@dataclass(frozen=True, slots=True)
class Upstream:
    """What upstream's managers need, as it was measured on a machine with two cores."""

    seconds: float
    cpu: float
    memory: float
    requests: float
    gone: float


UPSTREAM = {
    2: Upstream(46, 6, 222, 108, 14),
    10: Upstream(69, 33, 288, 126, 18),
    20: Upstream(215, 96, 360, 214, 40),
}
UNKNOWN = Upstream(math.nan, math.nan, math.nan, math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class Part:
    """Coming up, or going."""

    clusters: int
    seconds: float
    cpu: float
    memory: float
    requests: Counter[str]
    reconciles: Counter[str]

    @classmethod
    def of(cls, clusters: int, found: dict[str, Any]) -> Part:
        """As the process told it."""
        requests, reconciles = Counter[str](found["requests"]), Counter[str](found["reconciles"])
        return cls(clusters, found["seconds"], found["cpu"], found["memory"], requests, reconciles)

    @property
    def machines(self) -> int:
        """How many machines there are."""
        return self.clusters * MACHINES

    @property
    def per_machine(self) -> float:
        """Requests for each machine."""
        return self.requests.total() / self.machines

    @property
    def writes_per_machine(self) -> float:
        """Writes for each machine."""
        return sum(count for name, count in self.requests.items() if name.startswith(WRITES)) / self.machines

    @property
    def conflicts(self) -> int:
        """Requests that were answered 409."""
        return sum(count for name, count in self.requests.items() if name.endswith(" 409"))


@dataclass(frozen=True, slots=True)
class Measured:
    """One run."""

    up: Part
    gone: Part


def measure(clusters: int, kubeconfig: Path | None, profile: Path | None) -> Measured:
    """A run in a process of its own, so that none has the memory of another."""
    order = {
        "clusters": clusters,
        "workers": WORKERS,
        "kubeconfig": "" if kubeconfig is None else str(kubeconfig),
        "profile": "" if profile is None else str(profile),
    }
    done = subprocess.run(
        [sys.executable, HERE / "core_load.py"], input=json.dumps(order), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{clusters} clusters failed:\n{done.stderr[-3000:]}")
    found = json.loads(done.stdout)
    return Measured(Part.of(clusters, found["up"]), Part.of(clusters, found["gone"]))


@contextmanager
def real_server() -> Iterator[RealControlPlane]:
    """A real control plane whose writes are durable."""
    try:
        binaries, missing = Installer().find(DEFAULT_VERSION, CONTROL_PLANE)
    except BinariesError as error:
        raise SystemExit(f"real Kubernetes cannot be used: {error}") from error
    if missing:
        raise SystemExit(f"real Kubernetes is not installed (missing: {', '.join(missing)}): run `make kubernetes`")
    with RealControlPlane(binaries, controllers=CONTROLLERS, durable=True) as plane:
        yield plane


def processor_seconds(pids: Sequence[int]) -> float:
    """What processes have used so far."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def embedded_table(runs: Sequence[Measured]) -> list[str]:
    """The embedded server: one line for each number of clusters, and how it grows."""
    lines = [
        "| clusters | all Available | CPU | CPU per cluster | peak memory | requests per machine | writes | 409 "
        "| reconciles per machine | all gone | CPU |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for run in runs:
        up, gone = run.up, run.gone
        lines.append(
            f"| {up.clusters} | {up.seconds:.1f} s{_aim(up)} | {up.cpu:.1f} s | {up.cpu / up.clusters * 1e3:.0f} ms "
            f"| {gone.memory:.0f} MiB | {up.per_machine:.1f} | {up.writes_per_machine:.1f} "
            f"| {up.conflicts + gone.conflicts} | {up.reconciles.total() / up.machines:.1f} "
            f"| {gone.seconds:.1f} s | {gone.cpu:.1f} s |"
        )
    if len(runs) > 1:
        first, last = runs[0].up, runs[-1].up
        growth = (last.cpu / last.clusters) / (first.cpu / first.clusters)
        lines += ["", f"CPU per cluster, {last.clusters} clusters to {first.clusters}: {growth:.2f} times."]
    return lines


def _aim(up: Part) -> str:
    aim = AIM_SECONDS.get(up.clusters)
    if aim is None:
        return ""
    return f" (aim {aim:.0f}: {'met' if up.seconds <= aim else 'missed'})"


def real_table(runs: Sequence[tuple[Measured, float]]) -> list[str]:
    """The real server beside upstream's managers."""
    lines = [
        "| clusters | all Available | upstream | ratio | requests per machine | upstream | ratio | 409 | CPU "
        "| upstream | peak memory | upstream | servers' CPU | all gone | upstream |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for run, servers in runs:
        up, gone = run.up, run.gone
        other = UPSTREAM.get(up.clusters, UNKNOWN)
        lines.append(
            f"| {up.clusters} | {up.seconds:.1f} s | {_beside(up.seconds, other.seconds, ' s')} "
            f"| {up.per_machine:.1f} | {_beside(up.per_machine, other.requests, '')} "
            f"| {up.conflicts + gone.conflicts} | {up.cpu:.1f} s | {_known(other.cpu, ' s')} "
            f"| {gone.memory:.0f} MiB | {_known(other.memory, ' MB')} | {servers:.0f} s "
            f"| {gone.seconds:.1f} s | {_known(other.gone, ' s')} |"
        )
    lines += ["", f"Aim: at most {AIM_RATIO:g} of upstream's time and requests, no 409."]
    return lines


def _beside(ours: float, theirs: float, unit: str) -> str:
    return " | " if math.isnan(theirs) else f"{theirs:g}{unit} | {ours / theirs:.2f}"


def _known(value: float, unit: str) -> str:
    return "" if math.isnan(value) else f"{value:g}{unit}"


def request_table(part: Part) -> list[str]:
    """Which requests there are most of."""
    lines = ["| request | per machine |", "|---|---:|"]
    lines += [f"| {name} | {count / part.machines:.2f} |" for name, count in part.requests.most_common(SHOWN_REQUESTS)]
    return lines


def numbers(text: str) -> list[int]:
    """`10,100` as a list; nothing for an empty text."""
    return [int(each) for each in text.split(",") if each]


def say(sentence: str) -> None:
    """Tell who waits what is done now."""
    print(f"... {sentence}", file=sys.stderr, flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", default="10,100,500", help="how many, on the embedded server")
    parser.add_argument("--real", default="2,10,20", help="how many, on the real server; empty: none")
    parser.add_argument("--quick", action="store_true", help="10 and 50 embedded, 2 real")
    parser.add_argument("--profile", type=Path, help="write where the time of the last embedded run went to this file")
    arguments = parser.parse_args()
    embedded = numbers("10,50" if arguments.quick else arguments.clusters)
    real = numbers("2" if arguments.quick and arguments.real else arguments.real)
    runs = []
    for clusters in embedded:
        say(f"{clusters} clusters on the embedded server")
        runs.append(measure(clusters, None, arguments.profile if clusters == embedded[-1] else None))
    beside = []
    for clusters in real:
        say(f"{clusters} clusters on the real server")
        with real_server() as server:
            pids = list(server.pids.values())
            before = processor_seconds(pids)
            run = measure(clusters, server.kubeconfig, None)
            beside.append((run, processor_seconds(pids) - before))
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    print(
        f"{when}, {os.cpu_count()} cores, Python {platform.python_version()}, clusters of 1 + {WORKERS}, start-up 1 s"
    )
    if runs:
        print("\n## Embedded server, one process\n")
        print("\n".join(embedded_table(runs)))
        print(f"\nMost requests while {runs[-1].up.clusters} clusters come up:\n")
        print("\n".join(request_table(runs[-1].up)))
    if beside:
        print("\n## Real kube-apiserver, etcd and kube-controller-manager\n")
        print("\n".join(real_table(beside)))
        print(f"\nMost requests while {beside[-1][0].up.clusters} clusters come up:\n")
        print("\n".join(request_table(beside[-1][0].up)))


if __name__ == "__main__":
    main()
