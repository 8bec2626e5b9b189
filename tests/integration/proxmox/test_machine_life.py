"""Machines on an emulated data center: made, scaled, moved, taken in and deleted."""

from __future__ import annotations

import asyncio

import pytest

from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS
from nagaya.api.proxmox.proxmox_machine import TASK_BEGUN
from nagaya.infrastructure.proxmox.privileges.setup import setup
from nagaya.insight.story.tasks import named_in
from support.proxmox_machine_seen import events
from support.proxmox_rights import SCOPE, go_on_with
from support.proxmox_yard import Yard, play

VERSIONS = ["9.2.11", "8.4.5"]


@pytest.mark.parametrize("version", VERSIONS)
def test_omni_51_three_machines_are_made_on_three_hosts_and_leave_nothing_behind(version: str) -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        for name in ("a", "b", "c"):
            await yard.machine(name)
        made = await yard.provisioned("a", "b", "c")
        assert {each.status.proxmox_node for each in made} == {"pve1", "pve2", "pve3"}
        assert len({each.spec.virtual_machine_id for each in made}) == 3
        for each in made:
            guest = yard.there.emulator.datacenter.guests[each.spec.virtual_machine_id or 0]
            assert each.spec.provider_id == f"proxmox://{str(guest.config['smbios1']).partition('uuid=')[2]}"
            assert guest.config["memory"] in (4096, "4096")
            assert "size=30G" in str(guest.config["scsi0"])
            assert [address.type for address in each.status.addresses] == ["Hostname", "InternalIP"]
        for name in ("a", "b", "c"):
            await yard.delete(name)
        await yard.gone("a", "b", "c")
        await yard.nothing_left()

    play(scenario, version=version)


def test_boot_data_are_removed_when_the_machine_has_its_node() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        datacenter = yard.there.emulator.datacenter
        assert [each.id for each in datacenter.volumes.values() if "user-data" in each.id]
        await yard.node_joined("a")
        await asyncio.sleep(30)
        assert [each.id for each in datacenter.volumes.values() if "user-data" in each.id] == []
        guest = datacenter.guests[made.spec.virtual_machine_id or 0]
        assert "user-data" not in str(guest.config)

    play(scenario)


def test_every_task_of_a_machine_is_told_in_an_event_that_outlives_it() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        await yard.provisioned("a")
        await yard.node_joined("a")
        await asyncio.sleep(30)
        await yard.delete("a")
        await yard.gone("a")
        told = await events(yard, "a", TASK_BEGUN)
        types = [named_in(each)[0].type for each in told]
        assert [types[0], types[-1]] == ["qmclone", "qmdestroy"]
        assert {"imgcopy", "qmstart", "qmstop"} <= set(types)
        assert all(each.endswith(":)") and ". (UPID:" in each for each in told)
        assert "The VM is started on" in told[types.index("qmstart")]
        assert "The boot data are removed" in told[types.index("imgdel")]

    play(scenario)


def test_bpg_1411_telmate_168_a_vm_that_moved_to_another_host_is_followed() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        await yard.node_joined("a")
        await asyncio.sleep(30)
        vmid, node = made.spec.virtual_machine_id or 0, made.status.proxmox_node
        target = next(each for each in ("pve1", "pve2", "pve3") if each != node)
        client = yard.there.client
        await client.tasks.wait(await client.machines.migrate(node, vmid, target, online=True, with_local_disks=True))
        await asyncio.sleep(90)
        assert (await yard.get("a")).status.proxmox_node == target
        assert (await yard.says("a"))["Ready"][0] == "True"
        await yard.delete("a")
        await yard.gone("a")
        await yard.nothing_left()

    play(scenario)


def test_no_more_than_two_machines_are_cloned_to_a_storage_at_a_time() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        for number in range(5):
            await yard.machine(f"m{number}", storage="shared")
        most = 0
        for _ in range(200):
            tasks = yard.there.emulator.tasks.known.values()
            most = max(most, sum(each.upid.type == "qmclone" and each.running for each in tasks))
            await asyncio.sleep(0.5)
        await yard.provisioned(*(f"m{number}" for number in range(5)))
        assert most == 2

    play(scenario)


def test_capmox_864_a_machine_that_fits_nowhere_waits_and_is_made_when_there_is_room() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster(allowedNodes=["pve1"])
        await yard.machine("a", memoryMiB=60 * 1024)
        await yard.provisioned("a")
        await yard.machine("b", memoryMiB=60 * 1024)
        await asyncio.sleep(600)
        _, reason, message = (await yard.says("b"))["VirtualMachineProvisioned"]
        assert reason == "NoSuitableHost"
        assert "pve1: memory: 4.0 GiB free, 60.0 GiB needed" in message
        await yard.delete("a")
        await yard.provisioned("b")

    play(scenario)


def test_a_machine_without_a_reservation_is_taken_in_by_its_uuid() -> None:
    """As one is that CAPMOX made: it has VMID and provider ID, and its VM has no marker."""

    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        client = yard.there.client
        await client.tasks.wait(await client.machines.clone("pve1", 9001, 150, name="old", full=False))
        uuid = (await client.machines.config("pve1", 150)).uuid
        await yard.machine("old", virtualMachineID=150, providerID=f"proxmox://{uuid}")
        await asyncio.sleep(20)
        (reservation,) = await yard.reservations()
        assert reservation.spec.vmid == 150
        assert reservation.spec.machine_ref.uid in str(yard.there.emulator.datacenter.guests[150].config["description"])
        await yard.delete("old")
        await yard.gone("old")
        await yard.nothing_left()

    play(scenario)


def test_capmox_29_addresses_by_dhcp_are_read_back_from_the_guest() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster(addressing="dhcp")
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        assert [each.type for each in made.status.addresses][:2] == ["Hostname", "InternalIP"]
        assert (await yard.user.list(IP_ADDRESS_CLAIMS)).items == []

    play(scenario)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_token_with_no_more_than_the_advised_privileges_is_enough(version: str) -> None:
    async def scenario(yard: Yard) -> None:
        go_on_with(yard.there, setup((9, 2) if version.startswith("9") else (8, 4), SCOPE))
        await yard.cluster()
        for name in ("a", "b"):
            await yard.machine(name)
        await yard.provisioned("a", "b")
        await yard.node_joined("a")
        await asyncio.sleep(30)
        for name in ("a", "b"):
            await yard.delete(name)
        await yard.gone("a", "b")
        await yard.nothing_left()

    play(scenario, version=version)
