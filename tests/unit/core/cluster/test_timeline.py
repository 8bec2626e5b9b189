"""The life of a cluster as its status tells it, step by step, compared with what was written down.

After a change that is meant, NAGAYA_UPDATE_GOLDEN=1 writes it down anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from support.builders import CONTROL_PLANE
from support.harbour import DEPLOYMENT, HOLD, Harbour, harbour, initialize, owned, provision
from support.seen_cluster import BOTH, INFRASTRUCTURE
from support.virtual_run import run

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "testdata" / "life.txt"


class Timeline:
    """What changed with every step."""

    def __init__(self, here: Harbour) -> None:
        self._here = here
        self._before: dict[str, str] = {}
        self.lines: list[str] = []

    async def after(self, step: str) -> None:
        self.lines.append(f"== {step}")
        if not await self._here.exists(CLUSTERS):
            self.lines.append("the Cluster is gone")
            return
        now = facts(await self._here.cluster())
        for name in sorted(now.keys() | self._before.keys()):
            if now.get(name) != self._before.get(name):
                self.lines += f"{name}: {now.get(name, '-')}".splitlines()
        self._before = now


def facts(cluster: Cluster) -> dict[str, str]:
    status = cluster.status
    found = {
        "phase": status.phase,
        "endpoint": str(cluster.spec.control_plane_endpoint),
        "provisioned": str(status.initialization.infrastructure_provisioned),
        "initialized": str(status.initialization.control_plane_initialized),
        "workers": f"{status.workers.replicas} of {status.workers.desired_replicas}",
    }
    for each in status.conditions:
        message = "".join(f"\n    {line}" for line in each.message.splitlines())
        found[f"  {each.type}"] = f"{each.status} {each.reason}{message}"
    return found


def test_a_cluster_lives_as_it_is_written_down() -> None:
    async def main() -> list[str]:
        async with harbour() as here:
            timeline = Timeline(here)
            await here.make(CLUSTERS, spec=BOTH)
            await timeline.after("a Cluster is made")
            await here.make(INFRASTRUCTURE, metadata={"finalizers": [HOLD]})
            await here.make(CONTROL_PLANE, metadata={"finalizers": [HOLD]}, spec={"replicas": 1})
            await timeline.after("its infrastructure and control plane are made")
            await provision(here)
            await timeline.after("the infrastructure is provisioned")
            await initialize(here)
            await timeline.after("the control plane is initialized")
            deployment = {**DEPLOYMENT, "metadata": {**DEPLOYMENT["metadata"], **owned(await here.cluster())}}
            await here.make(MACHINE_DEPLOYMENTS, "workers", **deployment)
            await timeline.after("a MachineDeployment is made")
            await here.delete(CLUSTERS)
            await timeline.after("the Cluster is deleted")
            await here.change(MACHINE_DEPLOYMENTS, "workers", metadata={"finalizers": None})
            await timeline.after("the MachineDeployment is gone")
            await here.change(CONTROL_PLANE, metadata={"finalizers": None})
            await timeline.after("the control plane is gone")
            await here.change(INFRASTRUCTURE, metadata={"finalizers": None})
            await timeline.after("the infrastructure is gone")
            return timeline.lines

    text = "\n".join(run(main())) + "\n"
    if os.environ.get("NAGAYA_UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
