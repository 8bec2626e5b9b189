"""Failure domains: what the infrastructure offers reaches the Cluster, and a machine is made where it is to be."""

from __future__ import annotations

from collections.abc import Callable

from support.lab import Lab, Scenario
from support.manifests.simulated import Simulated
from support.servers import both_servers

Play = Callable[[Scenario], None]
DOMAINS = [{"name": "east", "controlPlane": True}, {"name": "west", "controlPlane": False}]


@both_servers
def test_failure_domains_reach_the_cluster_and_machines_are_placed_in_theirs(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        demo = Simulated(
            "demo", lab.namespace, workers=1, host={"failureDomains": DOMAINS}, machine_spec={"failureDomain": "west"}
        )
        await lab.create(*demo.manifests())
        cluster = await lab.available("demo")
        told = {each.name: each.control_plane for each in cluster.status.failure_domains}
        assert told == {"east": True, "west": False}
        (machine,) = await lab.running(1)
        assert machine.spec.failure_domain == "west"
        assert machine.status.failure_domain == "west"
        host = await lab.get("SimulatedMachine", machine.spec.infrastructure_ref.name)
        assert host.status.failure_domain == "west"

    play(scenario)


def test_another_failure_domain_rolls_the_machines(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        demo = Simulated(
            "demo", lab.namespace, workers=1, host={"failureDomains": DOMAINS}, machine_spec={"failureDomain": "west"}
        )
        await lab.create(*demo.manifests())
        await lab.available("demo")
        (before,) = await lab.running(1)
        change = {"spec": {"template": {"spec": {"failureDomain": "east"}}}}
        await lab.merge("MachineDeployment", "demo-workers", change)

        async def moved() -> bool:
            machines = await lab.workers()
            return [each.status.failure_domain for each in machines] == ["east"]

        await lab.until("the machine stands in the other one", moved)
        (after,) = await lab.running(1)
        assert after.metadata.uid != before.metadata.uid

    play(scenario)
