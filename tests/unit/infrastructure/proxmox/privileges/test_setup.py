"""The least that a connection needs: as data, as commands, and as an emulated PVE takes it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nagaya.infrastructure.proxmox.boot.iso9660 import image
from nagaya.infrastructure.proxmox.client import Facts, Proxmox, Token, Upload
from nagaya.infrastructure.proxmox.client.errors import Forbidden, HostUnreachable, TaskFailed
from nagaya.infrastructure.proxmox.privileges.held import Held
from nagaya.infrastructure.proxmox.privileges.place import Scope
from nagaya.infrastructure.proxmox.privileges.preflight import preflight
from nagaya.infrastructure.proxmox.privileges.setup import setup
from support.proxmox_transport import DataCenter, ToEmulator, data_center
from support.subtest_cases import subtest_cases
from support.virtual_run import run

SCOPE = Scope(pool="nagaya", templates=(9001, 9002), storages=("local-lvm",), iso_storage="local", bridges=("vmbr0",))


def test_commands_come_in_an_order_in_which_they_work() -> None:
    commands = setup((9, 2), SCOPE).commands()
    words = [each.split()[1:3] for each in commands]
    first = {" ".join(each): words.index(each) for each in words}
    assert first["pool add"] < first["role add"] < first["user add"] < first["user token"] < first["acl modify"]
    assert "pveum acl modify / --users nagaya@pve --tokens 'nagaya@pve!nagaya' --roles NagayaCluster --propagate 0" in (
        commands
    )
    assert not any("PVEVMAdmin" in each or "Administrator" in each for each in commands)


async def least(center: DataCenter, taken: str = "") -> Proxmox:
    """A client with a token that has just what is set up, without one privilege that is taken from all roles."""
    made = setup((9, 2), SCOPE)
    access = center.client.access
    for role, held in made.roles.items():
        await access.create_role(role, [each for each in held if each != taken])
    await access.create_user(made.user)
    token = await access.create_token(made.user, made.token_name)
    for grant in made.grants:
        await access.grant(grant)
    facts = Facts(center.client.facts.endpoints, Token(token.id, token.secret))
    return Proxmox(facts, center.client.calls.world, transport=ToEmulator(center.emulator))


async def life(client: Proxmox) -> None:
    """All that is done for a machine, from its clone to its end."""
    tasks, machines, vmid = client.tasks, client.machines, 500
    assert (await client.inventory.get()).quorate is True
    clone = machines.clone("pve1", 9001, vmid, name="a", pool="nagaya", storage="local-lvm", full=True)
    await tasks.wait(await clone)
    options = {
        "cores": 2,
        "sockets": 1,
        "memory": 2048,
        "description": "x",
        "tags": "nagaya",
        "net0": "virtio,bridge=vmbr0",
        "smbios1": "uuid=11111111-2222-3333-4444-555555555555",
        "agent": "enabled=1",
    }
    await tasks.wait(await machines.begin_configure("pve1", vmid, options))
    await tasks.wait(await machines.resize("pve1", vmid, "scsi0", "30G"))
    seed = image("cidata", {"user-data": b"#cloud-config"}, datetime(2026, 11, 1, tzinfo=UTC))
    await tasks.wait(await client.storages.upload("pve1", "local", "iso", Upload("a.iso", seed)))
    disc = {"ide0": "local:iso/a.iso,media=cdrom", "boot": "order=scsi0;ide0"}
    await tasks.wait(await machines.begin_configure("pve1", vmid, disc))
    await tasks.wait(await machines.start("pve1", vmid))
    await tasks.wait(await machines.stop("pve1", vmid))
    await tasks.wait(await machines.begin_configure("pve1", vmid, {"ide0": "none,media=cdrom"}))
    await tasks.wait(await client.storages.delete("pve1", "local:iso/a.iso"))
    await tasks.wait(await machines.destroy("pve1", vmid))
    assert await client.cluster.is_free(vmid)


def test_a_token_with_nothing_else_passes_the_preflight_and_can_do_all() -> None:
    async def main() -> None:
        async with data_center() as center:
            own = await least(center)
            held = Held(await own.access.permissions())
            found = preflight(held, SCOPE, (9, 2), "nagaya@pve!nagaya")
            assert (found.missing, found.delivery) == ((), "iso")
            await life(own)
            await own.close()

    run(main())


@subtest_cases(
    "taken",
    [
        "Datastore.Allocate",
        "Datastore.AllocateSpace",
        "Datastore.AllocateTemplate",
        "SDN.Use",
        "VM.Allocate",
        "VM.Clone",
        "VM.Config.CDROM",
        "VM.Config.CPU",
        "VM.Config.Disk",
        "VM.Config.HWType",
        "VM.Config.Memory",
        "VM.Config.Network",
        "VM.Config.Options",
        "VM.PowerMgmt",
    ],
)
def test_no_privilege_is_asked_for_that_is_not_needed_and_the_preflight_foresees_each_refusal(taken: str) -> None:
    async def main() -> None:
        async with data_center() as center:
            own = await least(center, taken)
            held = Held(await own.access.permissions())
            found = preflight(held, SCOPE, (9, 2), "nagaya@pve!nagaya")
            assert taken in {each.privilege for each in found.missing}
            with pytest.raises((Forbidden, TaskFailed, HostUnreachable)):
                await life(own)
            await own.close()

    run(main())
