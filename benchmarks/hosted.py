"""What hosted control planes cost: from `kubectl apply` to an API that is ready, for 1, 5 and 20 of them at once.

`nagaya up` and `nagaya controllers` run as users run them, with the etcd that Nagaya starts by itself. Each tenant has
a real kube-apiserver, kube-controller-manager and kube-scheduler. Before each run and after it a kube-apiserver is
started alone, on an etcd that runs already, until its /readyz says ok: no control plane can be ready sooner, and on a
busy machine it is the ratio to the mean of the two that counts. Nagaya's own share of the time is what passes until it
starts the process of the API server, and from when that is ready until the control plane says so. Memory is the
proportional set size of processes.

    python benchmarks/hosted.py [--planes 1,5,20]
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))  # the servers are those of the tests

from support.hosting import Hosting, manifests
from support.real import RealControlPlane, installed_binaries

AIM_SECONDS, ALONE_SECONDS = 6.0, 3.2
"""How soon one control plane is to be ready, where a kube-apiserver alone takes that long."""
PATIENCE = 900.0
SETTLE = 5.0
"""Seconds after which tenants are weighed: what is set up in them goes on for a moment."""
API_SERVER, ETCD = "kube-apiserver", "etcd"
PLANES = "/apis/controlplane.cluster.x-k8s.io/v1alpha1/hostedcontrolplanes"
_SAID = re.compile(r"^(\S+ \S+) INFO nagaya\.supervision\.supervisor: \S+?\.([a-z-]+?)(?:-\d+)? (was started|is ready)")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Run:
    """One number of control planes. Seconds count from the start of `kubectl apply`."""

    planes: int
    load: float
    """What the machine was busy with before."""
    alone: float = 0.0
    """Seconds that a kube-apiserver takes by itself."""
    declared: float = 0.0
    """When kubectl had ended."""
    told: dict[str, float] = field(default_factory=dict)
    """When each said that it is initialized."""
    configured: dict[str, float] = field(default_factory=dict)
    """And that machines can join."""
    said: list[tuple[float, str]] = field(default_factory=list)
    """What happened to processes."""
    memory: dict[str, list[float]] = field(default_factory=dict)
    """MiB of each process, by program."""
    grown: dict[str, float] = field(default_factory=dict)
    """MiB by which Nagaya's own processes have grown."""
    cpu: dict[str, float] = field(default_factory=dict)
    """Seconds of processor that Nagaya's own processes have used."""

    def moments(self, what: str) -> list[float]:
        """When something happened to processes, in order."""
        return sorted(moment for moment, sentence in self.said if sentence == what)

    @property
    def own(self) -> list[float]:
        """Seconds that are neither kubectl's nor kube-apiserver's. Moments are taken in order, so that it says nothing
        of a single control plane but is right on the whole."""
        started, ready = (self.moments(f"{API_SERVER} {what}") for what in ("was started", "is ready"))
        told = sorted(self.told.values())
        return [begun - self.declared + end - served for begun, served, end in zip(started, ready, told, strict=True)]


def measure(planes: int) -> Run:
    """Apply, wait, weigh."""
    run = Run(planes, os.getloadavg()[0])
    before = alone()
    with Hosting() as hosting:
        own = {"nagaya controllers": hosting.controllers._process.pid, "nagaya up": hosting.server.pid}
        weights, work = (
            {name: _weight(pid) for name, pid in own.items()},
            {name: _cpu(pid) for name, pid in own.items()},
        )
        names = [f"tenant-{number}" for number in range(planes)]
        text = "---\n".join(manifests(name) for name in names)
        events = watch(hosting)
        began, moment = time.monotonic(), datetime.now(UTC)
        hosting.apply(text)
        run.declared = time.monotonic() - began
        uids: dict[str, str] = {}
        for plane in events:
            name, status, now = plane["metadata"]["name"], plane.get("status", {}), time.monotonic() - began
            uids[name] = plane["metadata"]["uid"]
            if status.get("initialization", {}).get("controlPlaneInitialized"):
                run.told.setdefault(name, now)
            if any(each["type"] == "TenantConfigured" and each["status"] == "True" for each in status["conditions"]):
                run.configured.setdefault(name, now)
            if len(run.configured) == planes:
                break
            if now > PATIENCE:
                raise SystemExit(f"only {len(run.configured)} of {planes} after {PATIENCE:.0f} s\n{hosting.log()}")
        time.sleep(SETTLE)
        run.said = [*said((hosting.folder / "controllers.log").read_text(), moment)]
        store = json.loads(hosting.kubectl("get", "datastore", "default", "-o", "json"))["metadata"]["uid"]
        for uid in (*uids.values(), store):
            for program, process in hosting.processes(uid).items():
                run.memory.setdefault(program.removesuffix("-0"), []).append(_weight(process))
        run.grown = {name: _weight(pid) - weights[name] for name, pid in own.items()}
        run.cpu = {name: _cpu(pid) - work[name] for name, pid in own.items()}
    run.alone = (before + alone()) / 2
    return run


