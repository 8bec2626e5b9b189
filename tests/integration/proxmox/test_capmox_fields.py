"""Fields of CAPMOX's machines, each seen at work: in the VM that Proxmox VE has, or in what its guest is told."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.infrastructure.proxmox.virtual_machine.marker import Marker
from nagaya.simulators.proxmox.guests.passive import PassiveMachine
from nagaya.simulators.proxmox.state.datacenter import Pool
from support.proxmox_machine_seen import events, says, told, vm
from support.proxmox_yard import TAGS, Yard, play


@pytest.mark.parametrize(("percent", "fit"), [(None, 1), (100, 1), (150, 2), (50, 0), (0, 3)])
def test_memory_adjustment_is_how_much_of_a_host_is_given_away(percent: int | None, fit: int) -> None:
    """Machines of 40 GiB on a host of 64 GiB."""

    async def scenario(yard: Yard) -> None:
        hints = {} if percent is None else {"schedulerHints": {"memoryAdjustment": percent}}
        await yard.cluster(allowedNodes=["pve1"], **hints)
        names = ("a", "b", "c")[: fit + 1]
        for name in names[:fit]:
            await yard.machine(name, memoryMiB=40 * 1024)
            await yard.provisioned(name)
        for name in names[fit:]:
            await yard.machine(name, memoryMiB=40 * 1024)
            message = await says(yard, name, "NoSuitableHost")
            assert "40.0 GiB needed" in message
            assert "schedulerHints.memoryAdjustment" in message

    play(scenario)


def test_a_clone_has_description_pool_storage_format_sockets_and_tags_as_asked_for() -> None:
    async def scenario(yard: Yard) -> None:
        pools = yard.there.emulator.datacenter.pools
        pools["tenants"] = Pool()
        await yard.cluster()
        await yard.machine(
            "a", description="rack 7\nask Ops", pool="tenants", storage="shared", format="qcow2", full=True,
            numSockets=2, numCores=3, tags=["Team-A"],
        )  # fmt: skip
        (made,) = await yard.provisioned("a")
        config = vm(yard, made).config
        assert config["description"].startswith("rack 7\nask Ops\n")
        assert pools["tenants"].vms == {made.spec.virtual_machine_id}
        assert config["scsi0"].startswith("shared:")
        assert ".qcow2" in config["scsi0"]
        assert (int(config["sockets"]), int(config["cores"])) == (2, 3)
        assert "team-a" in config["tags"].split(";")
        await yard.delete("a")
        await yard.gone("a")
        assert pools["tenants"].vms == set()

    play(scenario)


def test_a_linked_clone_takes_no_space_of_its_own() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", full=False)
        (made,) = await yard.provisioned("a")
        assert vm(yard, made).config["scsi0"].startswith("local-lvm:vm-")
        (sent,) = [request for _, request in yard.there.transport.sent if request.path.endswith("/clone")]
        assert b"full=0" in sent.body
        assert b"storage=" not in sent.body

    play(scenario)


def test_a_vm_can_be_cloned_as_it_was_at_a_snapshot() -> None:
    async def scenario(yard: Yard) -> None:
        client = yard.there.client
        await client.tasks.wait(await client.machines.clone("pve1", 9001, 8000, name="golden", full=True))
        await client.machines.configure("pve1", 8000, {"cores": 3})
        await client.tasks.wait(await client.machines.snapshot("pve1", 8000, "fit"))
        await client.machines.configure("pve1", 8000, {"cores": 7})
        await yard.cluster()
        source: dict[str, Any] = {"templateSelector": None, "sourceNode": "pve1", "templateID": 8000, "numCores": None}
        await yard.machine("then", **source, snapName="fit")
        await yard.machine("now", **source)
        then, now = await yard.provisioned("then", "now")
        assert (int(vm(yard, then).config["cores"]), int(vm(yard, now).config["cores"])) == (3, 7)
        assert {then.status.proxmox_node, now.status.proxmox_node} == {"pve1"}
        await yard.machine("never", **source, snapName="unfit")
        assert "snapshot 'unfit' does not exist" in await says(yard, "never", "CloningFailed")

    play(scenario)


def test_the_vm_of_a_machine_cannot_be_cloned() -> None:
    """It may be another tenant's, and a copy would have the keys that are on its disks."""

    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("victim")
        (victim,) = await yard.provisioned("victim")
        vmid = victim.spec.virtual_machine_id
        source: dict[str, Any] = {
            "templateSelector": None,
            "sourceNode": victim.status.proxmox_node,
            "templateID": vmid,
        }
        await yard.machine("thief", **source)
        assert f"there is no template {vmid}" in await says(yard, "thief", "TemplateNotFound")
        # Nor one of another management plane, of which only the description tells.
        client = yard.there.client
        await client.tasks.wait(await client.machines.clone("pve1", 9001, 8000, name="other", full=True))
        await client.machines.configure("pve1", 8000, {"description": Marker("team-b/x", "another-uid").line()})
        source |= {"sourceNode": "pve1", "templateID": 8000}
        await yard.machine("burglar", **source)
        assert "there is no template 8000" in await says(yard, "burglar", "TemplateNotFound")

    play(scenario)


