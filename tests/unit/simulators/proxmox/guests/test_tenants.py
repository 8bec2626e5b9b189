from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.proxmox.guests.backend import Machine
from nagaya.simulators.proxmox.guests.clusters import Clusters
from nagaya.simulators.proxmox.guests.disk import SEED
from nagaya.simulators.proxmox.guests.passive import RESULT
from nagaya.simulators.proxmox.guests.tenants import OUTPUT, TenantGuests, TenantMachine, tagged_version
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.qemu.cloud_init import BootData
from nagaya.simulators.tenant.settings import TenantSettings
from nagaya.simulators.tenant.tenant import Tenant
from support.simulated_tenant import Kubectl
from support.virtual_run import run, virtual_world

ENDPOINT = "198.51.100.7:6443"
MAC = "bc:24:11:00:00:01"
OPTIONS = {
    "name": "vm-name",
    "cores": 2,
    "memory": "4096",
    "net0": f"virtio={MAC.upper()},bridge=vmbr0",
    "smbios1": "uuid=11111111-2222-3333-4444-555555555555",
    "tags": "kubernetes;v1.35.4",
}
STATIC = f"""version: 1
config:
    - type: physical
      name: eth0
      mac_address: '{MAC}'
      subnets:
      - {{type: static, address: '192.0.2.9', netmask: '255.255.255.0'}}
"""


def joining(arguments: str = "[]") -> str:
    """Boot data of a machine that has a kubeconfig to join with, so that no token is looked at."""
    return f"""#cloud-config
hostname: ship-1
write_files:
- path: /run/discovery.conf
  content: 'clusters: [{{cluster: {{server: "https://{ENDPOINT}"}}}}]'
- path: /run/kubeadm/kubeadm-join-config.yaml
  content: |
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: JoinConfiguration
    discovery: {{file: {{kubeConfigPath: /run/discovery.conf}}}}
    nodeRegistration: {{kubeletExtraArgs: {arguments}}}
runcmd: [kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml]
"""


def machine(user: str = "", network: str = STATIC, **facts: Any) -> Machine:
    data = BootData(user or joining(), network, "instance-id: a\n")
    given: dict[str, Any] = {"options": OPTIONS, "system": "debian", "boot_data": data, **facts}
    return Machine(100, "pve1", **given)


@asynccontextmanager
async def harbour() -> AsyncIterator[tuple[TenantGuests, Kubectl]]:
    world = virtual_world()
    authority = CertificateAuthority.create("kubernetes", world.clock)
    tenant = await Tenant.start(TenantSettings("harbour", authority, listen=False), world)
    clusters = Clusters(world)
    clusters.add(ENDPOINT, tenant)
    guests = TenantGuests(world, Pace(), clusters)
    try:
        yield guests, Kubectl(tenant, world)
    finally:
        await guests.close()
        await tenant.stop()


def test_a_node_is_what_machine_and_boot_data_say() -> None:
    async def main() -> None:
        async with harbour() as (guests, api):
            guests.power_on(machine(joining("[{name: provider-id, value: 'proxmox://x'}]")))
            await api.wait(10)
            node = await api.get("/api/v1/nodes/ship-1")
            assert node["spec"]["providerID"] == "proxmox://x"
            assert node["status"]["addresses"][0] == {"type": "InternalIP", "address": "192.0.2.9"}
            assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.35.4"
            assert node["status"]["capacity"]["cpu"] == "2"

    run(main())


def test_a_machine_that_loses_its_power_while_it_boots_does_not_join() -> None:
    async def main() -> None:
        async with harbour() as (guests, api):
            for seconds in (0.0, 1.0, Pace().boot, 2.9):
                guests.power_on(machine())
                await asyncio.sleep(seconds)
                guests.power_off(100)
                await api.wait(100)
                assert not await api.exists("/api/v1/nodes/ship-1")

    run(main())


def test_a_machine_that_stands_still_joins_when_it_goes_on() -> None:
    async def main() -> None:
        async with harbour() as (guests, api):
            guests.power_on(machine())
            guests.pause(100, True)
            await api.wait(100)
            assert not await api.exists("/api/v1/nodes/ship-1")
            guests.pause(100, False)
            await api.wait(10)
            assert (await api.ready("ship-1"))[0] == "True"

    run(main())


