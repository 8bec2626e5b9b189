"""Defects of others in this field, each played once: a machine has to come through it. Named after their issues."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from nagaya.api.cluster.machine import MACHINES
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.infrastructure.proxmox.client import Endpoint, Trust
from nagaya.infrastructure.proxmox.client.transport import Answer, Request
from nagaya.infrastructure.proxmox.privileges.setup import setup
from nagaya.kube.patches import Merge
from nagaya.simulators.proxmox.guests import passive
from nagaya.simulators.proxmox.pace import Pace
from support.proxmox_rights import SCOPE, give, go_on_with
from support.proxmox_yard import NAMESPACE, TAGS, Yard, play

TEMPLATES = (9001, 9002, 9003)


def guests(yard: Yard) -> list[int]:
    """The VMs that are no templates."""
    return sorted(vmid for vmid, each in yard.there.emulator.datacenter.guests.items() if not each.template)


def tasks(yard: Yard, kind: str) -> int:
    return sum(each.upid.type == kind for each in yard.there.emulator.tasks.known.values())


def templates(yard: Yard, **options: Any) -> None:
    """Change options of all templates."""
    for vmid in TEMPLATES:
        config = yard.there.emulator.datacenter.guests[vmid].config
        config |= options
        for name in [name for name, value in config.items() if value is None]:
            del config[name]


def before(yard: Yard, path: str, do: Callable[[], Awaitable[None]]) -> None:
    """Have something happen right before the first change of that kind reaches Proxmox VE."""
    send = yard.there.transport.send
    done: list[bool] = []

    async def sending(endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
        if request.method != "GET" and request.path.endswith(path) and not done:
            done.append(True)
            await do()
        return await send(endpoint, trust, request)

    vars(yard.there.transport)["send"] = sending


def test_capmox_848_a_clone_that_already_is_as_it_should_be_is_started() -> None:
    async def scenario(yard: Yard) -> None:
        templates(yard, memory="4096", cores=2, ide2=None, tags=";".join(sorted([*TAGS, "nagaya"])))
        await yard.cluster()
        await yard.machine("a", disks=None, templateSelector={"matchTags": TAGS, "matchPolicy": "uniqueSubset"})
        (made,) = await yard.provisioned("a")
        assert yard.there.emulator.datacenter.guests[made.spec.virtual_machine_id or 0].running
        changed = [each for each in yard.there.transport.asked() if each.startswith("PUT") and "/config" in each]
        assert len(changed) == 1, "only the boot data had to be added"

    play(scenario)


def test_capmox_856_a_vmid_that_somebody_took_meanwhile_is_left_to_him() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        machines, wait = yard.there.client.machines, yard.there.client.tasks.wait

        async def taken() -> None:
            await wait(await machines.create("pve2", 100, {"name": "stranger", "memory": 512}))

        before(yard, "/clone", taken)
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        assert made.spec.virtual_machine_id != 100
        await yard.delete("a")
        await yard.gone("a")
        assert guests(yard) == [100]
        assert yard.there.emulator.datacenter.guests[100].config["name"] == "stranger"

    play(scenario)


def test_capmox_856_omni_28_the_vm_of_a_machine_that_got_a_used_vmid_survives_the_deletion_of_the_first() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        (first,) = await yard.provisioned("a")
        vmid, node = first.spec.virtual_machine_id or 0, first.status.proxmox_node
        client = yard.there.client
        await client.tasks.wait(await client.machines.stop(node, vmid))
        await client.tasks.wait(await client.machines.destroy(node, vmid))
        await yard.machine("b", vmIDRange={"start": vmid, "end": vmid + 5})
        (second,) = await yard.provisioned("b")
        assert second.spec.virtual_machine_id != vmid, "the VMID is reserved for as long as its machine is there"
        await yard.delete("a")
        await yard.gone("a")
        assert guests(yard) == [second.spec.virtual_machine_id]

    play(scenario)


def test_capmox_842_bpg_1610_bpg_1709_machines_of_many_clusters_never_share_a_vmid() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        names = [f"m{number}" for number in range(8)]
        for name in names:
            await yard.machine(name, memoryMiB=1024)
        made = await yard.provisioned(*names)
        assert len({each.spec.virtual_machine_id for each in made}) == len(names)
        assert tasks(yard, "qmclone") == len(names)

    play(scenario)


def test_capmox_742_a_vm_that_moves_while_it_is_deleted_does_not_stay_behind() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", storage="shared")
        (made,) = await yard.provisioned("a")
        await yard.node_joined("a")
        await asyncio.sleep(30)
        vmid, node = made.spec.virtual_machine_id or 0, made.status.proxmox_node
        target = next(each for each in ("pve1", "pve2", "pve3") if each != node)
        client = yard.there.client

        async def moves() -> None:
            await client.tasks.wait(await client.machines.migrate(node, vmid, target, online=True))

        before(yard, "/status/stop", moves)
        await yard.delete("a")
        await yard.gone("a")
        await yard.nothing_left()

    play(scenario)


def test_virtrigaud_262_a_machine_stays_while_the_destruction_of_its_vm_fails() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        guest = yard.there.emulator.datacenter.guests[made.spec.virtual_machine_id or 0]

        async def locked() -> None:
            guest.config["lock"] = "backup"

        before(yard, "/status/stop", locked)
        await yard.delete("a")
        await asyncio.sleep(120)
        status, reason, message = (await yard.says("a"))["Deleting"]
        assert (status, reason) == ("True", "DeletionFailed")
        assert "locked (backup)" in message
        del guest.config["lock"]
        await yard.gone("a", within=900)
        await yard.nothing_left()

    play(scenario)


def test_capmox_31_a_machine_that_never_had_a_vm_goes_at_once() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", memoryMiB=1024 * 1024)
        await asyncio.sleep(60)
        assert (await yard.says("a"))["VirtualMachineProvisioned"][1] == "NoSuitableHost"
        await yard.delete("a")
        await yard.gone("a", within=10)
        assert await yard.reservations() == []

    play(scenario)


def test_capmox_265_a_machine_whose_vm_is_gone_already_goes() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        vmid, node = made.spec.virtual_machine_id or 0, made.status.proxmox_node
        client = yard.there.client
        await client.tasks.wait(await client.machines.stop(node, vmid))
        await client.tasks.wait(await client.machines.destroy(node, vmid))
        await yard.delete("a")
        await yard.gone("a", within=60)
        await yard.nothing_left()

    play(scenario)


def test_capmox_734_a_machine_whose_owner_vanished_can_be_deleted() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        await yard.provisioned("a")
        await yard.user.delete(MACHINES, NAMESPACE, "a")
        await yard.delete("a")
        await yard.gone("a")
        await yard.nothing_left()

    play(scenario)


def test_capmox_758_a_machine_whose_status_was_lost_is_found_again_and_not_made_twice() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        await yard.stop()
        lost = dict.fromkeys(("initialization", "addresses", "proxmoxNode", "taskRef", "bootstrapDataProvided"))
        await yard.user.patch(PROXMOX_MACHINES, NAMESPACE, "a", Merge({"status": lost}), subresource="status")
        await yard.start()
        (again,) = await yard.provisioned("a")
        assert again.status.addresses == made.status.addresses
        assert again.status.proxmox_node == made.status.proxmox_node
        assert (tasks(yard, "qmclone"), tasks(yard, "qmstart")) == (1, 1)

    play(scenario)


def test_capmox_8_a_task_that_ends_with_warnings_has_succeeded() -> None:
    async def scenario(yard: Yard) -> None:
        for vmid in TEMPLATES:
            config = yard.there.emulator.datacenter.guests[vmid].config
            config |= {"scsi0": f"{config['scsi0']},iothread=1", "scsihw": "virtio-scsi-pci"}
        await yard.cluster()
        await yard.machine("a")
        await yard.provisioned("a")
        (start,) = [each for each in yard.there.emulator.tasks.known.values() if each.upid.type == "qmstart"]
        assert start.exitstatus == "WARNINGS: 1"

    play(scenario)


def test_capmox_7_a_template_that_comes_later_is_found() -> None:
    async def scenario(yard: Yard) -> None:
        templates(yard, tags="another")
        await yard.cluster()
        await yard.machine("a")
        await asyncio.sleep(300)
        _, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
        assert reason == "TemplateNotFound"
        assert "`nagaya proxmox image add` makes one" in message
        templates(yard, tags=";".join(TAGS))
        await yard.provisioned("a")

    play(scenario)


def test_capmox_225_a_template_with_the_old_form_of_its_boot_order_works() -> None:
    async def scenario(yard: Yard) -> None:
        templates(yard, boot="c", bootdisk="scsi0")
        await yard.cluster()
        await yard.machine("a")
        await yard.provisioned("a")

    play(scenario)


def test_capmox_523_a_machine_type_without_ide_gets_its_boot_data_elsewhere() -> None:
    async def scenario(yard: Yard) -> None:
        templates(yard, machine="virt", ide2=None)
        await yard.cluster()
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        config = yard.there.emulator.datacenter.guests[made.spec.virtual_machine_id or 0].config
        assert "user-data" in str(config["scsi30"])

    play(scenario)


def test_capmox_112_capmox_569_boot_data_are_put_on_the_host_of_the_vm_whichever_is_asked() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster(allowedNodes=["pve3"])
        await yard.machine("a")
        await yard.provisioned("a")
        (image,) = [each for each in yard.there.emulator.datacenter.volumes.values() if "user-data" in each.id]
        assert image.node == "pve3"

    play(scenario)


def test_capmox_174_linked_clones_stay_where_their_template_is() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", full=False)
        (made,) = await yard.provisioned("a")
        (clone,) = [request for _, request in yard.there.transport.sent if request.path.endswith("/clone")]
        assert b"full=0" in clone.body
        assert b"storage=" not in clone.body
        disk = str(yard.there.emulator.datacenter.guests[made.spec.virtual_machine_id or 0].config["scsi0"])
        assert disk.startswith("local-lvm:")
        await yard.delete("a")
        await yard.gone("a")
        await yard.nothing_left()

    play(scenario)


def test_capmox_504_capmox_899_further_disks_and_the_kind_of_processor_are_as_asked_for() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        volumes = [{"disk": "scsi1", "sizeGb": 50}, {"disk": "scsi2", "sizeGb": 5, "storage": "shared"}]
        disks = {"bootVolume": {"disk": "scsi0", "sizeGb": 30}, "additionalVolumes": volumes}
        await yard.machine("a", disks=disks, cpu={"type": "host"})
        (made,) = await yard.provisioned("a")
        config = yard.there.emulator.datacenter.guests[made.spec.virtual_machine_id or 0].config
        assert "size=50G" in str(config["scsi1"])
        assert str(config["scsi2"]).startswith("shared:")
        assert str(config["cpu"]) == "host"
        await yard.delete("a")
        await yard.gone("a")
        await yard.nothing_left()

    play(scenario)


def test_csi_585_csi_605_what_is_configured_is_what_the_running_vm_has() -> None:
    """Disks that are only in the configuration, and not in the QEMU that runs, are none: all of them come before."""

    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", disks={"additionalVolumes": [{"disk": "scsi1", "sizeGb": 50}]})
        (made,) = await yard.provisioned("a")
        vmid = made.spec.virtual_machine_id or 0
        assert yard.there.emulator.datacenter.guests[vmid].pending == {}
        node, proxmox = made.status.proxmox_node, yard.there.client
        listed = await proxmox.calls.rows(f"/nodes/{node}/qemu/{vmid}/pending")
        assert "scsi1" in {row["key"] for row in listed}
        assert [row for row in listed if "pending" in row or "delete" in row] == []

    play(scenario)


@pytest.mark.parametrize(
    ("lacking", "words"),
    [
        ("SDN.Use", ("SDN.Use", "/sdn/zones/localnetwork/vmbr0")),
        ("VM.Clone", ("VM.Clone", "/vms/900")),
        ("Datastore.AllocateSpace", ("Datastore.AllocateSpace", "/storage/local-lvm")),
        ("Datastore.AllocateTemplate", ("/upload", "403")),
        ("VM.Config.Memory", ("VM.Config.Memory", "/vms/100")),
        ("VM.PowerMgmt", ("VM.PowerMgmt", "/vms/100")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_capmox_252_a_missing_privilege_is_named_with_its_path(lacking: str, words: tuple[str, ...]) -> None:
    async def scenario(yard: Yard) -> None:
        made = setup((9, 2), SCOPE)
        go_on_with(yard.there, made, lacking=lacking)
        await yard.cluster()
        await yard.machine("a")
        await asyncio.sleep(60)
        status, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
        assert (status, reason) == ("False", "NotAuthorized")
        assert all(word in message for word in words), message
        give(yard.there.emulator.datacenter, made)
        await yard.provisioned("a", within=900)

    play(scenario)


def clones(yard: Yard) -> list[tuple[str, bytes]]:
    """Which templates were cloned, and how."""
    sent = [request for _, request in yard.there.transport.sent if request.path.endswith("/clone")]
    return [(request.path.split("/")[-2], request.body) for request in sent]


def test_capmox_451_capmox_673_alike_templates_on_the_storage_of_each_host_are_cloned_where_they_are() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        for name in ("a", "b", "c"):
            await yard.machine(name)
        await yard.provisioned("a", "b", "c")
        assert sorted(vmid for vmid, _ in clones(yard)) == ["9001", "9002", "9003"]
        assert not any(b"target=" in body for _, body in clones(yard))

    play(scenario)


def test_capmox_107_a_host_that_cannot_get_the_template_is_told_and_not_tried() -> None:
    async def scenario(yard: Yard) -> None:
        for vmid in (9002, 9003):
            del yard.there.emulator.datacenter.guests[vmid]
        await yard.cluster(allowedNodes=["pve2"])
        await yard.machine("a")
        await asyncio.sleep(60)
        _, reason, message = (await yard.says("a"))["VirtualMachineProvisioned"]
        assert reason == "NoSuitableHost"
        assert "pve2: " in message
        assert clones(yard) == []

    play(scenario)


def test_karpenter_188_a_vm_is_destroyed_only_when_it_has_stopped() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a")
        await yard.provisioned("a")
        await yard.delete("a")
        await yard.gone("a", within=600)
        ended = {each.upid.type: each for each in yard.there.emulator.tasks.known.values()}
        stop, destroy = ended["qmstop"], ended["qmdestroy"]
        assert (stop.exitstatus, destroy.exitstatus) == ("OK", "OK")
        assert destroy.upid.starttime - stop.upid.starttime >= 100
        assert tasks(yard, "qmdestroy") == 1
        await yard.nothing_left()

    play(scenario, pace=Pace(stop=100))


def test_capmox_5_a_clone_whose_reply_was_lost_is_found_and_no_second_one_made() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        send = yard.there.transport.send
        lost: list[str] = []

        async def losing(endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
            answer = await send(endpoint, trust, request)
            if request.path.endswith("/clone") and not lost:
                lost.append(request.path)
                await asyncio.sleep(3600)  # the process ends before the answer is there
            return answer

        vars(yard.there.transport)["send"] = losing
        await yard.machine("a")

        async def cloned() -> bool:
            return bool(lost)

        await yard.until(cloned, 60, ("a",))
        await yard.stop()
        assert not (await yard.get("a")).status.task_ref
        await yard.start()
        await yard.provisioned("a")
        assert tasks(yard, "qmclone") == 1
        assert len(guests(yard)) == 1

    play(scenario)


def test_capmox_607_the_address_of_the_api_is_not_taken_for_one_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that leads the control plane has it on its interface."""
    real = passive.configured

    def leading(*given: Any) -> dict[str, tuple[str, list[str]]]:
        return {name: (shown, ["10.0.0.5/32", *found]) for name, (shown, found) in real(*given).items()}

    monkeypatch.setattr(passive, "configured", leading)

    async def scenario(yard: Yard) -> None:
        await yard.cluster(addressing="dhcp", controlPlaneEndpoint={"host": "10.0.0.5", "port": 6443})
        await yard.machine("a")
        (made,) = await yard.provisioned("a")
        found = [each.address for each in made.status.addresses if each.type == "InternalIP"]
        assert len(found) == 1
        assert "10.0.0.5" not in found

    play(scenario)