def test_a_template_by_its_id_keeps_machines_on_its_host_unless_others_are_allowed() -> None:
    async def scenario(yard: Yard) -> None:
        source: dict[str, Any] = {"templateSelector": None, "sourceNode": "pve2", "templateID": 9002}
        await yard.cluster()
        await yard.machine("a", **source)
        await yard.machine("b", **source)
        made = await yard.provisioned("a", "b")
        assert {each.status.proxmox_node for each in made} == {"pve2"}

    play(scenario)


def test_the_hosts_of_a_machine_go_before_those_of_its_cluster() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster(allowedNodes=["pve1"])
        await yard.machine("a")
        await yard.machine("b", allowedNodes=["pve3"])
        made = await yard.provisioned("a", "b")
        assert [each.status.proxmox_node for each in made] == ["pve1", "pve3"]

    play(scenario)


@pytest.mark.parametrize(
    ("tags", "policy", "meant"),
    [
        (TAGS, "exact", 9001),
        (TAGS, None, 9001),
        (["kubernetes"], "exact", "no template has the tags kubernetes and no others"),
        (["kubernetes"], "uniqueSubset", "the tags kubernetes do not tell which template is meant"),
        (["kubernetes", "gpu"], "uniqueSubset", 9002),
        (["kubernetes"], "bestSubset", 9001),
        (["talos"], "bestSubset", "no template has the tags talos"),
    ],
)
def test_cozystack_3481_tags_select_a_template_by_their_policy(
    tags: list[str], policy: str | None, meant: int | str
) -> None:
    async def scenario(yard: Yard) -> None:
        guests = yard.there.emulator.datacenter.guests
        guests[9002].config["tags"] = ";".join(sorted([*TAGS, "gpu"]))
        del guests[9003]
        await yard.cluster()
        await yard.machine("a", templateSelector={"matchTags": tags, **({"matchPolicy": policy} if policy else {})})
        if isinstance(meant, int):
            await yard.provisioned("a")
            cloned = [each for each in yard.there.transport.asked() if each.endswith("/clone")]
            assert [int(each.split("/")[-2]) for each in cloned] == [meant]
        else:
            assert meant in await says(yard, "a", "TemplateNotFound")

    play(scenario)


def test_vmids_come_from_the_range_and_when_it_is_used_up_a_machine_waits_for_one() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        given = {"start": 500, "end": 501}
        await yard.machine("a", vmIDRange=given)
        await yard.machine("b", vmIDRange=given)
        made = await yard.provisioned("a", "b")
        assert {each.spec.virtual_machine_id for each in made} == {500, 501}
        await yard.machine("c", vmIDRange=given)
        message = await says(yard, "c", "WaitingForVMID")
        assert "No VMID is free from 500 to 501 (vmIDRange)" in message
        assert "Widen vmIDRange" in message
        await yard.delete("a")
        await yard.gone("a")
        (third,) = await yard.provisioned("c", within=1200)
        assert third.spec.virtual_machine_id == made[0].spec.virtual_machine_id

    play(scenario)


@pytest.mark.parametrize(
    ("checks", "lacking"),
    [({"skipQemuGuestAgent": True}, "awake"), ({"skipCloudInitStatus": True}, "_settled")],
)
def test_checks_do_without_what_a_guest_does_not_have(
    checks: dict[str, bool], lacking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PassiveMachine, lacking, property(lambda machine: False))

    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("with", checks=checks)
        await yard.machine("without")
        await yard.provisioned("with")
        assert not (await yard.get("without")).status.initialization.provisioned

    play(scenario)


@pytest.mark.parametrize("injected", [True, False])
def test_the_provider_id_is_in_the_metadata_if_it_is_asked_for(injected: bool) -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", metadataSettings={"providerIDInjection": injected})
        (made,) = await yard.provisioned("a")
        _, meta = told(yard, made)
        assert meta.get("provider-id") == (made.spec.provider_id if injected else None)
        assert meta["instance-id"] == made.spec.provider_id.removeprefix("proxmox://")

    play(scenario)


def test_the_boot_disk_grows_never_shrinks_and_one_that_is_larger_than_asked_for_is_told() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("grown", disks={"bootVolume": {"disk": "scsi0", "sizeGb": 33}})
        await yard.machine("larger", disks={"bootVolume": {"disk": "scsi0", "sizeGb": 10}})
        grown, larger = await yard.provisioned("grown", "larger")
        assert "size=33G" in vm(yard, grown).config["scsi0"]
        assert "size=20G" in vm(yard, larger).config["scsi0"]
        assert await events(yard, "grown", "DiskLargerThanAsked") == []
        (said,) = await events(yard, "larger", "DiskLargerThanAsked")
        assert "as large as in the template (20G)" in said
        assert "asks for (10G)" in said

    play(scenario)
