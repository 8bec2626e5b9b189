"""Every example for Proxmox VE makes the cluster that it promises, and is deleted without leaving anything."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import yaml

from support.proxmox_example_stand_ins import hosted, of_class
from support.proxmox_examples import EXAMPLES, Desk, desk

pytestmark = pytest.mark.long("boots the cluster of an example in an emulated data center, and deletes it")

CONNECTION = "proxmox-connection.yaml"
CLUSTERS = {
    # by file: the cluster, its machines of the control plane, its workers
    "proxmox-minimal.yaml": ("small", 1, 1),
    "proxmox-ha.yaml": ("solid", 3, 3),
    "proxmox-from-capmox.yaml": ("old", 1, 2),
}
POOLED = ("proxmox-ha.yaml", "proxmox-from-capmox.yaml")
"""Those that bring pools of addresses of their own."""


def test_every_example_is_tried_here() -> None:
    tried = {CONNECTION, *CLUSTERS, "proxmox-hosted-control-plane.yaml", "proxmox-cluster-class.yaml"}
    assert {path.name for path in EXAMPLES.glob("proxmox-*.yaml")} == tried
    listed = (EXAMPLES / "README.md").read_text()
    assert [each for each in sorted(tried) if f"({each})" not in listed] == []


def played(folder: Path, story: Callable[[Desk], Awaitable[None]]) -> None:
    """A user does something; in the end the data center is as it was."""

    async def main() -> None:
        async with desk(folder) as here:
            before = here.things()
            await story(here)
            assert here.things() == before
            assert await here.town.left() == []

    asyncio.run(main())


@pytest.mark.parametrize("name", CLUSTERS)
def test_an_example_becomes_a_cluster_and_goes_without_a_trace(name: str, tmp_path: Path) -> None:
    cluster, control_planes, workers = CLUSTERS[name]
    connected = name != "proxmox-from-capmox.yaml"

    async def story(here: Desk) -> None:
        if connected:
            await here.apply(CONNECTION)
        await here.apply(name)
        await here.available(cluster, control_planes, workers)
        nodes = {each.metadata.name: each for each in await here.town.nodes(cluster)}
        assert len(nodes) == control_planes + workers
        assert set(nodes) == set(here.machines())
        guests = {str(each.config["name"]): each for each in here.town.datacenter.guests.values()}
        for each, node in nodes.items():
            uuid = str(guests[each].config["smbios1"]).partition("uuid=")[2].partition(",")[0]
            assert node.at("spec", "providerID") == f"proxmox://{uuid}"
        if cluster == "solid":
            await _solid(here)
        if name in POOLED and connected:
            await here.kubectl("delete", "cluster", cluster)
        elif name in POOLED:
            # Somebody deletes all at once, credentials included: only the pool refuses, until nobody needs it.
            refused = await here.try_kubectl("delete", "-f", "-", "--wait=false", text=here.example(name))
            assert refused.errors.count("Error") == 1, refused.errors
            assert "Pool has IPAddresses allocated" in refused.errors
            await here.kubectl("wait", "--for=delete", f"cluster/{cluster}", "--timeout=90s")
        await here.delete(name)
        if connected:
            await here.delete(CONNECTION)

    played(tmp_path, story)


async def _solid(here: Desk) -> None:
    """No two machines of the control plane are on one host, and each is in another failure domain."""
    machines = (await here.object("machines", "-l", "cluster.x-k8s.io/control-plane"))["items"]
    hosts = here.machines()
    assert len({hosts[each["metadata"]["name"]] for each in machines}) == 3
    assert {each["spec"]["failureDomain"] for each in machines} == {"rack-a", "rack-b", "rack-c"}
    endpoint = (await here.object("proxmoxcluster", "solid"))["spec"]["controlPlaneEndpoint"]
    assert endpoint == {"host": "10.0.0.10", "port": 6443}
    disks = Counter(each.storage for each in here.town.datacenter.volumes.values() if each.vmid in _made(here))
    assert disks["ceph"] == 3


def test_workers_of_the_example_join_a_control_plane_that_is_elsewhere(tmp_path: Path) -> None:
    """The hosted control plane itself is played by a simulated cluster: the real one runs Kubernetes' own programs."""
    name = "proxmox-hosted-control-plane.yaml"

    async def story(here: Desk) -> None:
        await here.apply(CONNECTION)
        await here.apply(name)
        async with hosted(here, "light", "10.0.0.9:16443"):
            await here.available("light", 2, 2)
            assert len(here.machines()) == 2
            assert {each.metadata.name for each in await here.town.nodes("light")} == set(here.machines())
            await here.kubectl("delete", "cluster", "light")
        await here.delete(name)
        await here.delete(CONNECTION)

    played(tmp_path, story)


def test_the_class_of_the_example_is_accepted_and_its_templates_make_a_cluster(tmp_path: Path) -> None:
    """What the topology's controller does with the templates is done here, as there is none."""
    name = "proxmox-cluster-class.yaml"

    async def story(here: Desk) -> None:
        await here.apply(CONNECTION)
        objects = await here.apply(name)
        stamped = yaml.safe_dump_all(of_class(objects))
        await here.kubectl("apply", "-f", "-", text=stamped)
        await here.available("stamped", 3, 3)
        assert len(here.machines()) == 6
        await here.kubectl("delete", "cluster", "stamped")
        await here.delete(name)
        await here.delete(CONNECTION)

    played(tmp_path, story)


def _made(here: Desk) -> set[int]:
    hosts = here.machines()
    return {vmid for vmid, each in here.town.datacenter.guests.items() if str(each.config["name"]) in hosts}
