"""The same controllers where Cluster API's own definitions are installed, and nothing fills defaults in.

No behaviour may depend on a default or a rule that only Nagaya's definitions have.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.lab import Lab, holds, play_real
from support.manifests.simulated import Simulated
from support.real import CONTROLLERS, RealControlPlane, installed_binaries
from support.upstream import upstream_binaries
from support.upstream_client import Client
from support.upstream_definitions import install_definitions, read_manifest

pytestmark = pytest.mark.long("installs all definitions of Cluster API and plays a cluster's whole life")

NAME = "demo-workers"
NEW = "v1.36.4"
SIMULATED = "infrastructure-simulated"


@pytest.fixture(scope="module")
def control_plane() -> Iterator[RealControlPlane]:
    """A server of its own: it has other definitions of the same kinds."""
    documents = read_manifest(upstream_binaries().path("cluster-api-core.yaml"))
    with RealControlPlane(installed_binaries(), controllers=CONTROLLERS) as plane:
        client = Client(plane)
        install_definitions(client, [each for each in documents if each["kind"] == "CustomResourceDefinition"])
        client.close()
        yield plane


def test_a_cluster_comes_up_rolls_scales_and_goes_away_with_upstreams_definitions(
    control_plane: RealControlPlane,
) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        cluster = await lab.available("demo")
        assert cluster.status.phase == "Provisioned"
        (before,) = await lab.running(1)
        assert holds(before, "Ready")
        await lab.merge("MachineDeployment", NAME, {"spec": {"template": {"spec": {"version": NEW}}}})
        await lab.rolled(NAME, NEW)
        await lab.merge("MachineDeployment", NAME, {"spec": {"replicas": 2}})
        machines = await lab.running(2)
        assert before.metadata.uid not in {each.metadata.uid for each in machines}
        await lab.delete("Cluster", "demo")

        async def gone() -> bool:
            kinds = ("Cluster", "MachineDeployment", "MachineSet", "Machine", "SimulatedCluster", "SimulatedMachine")
            return not [each for kind in kinds for each in await lab.all(kind)]

        await lab.until("everything is gone", gone)

    play_real(control_plane, scenario, parts=("core", "addons", SIMULATED), definitions=(SIMULATED,))
