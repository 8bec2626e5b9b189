"""What simulated clusters cost: memory and time for each, what an idle one costs, and how fast many nodes beat.

Tenants live in one process, without ports, as the simulated infrastructure provider keeps them. Each has a control
plane node and workers, with everything that comes with them (mirror pods, kube-proxy, CoreDNS). "alone" is a tenant
that shares nothing with others, for comparison.

    python benchmarks/tenants.py [--tenants 500] [--nodes 4] [--seconds 30] [--renewals 5]
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.tenant.pace import Pace
from nagaya.simulators.tenant.settings import NodeSettings, TenantSettings, Timing
from nagaya.simulators.tenant.shared import Shared
from nagaya.simulators.tenant.tenant import Tenant
from nagaya.world import World

QUICK = Timing(node_ready=0.1, pod_start=0.1)


@dataclass(slots=True)
class Row:
    """One measurement."""

    what: str
    value: str


def resident() -> int:
    """Bytes of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def started(world: World, authority: CertificateAuthority, shared: Shared | None, number: int) -> Tenant:
    """A tenant without nodes."""
    settings = TenantSettings(f"t{number}", authority, listen=False, timing=QUICK, shared=shared or Shared())
    return await Tenant.start(settings, world)


async def populate(tenant: Tenant, nodes: int) -> None:
    """Let nodes join, the first as the control plane."""
    for number in range(nodes):
        await tenant.join(NodeSettings(f"n{number}", control_plane=number == 0))


async def ready(tenants: list[Tenant], nodes: int) -> None:
    """Wait until all nodes are Ready and all pods run."""
    for tenant in tenants:
        while not _is_ready(tenant, nodes):  # noqa: ASYNC110  # nothing announces that a cluster is complete
            await asyncio.sleep(0.05)


def _is_ready(tenant: Tenant, nodes: int) -> bool:
    store = tenant.server.store
    up = sum(b'"reason":"KubeletReady"' in record.value for record in store.list("nodes").records)
    pods = [b'"phase":"Running"' in record.value for record in store.list("pods").records]
    return up == nodes and len(pods) == 4 + nodes + 2 and all(pods)


def leases(tenants: list[Tenant]) -> int:
    """A number that grows by one with every renewal, once nothing else is written."""
    return sum(tenant.server.store.revision for tenant in tenants)


async def measure(tenants: int, nodes: int, seconds: float, pace: Pace, *, share: bool) -> list[Row]:
    """Start tenants, fill them, let them idle."""
    world = World(random=random.Random(1))
    authority = CertificateAuthority.create("kubernetes", world.clock)
    shared = Shared(pace) if share else None
    first = await started(world, authority, shared, 0)  # loads what is loaded once
    await populate(first, nodes)
    await ready([first], nodes)
    gc.collect()
    memory, begin, cpu = resident(), time.monotonic(), time.process_time()
    made = [await started(world, authority, shared, number + 1) for number in range(tenants)]
    for tenant in made:
        await tenant.settled()
    start_cpu, start_wall = time.process_time() - cpu, time.monotonic() - begin
    gc.collect()
    empty = (resident() - memory) / tenants
    begin, cpu = time.monotonic(), time.process_time()
    for tenant in made:
        await populate(tenant, nodes)
    await ready(made, nodes)
    full_cpu, full_wall = time.process_time() - cpu, time.monotonic() - begin
    gc.collect()
    full = (resident() - memory) / tenants
    rows = [
        Row("start one, CPU", f"{start_cpu / tenants * 1e3:.1f} ms"),
        Row("start one, wall", f"{start_wall / tenants * 1e3:.1f} ms"),
        Row("memory of one without nodes", f"{empty / 1024:.0f} KiB"),
        Row(f"{nodes} nodes and their pods to Ready, CPU", f"{full_cpu / tenants * 1e3:.1f} ms"),
        Row("all of them, wall", f"{full_wall:.1f} s"),
        Row(f"memory of one with {nodes} nodes, history included", f"{full / 1024:.0f} KiB"),
    ]
    if seconds:
        await asyncio.sleep(pace.interval / 2)  # the first renewals come after half an interval
        for tenant in made:
            await tenant.settled()
        cpu, before = time.process_time(), leases(made)
        await asyncio.sleep(seconds)
        idle, renewals = (time.process_time() - cpu) / seconds, (leases(made) - before) / seconds
        rows.append(Row(f"idle, {pace.nodes} nodes, {renewals:.1f} renewals/s", f"{idle * 100:.2f} % of a core"))
    for tenant in [first, *made]:
        await tenant.stop()
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenants", type=int, default=500)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long to watch the idle tenants")
    parser.add_argument("--renewals", type=float, default=5.0, help="the most renewals of leases a second")
    parser.add_argument("--alone", action="store_true", help="share nothing between tenants; no idle measurement")
    arguments = parser.parse_args()
    if arguments.alone:
        rows = asyncio.run(measure(arguments.tenants, arguments.nodes, 0.0, Pace(), share=False))
        print("\n".join(row.value for row in rows))
        return
    pace = Pace(per_second=arguments.renewals)
    rows = asyncio.run(measure(arguments.tenants, arguments.nodes, arguments.seconds, pace, share=True))
    # In a process of its own: memory that was freed before would be used again and not show.
    few = max(2, arguments.tenants // 10)
    command = [sys.executable, __file__, "--alone", "--tenants", str(few), "--nodes", str(arguments.nodes)]
    alone = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    print(f"{arguments.tenants} tenants of {arguments.nodes} nodes in one process ({few} alone)\n")
    print(f"| {'':50} | {'shared':>16} | {'alone':>10} |\n|{'-' * 52}|{'-' * 17}:|{'-' * 11}:|")
    for number, row in enumerate(rows):
        beside = alone[number] if number < len(alone) and not row.what.startswith("all") else ""
        print(f"| {row.what:50} | {row.value:>16} | {beside:>10} |")


if __name__ == "__main__":
    main()
