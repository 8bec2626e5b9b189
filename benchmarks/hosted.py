"""What hosted control planes cost: from `kubectl apply` to an API that is ready, for 1, 5 and 20 of them at once.

`nagaya up` and `nagaya controllers` run as users run them, with the etcd that Nagaya starts by itself. Each tenant has
a real kube-apiserver, kube-controller-manager and kube-scheduler. The time until the process of a tenant's API server
starts is Nagaya's own; from there until it is ready is mostly kube-apiserver's. Memory is the proportional set size of
the tenant's processes, and what the controllers have grown by.

    python benchmarks/hosted.py [--planes 1,5,20]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))  # the servers are those of the tests

from support.hosting import Hosting, manifests

AIM_SECONDS = 6.0
"""How soon the first control plane is to be ready."""
LOOK = 0.1
PATIENCE = 600.0
API_SERVER = "kube-apiserver"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Run:
    """One number of control planes."""

    planes: int
    ready: list[float] = field(default_factory=list)
    """Seconds from apply until each was ready."""
    own: list[float] = field(default_factory=list)
    """Seconds from apply until the process of each API server was started."""
    memory: dict[str, list[float]] = field(default_factory=dict)
    """MiB of each process, by program."""
    controllers_grown: float = 0.0
    controllers_cpu: float = 0.0


def measure(planes: int) -> Run:
    """Apply, wait, weigh."""
    run = Run(planes)
    with Hosting() as hosting:
        pid = hosting.controllers._process.pid
        before, cpu = _weight(pid), _cpu(pid)
        names = [f"tenant-{number}" for number in range(planes)]
        text = "---\n".join(manifests(name) for name in names)
        began, applied = time.monotonic(), _uptime()
        hosting.apply(text)
        uids: dict[str, str] = {}
        while len(uids) < planes:
            if time.monotonic() - began > PATIENCE:
                raise SystemExit(f"only {len(uids)} of {planes} were ready after {PATIENCE:.0f} s\n{hosting.log()}")
            for each in json.loads(hosting.kubectl("get", "hcp", "-o", "json"))["items"]:
                name, status = each["metadata"]["name"], each.get("status", {})
                if name not in uids and status.get("initialization", {}).get("controlPlaneInitialized"):
                    uids[name] = each["metadata"]["uid"]
                    run.ready.append(time.monotonic() - began)
            time.sleep(LOOK)
        time.sleep(5)  # what is set up in tenants goes on for a moment
        for uid in uids.values():
            for program, process in hosting.processes(uid).items():
                run.memory.setdefault(program.partition("-0")[0], []).append(_weight(process))
                if program.startswith(API_SERVER):
                    run.own.append(_started(process) - applied)
        run.controllers_grown = _weight(pid) - before
        run.controllers_cpu = _cpu(pid) - cpu
    return run


def _weight(pid: int) -> float:
    """The proportional set size of a process in MiB."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(next(line for line in rollup.splitlines() if line.startswith("Pss:")).split()[1]) / 1024


def _fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _cpu(pid: int) -> float:
    user, system = _fields(pid)[11:13]
    return (int(user) + int(system)) / _TICKS


def _started(pid: int) -> float:
    """Seconds after the boot of this machine."""
    return int(_fields(pid)[19]) / _TICKS


def _uptime() -> float:
    return float(Path("/proc/uptime").read_text().split()[0])


def _row(run: Run) -> str:
    aim = f" (aim {AIM_SECONDS:.0f}: {'met' if run.ready[0] < AIM_SECONDS else 'missed'})" if run.planes == 1 else ""
    tenant = sum(statistics.mean(each) for each in run.memory.values())
    return (
        f"| {run.planes} | {run.ready[0]:.1f} s{aim} | {run.ready[-1]:.1f} s | {statistics.median(run.own):.1f} s "
        f"| {tenant:.0f} MiB | {statistics.mean(run.memory[API_SERVER]):.0f} MiB "
        f"| {run.controllers_grown / run.planes:.1f} MiB | {run.controllers_cpu / run.planes:.2f} s |"
    )


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planes", default="1,5,20", help="how many at once, one run for each number")
    sizes = [int(each) for each in parser.parse_args().planes.split(",")]
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print(
        "| control planes | first ready | all ready | until its API server starts (median) | memory of a tenant "
        "| of it kube-apiserver | controllers grow by | controllers' CPU |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for planes in sizes:
        print(_row(measure(planes)), flush=True)


if __name__ == "__main__":
    main()
