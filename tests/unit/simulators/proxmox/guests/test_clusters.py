from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from nagaya.simulators.proxmox.guests.clusters import Clusters
from nagaya.simulators.proxmox.guests.kubeadm_call import KubeadmCall
from nagaya.simulators.tenant.boot_data import KubeadmBoot
from nagaya.simulators.tenant.joining import JoinRefused
from nagaya.simulators.tenant.settings import NodeSettings
from support.simulated_tenant import Kubectl
from support.virtual_run import run, virtual_world

ENDPOINT = "198.51.100.7:6443"
FIRST = NodeSettings("n1", control_plane=True)


def call(**cluster: object) -> KubeadmCall:
    boot = KubeadmBoot(True, True, cluster={"kubernetesVersion": "v1.35.4", **cluster})
    return KubeadmCall(boot, ENDPOINT, "", "", "")


@asynccontextmanager
async def clusters(*, listen: bool = False) -> AsyncIterator[Clusters]:
    made = Clusters(virtual_world(), listen=listen)
    try:
        yield made
    finally:
        await made.close()


def test_a_cluster_is_made_as_kubeadm_is_told() -> None:
    async def main() -> None:
        async with clusters() as all_of_them:
            networking = {"podSubnet": "fd00::/48,10.1.0.0/16", "serviceSubnet": "10.2.0.0/16"}
            made = await all_of_them.initialized(call(clusterName="harbour", networking=networking))
            settings = made.tenant.settings
            assert (settings.name, settings.version) == ("harbour", "v1.35.4")
            assert (settings.pod_subnet, settings.service_subnet) == ("10.1.0.0/16", "10.2.0.0/16")
            assert all_of_them.at(f"https://{ENDPOINT}") is made

    run(main())


def test_the_api_answers_while_a_machine_of_the_control_plane_runs() -> None:
    async def main() -> None:
        async with clusters() as all_of_them:
            made = await all_of_them.initialized(call())
            one, worker = object(), object()
            await made.join(one, FIRST)
            await made.join(worker, NodeSettings("n2"))
            assert await made.answers()
            await made.leave(one, "n1")
            assert not await made.answers()
            await made.join(one, FIRST, returns=True)
            assert await made.answers()

    run(main())


def test_a_machine_whose_name_another_has_is_not_missed() -> None:
    async def main() -> None:
        async with clusters() as all_of_them:
            made = await all_of_them.initialized(call())
            older, newer = object(), object()
            await made.join(older, FIRST)
            await made.join(newer, FIRST)
            await made.leave(older, "n1")
            assert not made.deserted
            assert await made.answers()
            api = Kubectl(made.tenant, virtual_world())
            await api.wait(100)
            assert (await api.ready("n1"))[0] == "True"

    run(main())


def test_a_cluster_of_which_nothing_runs_makes_room_for_another() -> None:
    async def main() -> None:
        async with clusters() as all_of_them:
            first, machine = await all_of_them.initialized(call()), object()
            await first.join(machine, FIRST)
            assert await all_of_them.initialized(call()) is first
            await first.leave(machine, "n1")
            second = await all_of_them.initialized(call())
            assert second is not first
            assert second.tenant is not first.tenant
            assert all_of_them.at(ENDPOINT) is second

    run(main())


def test_an_api_at_an_address_that_this_computer_does_not_have_is_given_up_at_once() -> None:
    async def main() -> None:
        async with clusters(listen=True) as all_of_them:
            with pytest.raises(JoinRefused, match="controlPlaneEndpoint has to be an address of the computer"):
                await all_of_them.initialized(call())

    run(main())


def test_an_address_that_is_in_use_is_waited_for() -> None:
    async def main() -> None:
        async with clusters(listen=True) as all_of_them:
            with socket.create_server(("127.0.0.1", 0)) as taken:
                endpoint = f"127.0.0.1:{taken.getsockname()[1]}"
                with pytest.raises(OSError, match="in use"):
                    await all_of_them.initialized(replace(call(), endpoint=endpoint))

    run(main())
