"""What the infrastructure says of the address of a control plane reaches its machines, and no others."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from nagaya.api.bootstrap.annotations import KUBELET_NODE_IP, VIRTUAL_IP, VIRTUAL_IP_IMAGE, VIRTUAL_IP_INTERFACE
from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS
from nagaya.bootstrap.virtual_ip import IMAGE, PATH
from support.harbour import CLUSTER
from support.seen_cluster import INFRASTRUCTURE
from support.virtual_run import run
from unit.bootstrap.kubeadm_config.shipyard import Shipyard, shipyard

pytestmark = pytest.mark.slow


async def says(yard: Shipyard, **annotations: str | None) -> None:
    """The infrastructure of the cluster says something about its address."""
    names = {"provider": VIRTUAL_IP, "image": VIRTUAL_IP_IMAGE, "interface": VIRTUAL_IP_INTERFACE}
    told = {names[name]: value for name, value in annotations.items()}
    if await yard.here.exists(INFRASTRUCTURE, CLUSTER):
        await yard.here.change(INFRASTRUCTURE, metadata={"annotations": told})
    else:
        await yard.here.make(INFRASTRUCTURE, metadata={"annotations": told})


async def container(yard: Shipyard, name: str) -> dict[str, Any]:
    pod = yaml.safe_load((await yard.files(name))[PATH])
    [found] = pod["spec"]["containers"]
    return dict(found)


def test_machines_of_the_control_plane_hold_the_address_and_workers_do_not() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await says(yard, provider="kube-vip")
            await yard.cluster()
            await yard.machine("first", control_plane=True)
            made = await container(yard, "first")
            assert made["image"] == IMAGE
            assert {"name": "address", "value": "10.0.0.1"} in made["env"]
            await yard.initialize()
            await yard.machine("second", control_plane=True)
            await yard.machine("worker")
            assert {"name": "address", "value": "10.0.0.1"} in (await container(yard, "second"))["env"]
            assert PATH not in await yard.files("worker")

    run(main())


def test_a_change_is_for_machines_that_are_made_later_and_writes_nothing_for_others() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await says(yard, provider="kube-vip")
            await yard.cluster()
            await yard.machine("first", control_plane=True)
            await yard.initialize()
            data, before = await yard.data("first"), await yard.seen("first")
            await says(yard, provider="kube-vip", image="mirror.example/kube-vip:v9", interface="ens18")
            await yard.machine("second", control_plane=True)
            made = await container(yard, "second")
            assert made["image"] == "mirror.example/kube-vip:v9"
            assert {"name": "vip_interface", "value": "ens18"} in made["env"]
            assert await yard.data("first") == data
            after = await yard.seen("first")
            assert after.spec == before.spec
            assert after.metadata.generation == before.metadata.generation

    run(main())


@pytest.mark.parametrize("said", [None, "none", "haproxy"])
def test_nothing_is_added_where_the_infrastructure_does_not_ask_for_kube_vip(said: str | None) -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await says(yard, **({} if said is None else {"provider": said}))
            await yard.cluster()
            await yard.machine("first", control_plane=True)
            assert PATH not in await yard.files("first")

    run(main())


def test_a_kube_vip_in_the_files_of_the_user_is_the_only_one() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await says(yard, provider="kube-vip")
            await yard.cluster()
            await yard.machine("first", control_plane=True, files=[{"path": PATH, "content": "kind: Pod\n"}])
            assert (await yard.files("first"))[PATH] == "kind: Pod\n"
            document = yaml.safe_load(await yard.data("first"))
            assert [each["path"] for each in document["write_files"]].count(PATH) == 1

    run(main())


def test_an_endpoint_that_is_a_name_is_refused_with_the_remedy() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await says(yard, provider="kube-vip")
            await yard.cluster(controlPlaneEndpoint={"host": "api.example.org", "port": 6443})
            await yard.machine("first", control_plane=True)
            _, _, message = await yard.told("first", "DataSecretAvailable")
            assert message.startswith("Cluster.spec.controlPlaneEndpoint.host: kube-vip holds an address, and")
            assert "Give it an IP address" in message
            assert await yard.here.exists(KUBEADM_CONFIGS, "first")

    run(main())


@pytest.mark.parametrize(("format", "told"), [("cloud-config", True), ("ignition", False)])
def test_variables_for_kubelets_are_left_out_where_nothing_would_fill_them_in(format: str, told: bool) -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.here.make(
                INFRASTRUCTURE, metadata={"annotations": {KUBELET_NODE_IP: "{{ ds.meta_data.node_ip }}"}}
            )
            await yard.cluster()
            await yard.machine("first", control_plane=True, format=format)
            assert (b"ds.meta_data.node_ip" in await yard.data("first")) is told

    run(main())
