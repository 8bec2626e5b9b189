"""Images on an emulated data center, on virtual time: made once, found again, and told of when they cannot be made."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from nagaya.infrastructure.proxmox.client import Phase
from nagaya.infrastructure.proxmox.image.checksum import Checksum
from nagaya.infrastructure.proxmox.image.image import Image
from nagaya.infrastructure.proxmox.image.marker import RETIRED
from nagaya.infrastructure.proxmox.image.wanted import Wanted
from nagaya.simulators.proxmox.faults.fault import Steps, TaskFault, TaskKind
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.state.guest import Guest
from support.proxmox_image_lab import URL, digest, image_lab, on_local_disks
from support.virtual_run import run


@pytest.mark.parametrize("version", ["9.2.11", "8.4.1"])
def test_every_host_gets_a_template_and_a_second_run_has_nothing_to_do(version: str) -> None:
    async def main() -> None:
        async with image_lab(version=version) as it:
            image = it.publish(digest("first"))
            result = await it.add(on_local_disks(image))
            assert result.complete
            assert not result.notes
            made = it.images()
            assert sorted(guest.node for guest in made.values()) == ["pve1", "pve2", "pve3"]
            for vmid, guest in made.items():
                assert guest.config["template"] == 1
                assert guest.config["tags"] == "debian-13"
                assert guest.config["name"] == "debian-13"
                assert str(guest.config["scsi0"]).startswith(f"local-lvm:base-{vmid}-disk-0,")
                assert guest.config["scsihw"] == "virtio-scsi-single"
                assert vmid in it.center.emulator.datacenter.pools["nagaya"].vms
            assert it.files() == []
            before = len(it.center.transport.sent)
            again = await it.plan(on_local_disks(image))
            assert again.nothing
            assert all(each.why == f"{each.host} has it: template {each.vmid}." for each in again.hosts)
            assert all(request.method == "GET" for _, request in it.center.transport.sent[before:])

    run(main())


def test_it_is_told_how_far_a_download_is() -> None:
    async def main() -> None:
        async with image_lab(hosts=1, pace=Pace(download_per_mib=0.1)) as it:
            await it.add(on_local_disks(it.publish(digest("first"))))
            far = [int(what.split()[1].rstrip("%")) for _, what in it.told if what.startswith("download: ")]
            assert len(far) > 5
            assert far == sorted(far)

    run(main())


def test_where_all_hosts_see_the_disks_one_template_is_enough() -> None:
    async def main() -> None:
        async with image_lab() as it:
            image = it.publish(digest("first"))
            wanted = Wanted(image, storage="shared")
            result = await it.add(wanted)
            assert result.complete
            assert len(it.images()) == 1
            assert (await it.plan(wanted)).nothing

    run(main())


def test_hosts_that_see_the_same_files_download_once() -> None:
    async def main() -> None:
        async with image_lab() as it:
            image = it.publish(digest("first"))
            result = await it.add(on_local_disks(image, import_storage="shared"))
            assert result.complete
            assert len(it.images()) == 3
            assert it.asked("POST /nodes/pve1/storage/shared/download-url") == it.asked("/download-url") == 1

    run(main())


def test_a_newer_build_takes_the_place_of_the_older_one() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            await it.add(on_local_disks(it.publish(digest("first"))))
            result = await it.add(on_local_disks(it.publish(digest("second"))))
            assert result.complete
            assert sorted(str(guest.config["tags"]) for guest in it.images().values()) == ["debian-13", RETIRED]
            newest = max(it.images())
            assert it.images()[newest].config["tags"] == "debian-13"

    run(main())


def test_the_tag_of_a_version_is_what_selectors_ask_for() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            image = replace(it.publish(digest("baked")), kubernetes="v1.36.3")
            assert (await it.add(on_local_disks(image))).complete
            (guest,) = it.images().values()
            assert guest.config["tags"] == "debian-13;kubernetes-v1.36.3"
            assert guest.config["name"] == "debian-13-k8s-v1-36-3"

    run(main())


def test_a_wrong_checksum_leaves_nothing_and_says_what_to_do() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            image = replace(it.publish(digest("first")), checksum=Checksum("sha512", digest("other")))
            result = await it.add(on_local_disks(image))
            (outcome,) = result.hosts
            assert "checksum mismatch" in outcome.problem
            assert "Run this again without --checksum" in outcome.problem
            assert not it.images()
            assert it.files() == []

    run(main())


def test_a_download_that_several_hosts_wait_for_is_told_once_and_no_file_is_said_to_stay() -> None:
    async def main() -> None:
        async with image_lab() as it:
            image = replace(it.publish(digest("first")), checksum=Checksum("sha512", digest("other")))
            result = await it.add(on_local_disks(image, import_storage="shared"))
            first, *others = result.hosts
            assert "checksum mismatch" in first.problem
            assert {each.problem for each in others} == {
                "it waits for the image, which pve1 could not download: see there."
            }
            assert result.notes == ()
            assert it.asked("/download-url") == 1

    run(main())


def test_a_host_that_is_off_is_told_and_done_by_the_next_run() -> None:
    async def main() -> None:
        async with image_lab() as it:
            image = it.publish(digest("first"))
            it.control.power_off("pve2")
            result = await it.add(on_local_disks(image))
            assert {each.host: each.problem for each in result.hosts} == {
                "pve1": "",
                "pve2": "pve2 is off: run this again when it is back.",
                "pve3": "",
            }
            it.control.power_on("pve2")
            again = await it.add(on_local_disks(image))
            assert again.complete
            assert [each.host for each in again.hosts if each.changed] == ["pve2"]
            assert len(it.images()) == 3

    run(main())


def test_a_host_that_dies_on_the_way_keeps_no_other_from_being_done() -> None:
    async def main() -> None:
        async with image_lab(pace=Pace(download_per_mib=0.1)) as it:
            image = it.publish(digest("first"))
            working = asyncio.ensure_future(it.add(on_local_disks(image)))
            await it.until(lambda: it.asked("/download-url") == 3)
            it.control.power_off("pve3")
            result = await working
            problems = {each.host: each.problem for each in result.hosts}
            assert problems["pve1"] == problems["pve2"] == ""
            assert "pve3" in problems["pve3"]
            it.control.power_on("pve3")
            assert (await it.add(on_local_disks(image))).complete
            assert len(it.images()) == 3

    run(main())


def test_a_full_storage_is_told_with_what_to_do() -> None:
    async def main() -> None:
        async with image_lab(hosts=2) as it:
            image = it.publish(digest("first"))
            it.control.faults.set(
                TaskFault(
                    TaskKind.FAIL,
                    Steps("qmcreate", node="pve2", step="copy"),
                    text="qemu-img: error while writing at byte 0: No space left on device",
                )
            )
            result = await it.add(on_local_disks(image))
            problems = {each.host: each.problem for each in result.hosts}
            assert problems["pve1"] == ""
            assert "No space left" in problems["pve2"]
            assert "make room" in problems["pve2"]
            it.control.faults.clear()
            assert (await it.add(on_local_disks(image))).complete
            assert len(it.images()) == 2

    run(main())


def test_a_pool_that_does_not_exist_is_told_with_the_command_that_makes_it() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            (outcome,) = (await it.add(on_local_disks(it.publish(digest("first")), pool="nope"))).hosts
            assert "nope" in outcome.problem
            assert "pveum pool add" in outcome.problem

    run(main())


def test_a_vmid_that_somebody_takes_meanwhile_is_left_to_him() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            image = it.publish(digest("first"))
            planned = await it.plan(on_local_disks(image))
            vmid = planned.hosts[0].vmid
            assert vmid is not None
            stranger = Guest(vmid, "pve1", {"name": "stranger", "memory": "64"})
            it.center.emulator.datacenter.guests[vmid] = stranger
            result = await it.run(on_local_disks(image)).apply(planned)
            assert result.complete
            assert it.center.emulator.datacenter.guests[vmid] is stranger
            assert stranger.config == {"name": "stranger", "memory": "64"}
            assert vmid not in it.images()
            assert len(it.images()) == 1

    run(main())


def test_a_clone_that_somebody_made_is_not_taken_for_an_unfinished_image() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            image = it.publish(digest("first"))
            await it.add(on_local_disks(image))
            (vmid,) = it.images()
            task = await it.center.client.machines.clone("pve1", vmid, 9500, name="mine", full=True)
            assert (await it.center.client.tasks.wait(task)).phase is Phase.SUCCEEDED
            await it.center.client.machines.configure("pve1", 9500, {}, delete=("tags",))
            assert (await it.plan(on_local_disks(image))).nothing
            newer = on_local_disks(it.publish(digest("second")))
            assert (await it.add(newer)).complete
            clone = it.center.emulator.datacenter.guests[9500].config
            assert "template" not in clone or not clone["template"]
            assert "tags" not in clone

    run(main())


def test_an_unfinished_image_outside_the_range_of_vmids_is_found_by_its_name_and_finished() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            image = it.publish(digest("first"))
            it.control.faults.set(TaskFault(TaskKind.FAIL, Steps("qmtemplate")))
            (outcome,) = (await it.add(on_local_disks(image, vmids=range(500, 600)))).hosts
            assert outcome.problem
            it.control.faults.clear()
            await asyncio.sleep(11)  # virtual time: the host has reported the name
            assert not it.images()[500].template
            assert (await it.add(on_local_disks(image))).complete
            (guest,) = it.images().values()
            assert (guest.vmid, guest.template, guest.config["tags"]) == (500, True, "debian-13")

    run(main())


def test_a_storage_is_made_to_take_images_if_that_was_asked_for() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            for storage in it.center.emulator.datacenter.storages.values():
                contents = [each for each in storage.contents if each != "import"]
                storage.options["content"] = ",".join(contents)
            image = it.publish(digest("first"))
            result = await it.add(on_local_disks(image, enable_import=True))
            assert result.complete
            assert "import" in it.center.emulator.datacenter.storages["local"].contents
            assert "iso" in it.center.emulator.datacenter.storages["local"].contents

    run(main())


def test_cappx_167_without_the_image_no_vm_is_made_and_it_is_told_what_was_not_found() -> None:
    """There the VM was made first, and its disk was an image that nobody had fetched."""

    async def main() -> None:
        async with image_lab(hosts=1) as it:
            nowhere = Image("debian-13", URL, Checksum("sha512", digest("first")))
            result = await it.add(on_local_disks(nowhere))
            (outcome,) = result.hosts
            assert "download failed" in outcome.problem
            assert f"pve1 does not reach the server of {URL}" in outcome.problem
            assert not it.images()
            assert it.asked("POST /nodes/pve1/qemu") == 0

    run(main())
