"""Machines that the HA manager of Proxmox VE looks after: handed to it, kept apart, followed, and taken from it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from nagaya.infrastructure.proxmox.privileges.setup import setup
from support.proxmox_rights import SCOPE, go_on_with
from support.proxmox_yard import Yard, play

HA: dict[str, Any] = {"enabled": True}
APART: dict[str, Any] = {"enabled": True, "affinity": "Separate"}


def managed(scenario: Callable[[Yard], Awaitable[None]], **options: Any) -> None:
    """Play a scenario while the HA manager goes its rounds."""

    async def with_manager(yard: Yard) -> None:
        yard.control.manager.start()
        try:
            await scenario(yard)
        finally:
            await yard.control.manager.close()

    play(with_manager, **options)


def resources(yard: Yard) -> dict[str, dict[str, Any]]:
    return yard.there.emulator.datacenter.ha.resources


def rules(yard: Yard) -> dict[str, dict[str, Any]]:
    return yard.there.emulator.datacenter.ha.rules


def as_token(yard: Yard) -> None:
    """Go on with the rights that are advised for machines without HA: Sys.Console is not among them."""
    go_on_with(yard.there, setup((9, 2), SCOPE))


def test_capmox_216_a_machine_is_handed_to_the_ha_manager_and_taken_from_it() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", ha={**HA, "maxRestart": 3, "maxRelocate": 2})
        (made,) = await yard.provisioned("a")
        resource = resources(yard)[f"vm:{made.spec.virtual_machine_id}"]
        assert (resource["state"], resource["max_restart"], resource["max_relocate"]) == ("started", 3, 2)
        await yard.node_joined("a")
        await asyncio.sleep(300)
        assert (await yard.says("a"))["Ready"][0] == "True"
        yard.there.transport.sent.clear()
        await asyncio.sleep(300)
        rest = {"GET /cluster/resources", "GET /cluster/status", f"GET /nodes/{made.status.proxmox_node}/qemu"}
        assert set(yard.there.transport.asked()) == rest
        await yard.delete("a")
        await yard.gone("a")
        assert resources(yard) == {}
        await yard.nothing_left()

    managed(scenario)


def test_capmox_563_the_ha_manager_does_not_start_again_what_is_being_deleted() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        for name in ("a", "b"):
            await yard.machine(name, ha=HA)
        await yard.provisioned("a", "b")
        await asyncio.sleep(60)
        starts = sum(each.upid.type == "qmstart" for each in yard.there.emulator.tasks.known.values())
        for name in ("a", "b"):
            await yard.delete(name)
        await yard.gone("a", "b")
        tasks = [each.upid.type for each in yard.there.emulator.tasks.known.values()]
        assert tasks.count("qmstart") == starts
        assert tasks.count("qmdestroy") == 2
        await yard.nothing_left()

    managed(scenario)


def test_a_machine_that_others_put_there_is_deleted_without_the_right_to_change_it() -> None:
    async def scenario(yard: Yard) -> None:
        as_token(yard)
        await yard.cluster()
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        resources(yard)[f"vm:{made.spec.virtual_machine_id}"] = {"type": "vm", "state": "started"}
        await asyncio.sleep(60)
        await yard.delete("a")
        await yard.gone("a")
        assert resources(yard) == {}
        tasks = [each.upid.type for each in yard.there.emulator.tasks.known.values()]
        assert tasks.count("hastop") == 1
        await yard.nothing_left()

    managed(scenario)


def test_a_token_without_the_right_is_told_which_and_where() -> None:
    async def scenario(yard: Yard) -> None:
        as_token(yard)
        await yard.cluster()
        await yard.machine("a", ha=HA)
        await asyncio.sleep(60)
        status, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
        assert (status, reason) == ("False", "NotAuthorized")
        assert "Sys.Console on /" in message
        access = yard.there.emulator.datacenter.access
        access.roles["NagayaCluster"] |= {"Sys.Console"}
        await yard.provisioned("a")
        assert len(resources(yard)) == 1

    managed(scenario)


def test_a_machine_whose_host_died_is_followed_to_where_the_ha_manager_starts_it() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", ha=HA, storage="shared")
        (made,) = await yard.provisioned("a")
        await yard.node_joined("a")
        await asyncio.sleep(60)
        yard.control.power_off(made.status.proxmox_node)
        await asyncio.sleep(60)
        assert (await yard.says("a"))["Ready"][:2] == ("Unknown", "HostUnreachable")
        await asyncio.sleep(240)
        assert (await yard.says("a"))["Ready"][0] == "True"
        now = await yard.get("a")
        assert now.status.proxmox_node not in ("", made.status.proxmox_node)
        assert (await yard.says("a"))["VirtualMachineHealthy"][:2] == ("True", "Running")
        assert now.spec.virtual_machine_id == made.spec.virtual_machine_id
        await yard.delete("a")
        await yard.gone("a")
        assert resources(yard) == {}
        await yard.nothing_left()

    managed(scenario)


def test_a_deleted_machine_of_a_dead_host_goes_when_the_ha_manager_has_moved_it() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", ha=HA, storage="shared")
        (made,) = await yard.provisioned("a")
        await yard.node_joined("a")
        await asyncio.sleep(60)
        yard.control.power_off(made.status.proxmox_node)
        await asyncio.sleep(20)
        await yard.delete("a")
        await asyncio.sleep(20)
        assert "the HA manager has moved the VM" in (await yard.says("a"))["Deleting"][2]
        await yard.gone("a")
        await yard.nothing_left()

    managed(scenario)


def test_machines_of_one_role_share_a_rule_and_one_that_finds_no_room_is_added_later() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        names = ("a", "b", "c", "d")
        for name in names:
            await yard.machine(name, ha=APART)
        made = {each.metadata.name: each for each in await yard.provisioned(*names)}
        for name in names:
            await yard.node_joined(name)
        ((rule, facts),) = rules(yard).items()
        assert rule.startswith("nagaya-fleet-harbour-worker-")
        assert (facts["type"], facts["affinity"]) == ("resource-affinity", "negative")
        members = str(facts["resources"]).split(",")
        assert len(members) == 3
        await asyncio.sleep(60)
        images = [each.id for each in yard.there.emulator.datacenter.volumes.values() if "user-data" in each.id]
        assert images == [], "boot data go also where the rule has no room"
        outside = next(n for n in names if f"vm:{made[n].spec.virtual_machine_id}" not in members)
        inside = next(n for n in names if n != outside)
        await yard.delete(inside)
        await yard.gone(inside)
        await asyncio.sleep(200)
        now = str(rules(yard)[rule]["resources"]).split(",")
        assert f"vm:{made[outside].spec.virtual_machine_id}" in now
        for name in set(names) - {inside}:
            await yard.delete(name)
        await yard.gone(*names)
        assert (rules(yard), resources(yard)) == ({}, {})

    managed(scenario)


def test_a_machine_is_added_to_rules_by_their_names_and_a_missing_one_is_told() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", ha={**HA, "rules": ["near-the-tapes"]})
        await asyncio.sleep(60)
        _, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
        assert (reason, "near-the-tapes does not exist" in message) == ("VMProvisionFailed", True)
        (sid,) = resources(yard)
        other = {"type": "vm", "state": "started"}
        resources(yard)["vm:9001"] = other
        rules(yard)["near-the-tapes"] = {"type": "node-affinity", "resources": "vm:9001", "nodes": "pve1", "strict": 0}
        await yard.provisioned("a")
        assert str(rules(yard)["near-the-tapes"]["resources"]) == f"{sid},vm:9001"

    managed(scenario)


def test_a_machine_that_is_not_to_be_managed_is_taken_from_the_manager() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", ha={"enabled": False})
        (made,) = await yard.provisioned("a")
        resources(yard)[f"vm:{made.spec.virtual_machine_id}"] = {"type": "vm", "state": "started"}
        await asyncio.sleep(120)
        assert resources(yard) == {}
        assert (await yard.says("a"))["Ready"][0] == "True"

    managed(scenario)


def test_before_proxmox_ve_9_there_are_groups_and_no_rules() -> None:
    async def scenario(yard: Yard) -> None:
        yard.there.emulator.datacenter.ha.groups["fast"] = {"type": "group", "nodes": "pve1,pve2"}
        await yard.cluster()
        await yard.machine("a", ha={**HA, "group": "fast"})
        await yard.machine("b", ha=APART)
        (made,) = await yard.provisioned("a")
        assert resources(yard)[f"vm:{made.spec.virtual_machine_id}"]["group"] == "fast"
        await asyncio.sleep(60)
        _, reason, message = (await yard.says("b"))["VirtualMachineProvisioned"]
        assert (reason, "need Proxmox VE 9" in message) == ("VMProvisionFailed", True)
        for name in ("a", "b"):
            await yard.delete(name)
        await yard.gone("a", "b")
        assert resources(yard) == {}
        await yard.nothing_left()

    managed(scenario, version="8.4.5")


def test_what_was_removed_from_the_manager_by_hand_is_put_back() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", ha=HA)
        await yard.provisioned("a")
        await yard.node_joined("a")
        await asyncio.sleep(120)
        resources(yard).clear()
        await asyncio.sleep(120)
        assert len(resources(yard)) == 1

    managed(scenario)


def test_a_vm_that_somebody_has_the_manager_stop_stays_off() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", ha=HA)
        (made,) = await yard.provisioned("a")
        await yard.node_joined("a")
        await asyncio.sleep(60)
        resources(yard)[f"vm:{made.spec.virtual_machine_id}"]["state"] = "stopped"
        await asyncio.sleep(1000)
        assert not yard.there.emulator.datacenter.guests[made.spec.virtual_machine_id or 0].running
        status, reason, message = (await yard.says("a"))["VirtualMachineHealthy"]
        assert (status, reason) == ("False", "Stopped")
        assert "left to the HA manager, which says: stopped" in message
        resources(yard)[f"vm:{made.spec.virtual_machine_id}"]["state"] = "started"
        await asyncio.sleep(120)
        assert (await yard.says("a"))["VirtualMachineHealthy"][:2] == ("True", "Running")

    managed(scenario)


def test_capmox_212_a_vm_that_the_manager_gave_up_on_is_told_with_what_to_do() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", ha=HA)
        (made,) = await yard.provisioned("a")
        vmid = made.spec.virtual_machine_id or 0
        yard.there.emulator.machines.power_off(yard.there.emulator.datacenter.guests[vmid])
        resources(yard)[f"vm:{vmid}"]["crm"] = "error"
        await asyncio.sleep(120)
        status, reason, message = (await yard.says("a"))["VirtualMachineHealthy"]
        assert (status, reason) == ("False", "Stopped")
        assert "given up on it" in message
        await yard.delete("a")
        await yard.gone("a")
        await yard.nothing_left()

    managed(scenario)