@pytest.mark.parametrize(
    ("user", "network", "said"),
    [
        (joining("[{name: node-ip, value: 192.0.2.99}]"), STATIC, 'node IP: "192.0.2.99" not found'),
        (joining(), "version: 2\nethernets: {}\n", "unable to select an IP"),
        (joining().replace("nodeRegistration: {", "nodeRegistration: {name: A_B, "), STATIC, "nodeRegistration.name"),
        (joining().replace("discovery: {", "nothing: {"), STATIC, "name no address"),
    ],
)
def test_kubeadm_says_why_it_cannot_do_what_it_is_told(user: str, network: str, said: str) -> None:
    async def main() -> None:
        async with harbour() as (guests, api):
            guests.power_on(machine(user, network))
            await api.wait(10)
            agent = guests.agent(100)
            assert agent is not None
            assert said in (await agent.ask("file-read", {"path": OUTPUT})).decode()
            [error] = json.loads(await agent.ask("file-read", {"path": RESULT}))["v1"]["errors"]
            pid = (await agent.ask("exec", {"path": "cloud-init", "arg": ["status", "--long"]}))["pid"]
            done = await agent.ask("exec-status", {"pid": pid})
            assert done["exitcode"] == 1
            assert done["out-data"] == f"status: error\nboot_status_code: enabled-by-generator\ndetail:\n{error}\n"
            assert await api.items("/api/v1/nodes") == []

    run(main())


def test_a_machine_without_boot_data_just_runs() -> None:
    async def main() -> None:
        async with harbour() as (guests, api):
            for facts in ({"boot_data": None}, {"system": ""}):
                guests.power_on(machine(**facts))
                assert not isinstance(guests.machines[100], TenantMachine)
                guests.power_off(100)
            guests.power_on(machine("#cloud-config\nhostname: other\n"))
            await api.wait(10)
            agent = guests.agent(100)
            assert agent is not None
            assert await agent.ask("get-host-name", {}) == {"host-name": "other"}
            assert json.loads(await agent.ask("file-read", {"path": RESULT}))["v1"]["errors"] == []
            assert await api.items("/api/v1/nodes") == []

    run(main())


def test_a_kubelet_comes_back_to_its_own_cluster_only() -> None:
    async def main() -> None:
        async with harbour() as (guests, api):
            guests.power_on(machine())
            await api.wait(10)
            guests.power_off(100)
            guests.clusters.remove(ENDPOINT)
            guests.power_on(machine())
            await api.wait(100)
            assert (await api.ready("ship-1"))[0] == "Unknown"

    run(main())


def test_tags_tell_the_version_of_an_image() -> None:
    assert tagged_version(machine()) == "v1.35.4"
    assert tagged_version(machine(options={"tags": "debian;kubernetes-v1.36.3"})) == "v1.36.3"
    assert tagged_version(machine(options={"tags": "a;v2"})) == ""
    assert tagged_version(machine(options={})) == ""


def test_boot_data_that_the_agent_wrote_make_a_node_of_a_machine_that_was_none() -> None:
    async def main() -> None:
        async with harbour() as (guests, api):
            drive = BootData("#cloud-config\nhostname: ship-1\n", STATIC, "instance-id: drive\n")
            guests.power_on(machine(boot_data=drive))
            await api.wait(10)
            assert not await api.exists("/api/v1/nodes/ship-1")
            disk = guests.machines[100].disk
            disk.files |= {
                f"{SEED}/user-data": joining().encode(),
                f"{SEED}/meta-data": b"instance-id: seed\n",
                f"{SEED}/network-config": STATIC.encode(),
                "/etc/cloud/cloud.cfg.d/99.cfg": b"datasource: {NoCloud: {fs_label: null}}",
            }
            await guests.machines[100].ask("exec", {"path": "cloud-init", "arg": ["clean", "--reboot"]})
            await api.wait(20)
            assert (await api.ready("ship-1"))[0] == "True"
            disk.files[f"{SEED}/user-data"] = b"#cloud-config\n"
            guests.reset(100)
            await api.wait(20)
            assert (await api.ready("ship-1"))[0] == "True"

    run(main())
