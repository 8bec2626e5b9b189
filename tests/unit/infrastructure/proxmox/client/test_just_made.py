"""What the list does not say yet of machines that were just made."""

from __future__ import annotations

from dataclasses import replace

from nagaya.infrastructure.proxmox.client.just_made import filled_in
from nagaya.infrastructure.proxmox.client.rows import Status
from support.proxmox_image_lab import digest, image_lab, on_local_disks
from support.virtual_run import run


def test_a_template_is_known_as_one_before_the_list_says_so_and_others_stay_as_they_are() -> None:
    async def main() -> None:
        async with image_lab() as it:
            await it.add(on_local_disks(it.publish(digest("first"))))
            client = it.center.client
            before = await client.inventory.get(0)
            after = await filled_in(client, before)
            fresh = set(it.images())
            assert {(before.machines[vmid].template, after.machines[vmid].template) for vmid in fresh} == {(None, True)}
            assert {after.machines[vmid].tags for vmid in fresh} == {("debian-13",)}
            assert {vmid: row for vmid, row in after.machines.items() if vmid not in fresh} == {
                vmid: row for vmid, row in before.machines.items() if vmid not in fresh
            }

    run(main())


def test_a_machine_that_became_a_template_since_its_host_told_of_it_is_known_as_one() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            client = it.center.client
            await it.add(on_local_disks(it.publish(digest("first"))))
            (vmid,) = it.images()
            found = await client.inventory.get(0)
            late = replace(found.machines[vmid], template=False, status=Status.STOPPED)
            runs = replace(late, vmid=100, status=Status.RUNNING)
            after = await filled_in(client, replace(found, machines={vmid: late, 100: runs}))
            assert after.machines[vmid].template
            assert after.machines[100] == runs

    run(main())


def test_a_machine_on_a_host_that_is_off_is_not_asked_for() -> None:
    async def main() -> None:
        async with image_lab() as it:
            await it.add(on_local_disks(it.publish(digest("first"))))
            it.control.power_off("pve3")
            client = it.center.client
            before = await client.inventory.get(0)
            asked = it.asked("GET /nodes/pve3/")
            after = await filled_in(client, before)
            assert it.asked("GET /nodes/pve3/") == asked
            assert {row.template for vmid, row in after.machines.items() if vmid in it.images()} == {True, None}

    run(main())