def alone() -> float:
    """Seconds from the start of a kube-apiserver to its /readyz."""
    with RealControlPlane(installed_binaries((ETCD, API_SERVER, "kubectl")), durable=True) as real:
        return time.clock_gettime(time.CLOCK_BOOTTIME) - int(_fields(real.pids[API_SERVER])[19]) / _TICKS


def watch(hosting: Hosting) -> Iterator[dict[str, Any]]:
    """Control planes as they change. To ask again and again would be in the way of what is measured."""
    connection = http.client.HTTPSConnection(
        "127.0.0.1", hosting.server.port, context=hosting.server.ssl_context(), timeout=PATIENCE
    )
    connection.request("GET", f"{PLANES}?watch=true")
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    return (
        event["object"]
        for event in map(json.loads, iter(answer.readline, b""))
        if event["object"].get("status", {}).get("conditions")
    )


def said(log: str, since: datetime) -> Iterator[tuple[float, str]]:
    """When which program was started and ready, by the log of the controllers."""
    for line in log.splitlines():
        if found := _SAID.match(line):
            moment = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S,%f").astimezone(UTC)
            yield (moment - since).total_seconds(), f"{found[2]} {found[3]}"


def _weight(pid: int) -> float:
    """The proportional set size of a process in MiB."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(next(line for line in rollup.splitlines() if line.startswith("Pss:")).split()[1]) / 1024


def _fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _cpu(pid: int) -> float:
    user, system = _fields(pid)[11:13]
    return (int(user) + int(system)) / _TICKS


def times(runs: list[Run]) -> str:
    """How soon."""
    lines = [
        "| control planes | load before | kube-apiserver alone | first ready | ratio | all ready | kubectl apply "
        "| own share (median) | own CPU each |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for run in runs:
        told = sorted(run.told.values())
        ratio, aim = told[0] / run.alone, AIM_SECONDS / ALONE_SECONDS
        mark = f" (aim {aim:.2f}: {'met' if ratio < aim else 'missed'})" if run.planes == 1 else ""
        cpu = sum(run.cpu.values()) / run.planes
        lines.append(
            f"| {run.planes} | {run.load:.1f} | {run.alone:.1f} s | {told[0]:.1f} s | {ratio:.2f}{mark} "
            f"| {told[-1]:.1f} s | {run.declared:.1f} s | {statistics.median(run.own):.2f} s | {cpu:.2f} s |"
        )
    return "\n".join(lines)


def weights(runs: list[Run]) -> str:
    """How large: MiB for each control plane."""
    programs = [*dict.fromkeys(name for run in runs for name in sorted(run.memory))]
    own = [*runs[0].grown]
    lines = [
        f"| control planes | {' | '.join(programs)} | {' | '.join(f'{name} grows by' for name in own)} | together |",
        f"|{'---:|' * (len(programs) + len(own) + 2)}",
    ]
    for run in runs:
        each = [sum(run.memory.get(name, ())) / run.planes for name in programs]
        each += [run.grown[name] / run.planes for name in own]
        cells = " | ".join(f"{number:.0f}" for number in each)
        lines.append(f"| {run.planes} | {cells} | {sum(each):.0f} |")
    return "\n".join(lines)


def trace(run: Run) -> str:
    """What happened when; of several control planes, the median of each moment."""
    moments = [
        (run.declared, "kubectl has ended"),
        (
            statistics.median(run.told.values()),
            "the control plane says that its API is ready (controlPlaneInitialized)",
        ),
        (statistics.median(run.configured.values()), "machines can join (TenantConfigured)"),
        *((statistics.median(run.moments(what)), what) for what in {sentence for _, sentence in run.said}),
    ]
    return "\n".join(f"{moment:7.2f} s  {what}" for moment, what in sorted(moments))


def main() -> None:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planes", default="1,5,20", help="how many at once, one run for each number")
    sizes = [int(each) for each in parser.parse_args().planes.split(",")]
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    runs = []
    for planes in sizes:
        runs.append(measure(planes))
        print(f"{planes} at once, seconds after `kubectl apply` began:\n{trace(runs[-1])}\n", flush=True)
    print(f"{times(runs)}\n\nMiB for each control plane:\n\n{weights(runs)}")


if __name__ == "__main__":
    main()
