"""A storage that no host can activate keeps only those VMs from being destroyed that have something on it."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from nagaya.infrastructure.proxmox.client.errors import TaskFailed
from nagaya.simulators.proxmox import request as emulated
from nagaya.simulators.proxmox.emulator import Proceed
from nagaya.simulators.proxmox.state.storage import Storage
from support.proxmox_yard import Yard, play


def die(it: Yard, kind: str = "nfs") -> Storage:
    """A storage for disks on every host, which cannot be activated."""
    options = {"content": "images,iso", "path": "/mnt/dead", "is_mountpoint": "yes"} if kind == "dir" else {}
    made = it.there.emulator.datacenter.storages["dead"] = Storage("dead", kind, options, reachable=False)
    return made


@pytest.mark.parametrize("kind", ["nfs", "dir"])
def test_a_machine_goes_while_a_storage_that_it_does_not_use_is_dead(kind: str) -> None:
    async def scenario(it: Yard) -> None:
        await it.cluster()
        await it.machine("a")
        await it.provisioned("a")
        die(it, kind)
        await it.delete("a")
        await it.gone("a")
        await it.nothing_left()

    play(scenario)


def test_a_machine_goes_while_a_storage_that_it_does_not_use_is_active_and_cannot_be_listed() -> None:
    """As an RBD storage whose pool is gone: what is reachable of it says nothing of what it holds."""

    async def scenario(it: Yard) -> None:
        async def broken(request: emulated.Request, proceed: Proceed) -> emulated.Answer:
            if request.method == "GET" and request.path.endswith("/storage/dead/content"):
                why = "rbd error: rbd: error opening pool 'gone': (2) No such file or directory"
                return emulated.Answer(500, why, body=msgspec.json.encode({"data": None, "message": why}))
            return await proceed(request)

        await it.cluster()
        await it.machine("a")
        await it.provisioned("a")
        die(it, "rbd").reachable = True
        it.there.emulator.around.append(broken)
        await it.delete("a")
        await it.gone("a")
        await it.nothing_left()

    play(scenario)


def test_a_machine_whose_deletion_failed_half_way_in_an_earlier_version_goes() -> None:
    """That version had Proxmox VE look for unreferenced disks, which failed after the VM's own disks were gone."""

    async def scenario(it: Yard) -> None:
        await it.cluster()
        await it.machine("a")
        await it.provisioned("a")
        dead = die(it)
        datacenter = it.there.emulator.datacenter
        (vmid,) = [each for each in datacenter.guests if each < 9000]
        node, client = datacenter.guests[vmid].node, it.there.client
        await client.tasks.wait(await client.machines.stop(node, vmid))
        half = {"purge": True, "destroy-unreferenced-disks": True}
        task = await client.calls.begin("DELETE", f"/nodes/{node}/qemu/{vmid}", half)
        with pytest.raises(TaskFailed, match="not online"):
            await client.tasks.wait(task)
        assert not [each for each in datacenter.volumes.values() if each.vmid == vmid]
        assert vmid in datacenter.guests
        await it.delete("a")
        await it.gone("a")
        await it.nothing_left()
        assert not dead.reachable

    play(scenario)


def test_a_machine_with_a_disk_on_the_dead_storage_says_so_and_goes_when_it_is_back() -> None:
    async def scenario(it: Yard) -> None:
        await it.cluster()
        await it.machine("a")
        await it.provisioned("a")
        dead = die(it)
        datacenter = it.there.emulator.datacenter
        (vmid,) = [each for each in datacenter.guests if each < 9000]
        datacenter.guests[vmid].config["unused3"] = f"dead:{vmid}/vm-{vmid}-disk-9.raw"
        await it.delete("a")
        await asyncio.sleep(60)
        reason, message = (await it.says("a"))["Deleting"][1:]
        assert reason == "DeletionFailed"
        assert f"storage dead cannot be reached from {datacenter.guests[vmid].node}" in message
        assert f"take the lines that name the storage out of /etc/pve/nodes/{datacenter.guests[vmid].node}" in message
        dead.reachable = True
        await it.gone("a", within=900)
        await it.nothing_left()

    play(scenario)
