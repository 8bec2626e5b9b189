"""Machines find their hosts on an emulated data center, or are told why not. Numbers are those of CAPMOX's issues."""

from __future__ import annotations

import asyncio
from collections import Counter

from nagaya.simulators.proxmox.state.guest import Guest
from nagaya.simulators.proxmox.state.storage import Storage
from support.proxmox_yard import Yard, play

GIB = 1 << 30
NIC = {"name": "net0", "bridge": "vmbr0", "defaultIPv4": True}


async def refused(yard: Yard, name: str, reason: str = "NoSuitableHost") -> str:
    """Why a machine has no host."""

    async def told() -> bool:
        return (await yard.says(name)).get("VirtualMachineProvisioned", ("", "", ""))[1] == reason

    await yard.until(told, 60, (name,))
    return (await yard.says(name))["VirtualMachineProvisioned"][2]


def test_only_hosts_with_the_bridges_of_a_machine_get_it() -> None:
    async def scenario(yard: Yard) -> None:
        yard.there.emulator.datacenter.nodes["pve2"].bridges = ["vmbr0", "vmbr7"]
        await yard.cluster()
        await yard.machine("a", network={"networkDevices": [NIC, {"name": "net1", "bridge": "vmbr7"}]})
        await yard.machine("b", network={"networkDevices": [{**NIC, "bridge": "vmbr9"}]})
        (made,) = await yard.provisioned("a")
        assert made.status.proxmox_node == "pve2"
        message = await refused(yard, "b")
        assert "pve1, pve3: no bridge vmbr9 that may be used (there are: vmbr0)" in message
        assert "pve2: no bridge vmbr9 that may be used (there are: vmbr0, vmbr7)" in message
        assert "networkDevices[].bridge" in message
        assert "SDN.Use, which `nagaya proxmox connect` grants" in message
        yard.there.emulator.datacenter.nodes["pve3"].bridges = ["vmbr0", "vmbr9"]
        (made,) = await yard.provisioned("b")
        assert made.status.proxmox_node == "pve3"

    play(scenario)


def test_capmox_834_pci_devices_decide_on_the_host_and_are_never_given_twice() -> None:
    async def scenario(yard: Yard) -> None:
        datacenter = yard.there.emulator.datacenter
        datacenter.mappings["gpu"] = {
            "map": [
                "id=10de:1eb8,node=pve1,path=0000:41:00.0",
                "id=10de:1eb8,node=pve3,path=0000:41:00.0",
                "id=10de:1eb8,node=pve3,path=0000:42:00.0",
            ]
        }
        datacenter.guests[300] = Guest(300, "pve1", {"name": "games", "memory": 512, "hostpci0": "mapping=gpu"})
        await yard.cluster()
        for name in ("a", "b", "c"):
            await yard.machine(name, pciDevices=[{"mapping": "gpu"}])
        await asyncio.sleep(60)
        hosts = {name: (await yard.get(name)).status.proxmox_node for name in ("a", "b", "c")}
        assert Counter(hosts.values()) == {"pve3": 2, "": 1}
        waiting = next(name for name, host in hosts.items() if not host)
        message = await refused(yard, waiting)
        assert "pve1, pve3: PCI devices of mapping gpu: 0 free, 1 needed" in message
        assert "pve2: no PCI device of mapping gpu that may be used (Mapping.Use)" in message
        del datacenter.guests[300]
        (made,) = await yard.provisioned(waiting)
        assert made.status.proxmox_node == "pve1"

    play(scenario)


def test_cappx_123_a_host_that_is_on_but_does_not_answer_costs_only_itself() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        yard.control.change_host("pve1", slowness=300)
        for name in ("a", "b", "c"):
            await yard.machine(name)
        made = await yard.provisioned("a", "b", "c")
        assert {each.status.proxmox_node for each in made} == {"pve2", "pve3"}

    play(scenario)


def test_capmox_37_machines_that_come_at_once_never_get_more_than_there_is() -> None:
    async def scenario(yard: Yard) -> None:
        reserve = {"memoryMiB": 4096}
        await yard.cluster(placement={"reserve": reserve, "overcommit": {"cpuPercent": 100}})
        names = [f"m{number}" for number in range(9)]
        await asyncio.gather(*(yard.machine(name, memoryMiB=28 * 1024, numCores=8) for name in names))
        await asyncio.sleep(400)
        machines = [await yard.get(name) for name in names]
        hosts = Counter(each.status.proxmox_node for each in machines)
        # 64 GiB and 16 processors each: two machines, and no third.
        assert hosts == {"pve1": 2, "pve2": 2, "pve3": 2, "": 3}
        message = await refused(yard, next(each.metadata.name for each in machines if not each.status.proxmox_node))
        assert "pve1, pve2, pve3: memory: 4.0 GiB free, 28.0 GiB needed; processors: 0 free, 8 needed" in message

    play(scenario)


def test_capmox_577_failure_domains_are_groups_of_hosts_and_machines_in_one_are_spread() -> None:
    async def scenario(yard: Yard) -> None:
        domains = [{"name": "left", "nodes": ["pve1", "pve2"]}, {"name": "right", "nodes": ["pve3"]}]
        await yard.cluster(failureDomains=domains)
        for name in ("a", "b"):
            await yard.machine(name, failureDomain="left", placement={"spread": "Required"})
        made = await yard.provisioned("a", "b")
        assert {each.status.proxmox_node for each in made} == {"pve1", "pve2"}
        await yard.machine("c", failureDomain="left", placement={"spread": "Required"})
        message = await refused(yard, "c")
        assert "pve1, pve2: has 1 worker machine of cluster fleet/harbour already" in message
        assert "pve3: in failure domain right, not in left" in message

    play(scenario)


def test_storages_that_are_away_or_not_for_disks_are_told() -> None:
    async def scenario(yard: Yard) -> None:
        datacenter = yard.there.emulator.datacenter
        datacenter.storages["spare"] = Storage(
            "spare", "dir", {"path": "/spare", "content": "images", "disable": 1}, 100 * GIB
        )
        yard.control.reach("shared", False)
        await asyncio.sleep(400)  # until nobody reports on it any more
        await yard.cluster()
        for name, storage in (("a", "shared"), ("b", "local"), ("c", "spare")):
            await yard.machine(name, storage=storage)
        assert "pve1, pve2, pve3: storage shared cannot be reached" in await refused(yard, "a")
        assert "pve1, pve2, pve3: storage local is not for disks of VMs (content" in await refused(yard, "b")
        assert "pve1, pve2, pve3: storage spare is not there, is disabled" in await refused(yard, "c")
        yard.control.reach("shared", True)
        await yard.provisioned("a")

    play(scenario)


def test_a_host_that_went_off_is_told_with_the_time() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster(allowedNodes=["pve3"])
        await yard.machine("a")
        await yard.provisioned("a")
        yard.control.power_off("pve3")
        await asyncio.sleep(60)
        await yard.machine("b")
        message = await refused(yard, "b")
        assert "pve3: off since 20" in message
        assert "UTC" in message
        yard.control.power_on("pve3")
        await yard.provisioned("b")

    play(scenario)
