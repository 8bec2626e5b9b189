"""More defects of others in this field: of disks that others own, hosts that machines leave, and names that change."""

from __future__ import annotations

import asyncio

from nagaya.api.proxmox.proxmox_machine import ProxmoxMachine
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.storage import Volume
from nagaya.simulators.proxmox.tasks.runner import Task
from support.proxmox_machine_seen import says, vm
from support.proxmox_yard import Yard, play


async def made_and_joined(yard: Yard, **spec: object) -> ProxmoxMachine:
    await yard.machine("a", **spec)
    (made,) = await yard.provisioned("a")
    await yard.node_joined("a")
    await asyncio.sleep(90)
    return made


def test_csi_270_a_volume_that_another_vm_owns_outlives_the_machine_that_it_is_plugged_into() -> None:
    """Volumes of a CSI driver belong to a VM that does not exist."""

    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        made = await made_and_joined(yard)
        node, vmid = made.status.proxmox_node, made.spec.virtual_machine_id or 0
        volume = Volume("local-lvm", "vm-9999-pvc-1", "images", "raw", 1 << 30, 0, node, 9999, 1 << 20)
        volumes = yard.there.emulator.datacenter.volumes
        volumes[node, volume.id] = volume
        client = yard.there.client
        await client.machines.configure(node, vmid, {"scsi5": volume.id})
        await asyncio.sleep(300)
        assert "vm-9999-pvc-1" in str(vm(yard, made).config["scsi5"]), "what others plug in stays"
        await yard.delete("a")
        await yard.gone("a")
        assert (node, volume.id) in volumes
        del volumes[node, volume.id]
        await yard.nothing_left()

    play(scenario)


def test_csi_621_a_disk_whose_task_failed_is_not_taken_for_plugged_in() -> None:
    async def scenario(yard: Yard) -> None:
        broken = True

        async def mishap(task: Task, step: str) -> None:
            if broken and task.upid.type == "qmconfig":
                raise Failure("lvcreate failed: insufficient free space\n")

        yard.there.emulator.tasks.before_step = mishap
        await yard.cluster()
        await yard.machine("a", disks={"additionalVolumes": [{"disk": "scsi1", "sizeGb": 50}]})
        message = await says(yard, "a", "TaskFailed")
        assert "Task qmconfig on pve1 failed" in message
        assert "insufficient free space" in message
        assert not (await yard.get("a")).status.bootstrap_data_provided
        broken = False
        (made,) = await yard.provisioned("a", within=900)
        assert "size=50G" in str(vm(yard, made).config["scsi1"])

    play(scenario)


def test_ccm_110_ccm_130_the_failure_domain_of_a_machine_follows_it_to_another_host() -> None:
    async def scenario(yard: Yard) -> None:
        domains = [{"name": "cellar", "nodes": ["pve1", "pve2"]}, {"name": "attic", "nodes": ["pve3"]}]
        await yard.cluster(failureDomains=domains, allowedNodes=["pve1", "pve2", "pve3"])
        made = await made_and_joined(yard, failureDomain="cellar")
        assert made.status.failure_domain == "cellar"
        client, vmid = yard.there.client, made.spec.virtual_machine_id or 0
        moving = await client.machines.migrate(
            made.status.proxmox_node, vmid, "pve3", online=True, with_local_disks=True
        )
        await client.tasks.wait(moving)
        await asyncio.sleep(90)
        status = (await yard.get("a")).status
        assert (status.proxmox_node, status.failure_domain) == ("pve3", "attic")

    play(scenario)


def test_capmox_56_a_vm_that_somebody_renamed_is_told_and_not_destroyed() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        made = await made_and_joined(yard)
        client, vmid = yard.there.client, made.spec.virtual_machine_id or 0
        await client.machines.configure(made.status.proxmox_node, vmid, {"name": "precious"})
        await yard.delete("a")
        message = await says(yard, "a", "DeletionFailed", "Deleting")
        assert "it is called precious and not a" in message
        assert "It is not destroyed: undo that, or take the line" in message
        await asyncio.sleep(600)
        assert vm(yard, made).running
        await client.machines.configure(made.status.proxmox_node, vmid, {"name": "a"})
        await yard.gone("a")
        await yard.nothing_left()

    play(scenario)


def test_capmox_724_processors_count_where_they_are_limited() -> None:
    """Hosts with 16 processors."""

    async def scenario(yard: Yard) -> None:
        await yard.cluster(allowedNodes=["pve1"], placement={"overcommit": {"cpuPercent": 100}})
        await yard.machine("a", numSockets=2, numCores=5)
        await yard.provisioned("a")
        await yard.machine("b", numCores=8)
        message = await says(yard, "b", "NoSuitableHost")
        assert "processors: 6 free, 8 needed" in message
        assert "placement.overcommit.cpuPercent" in message
        await yard.machine("c", numCores=8, placement={"overcommit": {"cpuPercent": 200}})
        await yard.provisioned("c")

    play(scenario)


def test_csi_367_all_slots_but_that_of_the_boot_disk_are_left_to_a_csi_driver() -> None:
    """A VM has thirty-one of them on its SCSI controller: whoever takes some takes volumes from its pods."""

    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        made = await made_and_joined(yard)
        config = vm(yard, made).config
        assert [each for each in config if each.startswith("scsi") and each[4:].isdigit()] == ["scsi0"]
        node, vmid = made.status.proxmox_node, made.spec.virtual_machine_id or 0
        volumes, client = yard.there.emulator.datacenter.volumes, yard.there.client
        for slot in range(1, 31):
            volume = Volume("local-lvm", f"vm-9999-pvc-{slot}", "images", "raw", 1 << 30, 0, node, 9999, 1 << 20)
            volumes[node, volume.id] = volume
            await client.machines.configure(node, vmid, {f"scsi{slot}": volume.id})
        await asyncio.sleep(300)
        held = vm(yard, made).config
        assert all(f"vm-9999-pvc-{slot}" in str(held[f"scsi{slot}"]) for slot in range(1, 31))
        assert (await yard.says("a"))["Ready"][0] == "True"

    play(scenario)


def test_karpenter_70_a_network_without_dhcp_needs_none() -> None:
    """A VNet of a VLAN zone has no DHCP server. The address is from a pool, and the boot data have it."""

    async def scenario(yard: Yard) -> None:
        datacenter = yard.there.emulator.datacenter
        datacenter.zones["office"] = {"type": "vlan", "bridge": "vmbr0"}
        datacenter.vnets["vnet7"] = {"zone": "office", "tag": 7}
        await yard.cluster()
        await yard.machine("a", network={"networkDevices": [{"name": "net0", "bridge": "vnet7", "defaultIPv4": True}]})
        (made,) = await yard.provisioned("a")
        assert "bridge=vnet7" in str(vm(yard, made).config["net0"])
        addresses = [each.address for each in made.status.addresses if each.type == "InternalIP"]
        assert addresses == ["10.0.0.10"]

    play(scenario)
