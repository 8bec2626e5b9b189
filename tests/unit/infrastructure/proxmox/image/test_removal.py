"""Images that can go, and those that may not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from nagaya.infrastructure.proxmox.image.checksum import checksum
from nagaya.infrastructure.proxmox.image.image import Image
from nagaya.infrastructure.proxmox.image.listing import listed, table
from nagaya.infrastructure.proxmox.image.marker import RETIRED, marker_of
from nagaya.infrastructure.proxmox.image.observe import observe
from nagaya.infrastructure.proxmox.image.removal import Unknown, linked_to, named, removal, remove
from nagaya.infrastructure.proxmox.image.seen import Seen, Template
from nagaya.infrastructure.proxmox.image.users import Selection, Users
from nagaya.infrastructure.proxmox.image.wanted import Wanted
from nagaya.simulators.proxmox.state.storage import Storage
from support.proxmox_image_lab import ImageLab, digest, image_lab, on_local_disks
from support.subtest_cases import subtest_cases
from support.virtual_run import run

NOBODY = Users()


def build(vmid: int, number: int, *, kubernetes: str = "", origin: str = "debian-13", **more: Any) -> Template:
    image = Image(origin, "https://x.example/a.qcow2", checksum(f"{number:0128x}"), kubernetes=kubernetes)
    marker = marker_of(image, vmid, f"2030-01-{number:02d}", "nagaya")
    fields: dict[str, Any] = {"tags": frozenset(image.tags), "marker": marker, "pool": "nagaya", **more}
    return Template(vmid, "pve1", image.name, **fields)


def seen(*templates: Template, off: bool = False) -> Seen:
    return Seen((9, 2), {"pve1": not off}, templates=templates)


def test_the_newest_builds_of_each_origin_stay() -> None:
    builds = [build(9000 + number, number) for number in (1, 2, 3)]
    other = build(9010, 1, origin="ubuntu-24.04")
    found = removal(seen(*builds, other), NOBODY, {}, keep=2)
    assert [each.vmid for each in found.going] == [9001]
    assert {each.vmid for each, why in found.staying if "among the newest 2" in why} == {9002, 9003, 9010}


def test_a_newer_kubernetes_counts_more_than_a_later_date() -> None:
    newer, later = build(9000, 1, kubernetes="v1.36.10"), build(9001, 2, kubernetes="v1.36.9")
    assert [each.vmid for each in removal(seen(newer, later), NOBODY, {}, keep=1).going] == [9001]


def test_what_is_unfinished_goes_only_by_name() -> None:
    unfinished = build(9000, 1, template=False, tags=frozenset())
    assert "it is unfinished" in removal(seen(unfinished), NOBODY, {}, keep=0).staying[0][1]
    assert removal(seen(unfinished), NOBODY, {}, only=[unfinished]).going == (unfinished,)


@subtest_cases(
    ("template", "users", "linked", "off", "words"),
    [
        (build(9000, 1), Users((Selection("ProxmoxMachine a/b", 9000),)), {}, False, "selected by ProxmoxMachine a/b"),
        (build(9000, 1), NOBODY, {9000: ("s:base-9000-disk-0/vm-100-disk-0",)}, False, "vm-100-disk-0"),
        (build(9000, 1), NOBODY, {}, True, "pve1 is off"),
        (build(9000, 1, marker=None), NOBODY, {}, False, "Nagaya did not make it"),
        (build(9000, 1, marker=None, read=False), NOBODY, {}, False, "pve1 could not tell of it"),
        (build(9000, 1, lock="clone"), NOBODY, {}, False, "locked (clone)"),
        (build(9000, 1, running=True, template=False), NOBODY, {}, False, "somebody started it"),
        (build(9000, 1, pool="theirs"), NOBODY, {}, False, "it is in pool theirs and was put in pool nagaya"),
        (replace(build(9000, 1), name="golden"), NOBODY, {}, False, "it is called golden"),
    ],
    ids=["selected", "linked", "off", "foreign", "unread", "locked", "running", "moved", "renamed"],
)
def test_what_stays_whoever_asks(
    template: Template, users: Users, linked: dict[int, tuple[str, ...]], off: bool, words: str
) -> None:
    found = removal(seen(template, off=off), users, linked, only=[template])
    assert not found.going
    assert words in found.staying[0][1]


def test_a_name_that_nobody_has_is_told_with_those_there_are() -> None:
    with pytest.raises(Unknown, match="There is no image nope: there are debian-13"):
        named(seen(build(9000, 1)), ["nope"])
    assert [each.vmid for each in named(seen(build(9000, 1)), ["debian-13", "9000"])] == [9000]


async def look(it: ImageLab) -> Seen:
    return await observe(it.center.client)


def test_a_removed_image_leaves_no_disk() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            await it.add(on_local_disks(it.publish(digest("first"))))
            (vmid,) = it.images()
            found = removal(await look(it), NOBODY, {}, keep=0)
            (gone,) = [await remove(it.center.client, each, lambda *_: None) for each in found.going]
            assert not gone.problem
            assert not it.images()
            volumes = it.center.emulator.datacenter.volumes.values()
            assert not [each.id for each in volumes if each.vmid == vmid]
            assert len(it.center.emulator.datacenter.guests) == 1

    run(main())


@pytest.mark.parametrize("change", ["name", "description", "pool"])
def test_what_is_another_by_now_is_not_touched(change: str) -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            await it.add(on_local_disks(it.publish(digest("first"))))
            (vmid,) = it.images()
            (template,) = (await look(it)).ours()
            guest = it.center.emulator.datacenter.guests[vmid]
            if change == "pool":
                it.center.emulator.datacenter.pools["nagaya"].vms.discard(vmid)
            else:
                guest.config[change] = "somebody's"
            before = dict(guest.config)
            gone = await remove(it.center.client, template, lambda *_: None)
            assert "not touched" in gone.problem
            assert it.center.emulator.datacenter.guests[vmid].config == before

    run(main())


def test_an_image_goes_beside_a_dead_storage_with_what_a_failed_import_has_left() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            await it.add(on_local_disks(it.publish(digest("first"))))
            (vmid,), datacenter = it.images(), it.center.emulator.datacenter
            given = {"vmid": vmid, "filename": f"vm-{vmid}-disk-7", "size": "1G"}
            left = str(await it.center.client.calls.post("/nodes/pve1/storage/local-lvm/content", given))
            given["filename"] = f"vm-{vmid}-disk-8"
            older = str(await it.center.client.calls.post("/nodes/pve1/storage/local-lvm/content", given))
            next(each for each in datacenter.volumes.values() if each.id == older).ctime -= 10**7
            datacenter.storages["dead"] = Storage("dead", "nfs", {"content": "images"}, reachable=False)
            (template,) = (await look(it)).ours()
            datacenter.storages["local-lvm"].reachable = False
            said = (await remove(it.center.client, template, lambda *_: None)).problem
            assert "storage local-lvm cannot be reached from pve1" in said
            assert vmid in it.images()
            datacenter.storages["local-lvm"].reachable = True
            assert (await remove(it.center.client, template, lambda *_: None)).problem == ""
            assert not it.images()
            volumes = {each.id for each in datacenter.volumes.values() if each.vmid == vmid}
            assert volumes == {older}
            assert left != older

    run(main())


def test_a_template_that_disks_are_linked_to_is_found_and_refused() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            image = it.publish(digest("first"))
            assert (await it.add(Wanted(image, storage="shared"))).complete
            (vmid,) = it.images()
            client = it.center.client
            task = await client.machines.clone("pve1", vmid, 500, name="worker", full=False)
            await client.tasks.wait(task)
            (template,) = (await look(it)).ours()
            linked = await linked_to(client, [template])
            assert any("vm-500-disk-0" in each for each in linked[vmid])
            assert not removal(await look(it), NOBODY, linked).going
            gone = await remove(client, template, lambda *_: None)
            assert "linked to it" in gone.problem
            assert vmid in it.images()

    run(main())


def test_a_list_shows_each_image_once_with_its_hosts() -> None:
    async def main() -> None:
        async with image_lab(hosts=2) as it:
            await it.add(on_local_disks(it.publish(digest("first"))))
            await it.add(on_local_disks(it.publish(digest("second"))))
            ours = [each for each in listed(await look(it), NOBODY) if each.state != "not ours"]
            assert [(each.name, each.state, len(each.templates)) for each in ours] == [
                ("debian-13", "ready", 2),
                ("debian-13", "retired", 2),
            ]
            assert ours[1].shown["tags"] == [RETIRED]
            assert ours[0].shown["usedBy"] == []
            lines = table(listed(await look(it))).splitlines()
            assert lines[0].split()[0] == "NAME"
            it.control.power_off("pve2")
            await asyncio.sleep(5)
            states = {each.templates[0].host: each.state for each in listed(await look(it)) if each.state == "unknown"}
            assert states == {"pve2": "unknown"}
            assert "pve1 (9004), pve2 (9005)" in lines[1]

    run(main())
