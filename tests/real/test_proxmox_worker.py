"""Workers of Nagaya's Proxmox provider become real Nodes of a real hosted control plane, and go without a trace.

The commands, the controllers, the control plane, kubeadm, the kubelet and containerd are what users have, and the
objects are those of the example. Emulated is what Proxmox VE would do: keep templates, take the boot data, and switch
machines on. Machines are namespaces of this computer, which takes root.
"""

from __future__ import annotations

from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from nagaya.binaries.installer import Binaries
from support.debian import machine_packages
from support.hosted_by_hand import PROGRAMS
from support.joining import running_with
from support.netns_leftovers import leftovers
from support.proxmox_real import CONNECTION, IP_ADDRESSES, Site, holds, site
from support.proxmox_real_manifests import CLUSTER, DEPLOYMENT, addresses, example
from support.real import installed_binaries
from support.tenant_kubectl import TenantKubectl

pytestmark = pytest.mark.long("real machines start containerd and a kubelet, and join with kubeadm")

USER_DATA = "/var/lib/cloud/seed/nocloud/user-data"
SENTINEL = "/run/cluster-api/bootstrap-success.complete"


@pytest.fixture
def packages() -> Path | None:
    return machine_packages()


@pytest.fixture
def binaries() -> Binaries:
    return installed_binaries((*PROGRAMS, "kubelet", "kubeadm"))


async def test_workers_with_addresses_from_a_pool_become_ready_nodes_and_leave_nothing(
    tmp_path: Path, packages: Path | None, binaries: Binaries
) -> None:
    async with site(tmp_path, binaries, packages) as made:
        assert "Boot data goes on a CD." in await made.connect()
        version, gateway = binaries.release.kubernetes, made.host.gateway
        await made.apply(example(CONNECTION, version, gateway, pool=True))
        tenant = await made.tenant(CLUSTER)
        [first] = await made.running(1)
        node = await _is_a_node(made, tenant, first)
        assert ip_address(_internal(node)) in addresses(gateway)
        [claimed] = await made.get(IP_ADDRESSES)
        assert claimed["spec"]["address"] == _internal(node)
        await made.kubectl("scale", "machinedeployment", DEPLOYMENT, "--replicas=2")
        both = await made.running(2)
        nodes = [await _is_a_node(made, tenant, each) for each in both]
        assert len({_internal(each) for each in nodes}) == 2
        await _no_token_is_left(made, tenant)
        await made.until("the CD images are gone", partial(_no_image_is_left, made))
        await _goes(made)
    assert leftovers(made.host) == []
    assert running_with(str(tmp_path)) == running_with(str(made.processes.folder)) == []


async def test_a_worker_that_gets_its_boot_data_by_the_guest_agent_and_its_address_by_dhcp_does_likewise(
    tmp_path: Path, packages: Path | None, binaries: Binaries
) -> None:
    async with site(tmp_path, binaries, packages) as made:
        assert "Boot data goes by the guest agent." in await made.connect("--boot-data=agent")
        await made.apply(example(CONNECTION, binaries.release.kubernetes, made.host.gateway, pool=False))
        tenant = await made.tenant(CLUSTER)
        [machine] = await made.running(1)
        node = await _is_a_node(made, tenant, machine)
        assert ip_address(_internal(node)) not in addresses(made.host.gateway)
        await _no_token_is_left(made, tenant)
        await made.until("the boot data are taken out of the guest", partial(_is_erased, made, machine))
        assert not [upid for upid in made.emulator.tasks.known if ":imgcopy:" in upid]
        await _goes(made)
    assert leftovers(made.host) == []
    assert running_with(str(tmp_path)) == running_with(str(made.processes.folder)) == []


async def _goes(made: Site) -> None:
    """The user deletes the cluster, and then the connection."""
    assert holds(await made.get("proxmoxcluster", CLUSTER), "Ready")
    await made.kubectl("delete", "cluster", CLUSTER, "--wait=false")
    await made.nothing_of_clusters()
    await made.all_went_well()
    await made.kubectl("delete", "proxmoxconnection", CONNECTION, "--timeout=100s")
    assert [*(made.processes.folder / "hosted" / "tenants").iterdir()] == []


async def _is_a_node(made: Site, tenant: TenantKubectl, machine: dict[str, Any]) -> dict[str, Any]:
    """The Machine, its VM, and the Node are one, whoever is asked."""
    name = machine["metadata"]["name"]
    assert machine["status"]["nodeRef"] == {"name": name}
    [node] = [each for each in await tenant.objects("nodes") if each["metadata"]["name"] == name]
    assert holds(node, "Ready")
    vm = made.virtual_machines[name]
    uuid = str(vm.config["smbios1"]).partition("uuid=")[2].partition(",")[0]
    assert node["spec"]["providerID"] == machine["spec"]["providerID"] == f"proxmox://{uuid}"
    assert vm.running
    box = made.host.machines[name]
    assert _internal(node) == str(box.address.ip)
    told = {each["address"] for each in machine["status"]["addresses"] if each["type"] == "InternalIP"}
    assert told == {_internal(node)}
    assert (await box.run(["cat", SENTINEL])).text == "success\n"
    link = (await box.run(["cat", "/sys/class/net/eth0/address"])).text.strip()
    assert link in str(vm.config["net0"]).lower()
    return node


def _internal(node: dict[str, Any]) -> str:
    [found] = [each["address"] for each in node["status"]["addresses"] if each["type"] == "InternalIP"]
    return str(found)


async def _no_token_is_left(made: Site, tenant: TenantKubectl) -> None:
    """Nobody can join by the same data a second time."""

    async def revoked() -> bool:
        secrets = await tenant.objects("secrets", "-n", "kube-system")
        return not [each for each in secrets if each["type"] == "bootstrap.kubernetes.io/token"]

    await made.until("the tokens are revoked", revoked)


async def _no_image_is_left(made: Site) -> bool:
    volumes = [each.id for each in made.datacenter.volumes.values()]
    drives = [str(value) for vm in made.virtual_machines.values() for value in vm.config.values()]
    return not [each for each in (*volumes, *drives) if ":iso/" in each]


async def _is_erased(made: Site, machine: dict[str, Any]) -> bool:
    box = made.host.machines[machine["metadata"]["name"]]
    found = await box.run(["cat", USER_DATA])
    assert found.code == 0, found.text
    return found.text == "#cloud-config\n"
