"""Whatever is done to machines in whatever order: no disk is lost, and none is left behind."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from nagaya.simulators.proxmox.cluster.hosts import power_off, power_on
from nagaya.simulators.proxmox.layouts.lab import lab as layout
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.configuration import drives_of
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.proxmox.state.guest import Guest
from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.subtest_cases import subtest_cases
from support.thoroughness import seed_of
from support.virtual_run import run, virtual_world

FIRST, LAST = 300, 305
OPERATIONS = 40


def two_hosts() -> Datacenter:
    made = layout()
    made.nodes["pve2"].online = True
    made.nodes["pve2"].kvm = False
    return made


def used_by(guest: Guest) -> set[str]:
    """All volumes in a configuration, with those that its snapshots hold."""
    found: set[str] = set()
    for section in (guest.config, guest.pending, *guest.snapshots.values()):
        found |= {drive.file for drive in drives_of(section) if ":" in drive.file}
        found |= {
            str(value) for name, value in section.items() if options.family(name) == "unused" or name == "vmstate"
        }
    return found


def request(dice: random.Random, datacenter: Datacenter) -> tuple[str, str, dict[str, Any], str]:
    """Something that a client could want, sensible or not."""
    vmid = dice.randint(FIRST, LAST)
    guest = datacenter.guests.get(vmid)
    node = guest.node if guest is not None else "pve1"
    other = "pve2" if node == "pve1" else "pve1"
    vm = f"/nodes/{node}/qemu/{vmid}"
    disk = dice.choice(["scsi1", "virtio0", "sata0", "unused0", "ide0"])
    wanted = [
        ("POST", f"/nodes/{node}/qemu", {"vmid": vmid, "kvm": 0, "scsi0": "store:1,format=qcow2"}),
        ("POST", "/nodes/pve1/qemu/9000/clone", {"newid": vmid, **dice.choice([{}, {"full": 1}])}),
        ("POST", f"{vm}/clone", {"newid": dice.randint(FIRST, LAST)}),
        ("PUT", f"{vm}/config", {disk: dice.choice(["store:1,format=qcow2", "images2:1", "off:1"])}),
        ("POST", f"{vm}/config", {"ide0": "store:cloudinit"}),
        ("PUT", f"{vm}/config", {"delete": disk, "force": dice.randint(0, 1)}),
        ("PUT", f"{vm}/unlink", {"idlist": f"{disk},scsi0"}),
        ("POST", f"{vm}/move_disk", {"disk": disk, "storage": dice.choice(["images2", "store"])}),
        ("POST", f"{vm}/move_disk", {"disk": disk, "target-vmid": dice.randint(FIRST, LAST)}),
        ("POST", f"{vm}/snapshot", {"snapname": "s1", "vmstate": dice.randint(0, 1)}),
        ("POST", f"{vm}/snapshot/s1/rollback", {}),
        ("DELETE", f"{vm}/snapshot/s1", {}),
        ("POST", f"{vm}/template", {}),
        ("POST", f"{vm}/status/{dice.choice(['start', 'start', 'stop'])}", {}),
        ("POST", f"{vm}/status/suspend", {"todisk": 1}),
        ("POST", f"{vm}/migrate", {"target": other, "online": 1, "with-local-disks": 1}),
        ("DELETE", vm, {}),
    ]
    return (*dice.choice(wanted), node)


async def play(lab: ProxmoxLab, dice: random.Random) -> None:
    for _ in range(OPERATIONS):
        method, path, parameters, node = request(dice, lab.datacenter)
        await lab.ask(method, path, parameters, node=node)
        await asyncio.sleep(dice.choice([0, 0.1, 3]))
        if dice.random() < 0.2:
            for task in [task for task in lab.emulator.tasks.known.values() if task.running]:
                await lab.emulator.tasks.stop(task)
    await asyncio.sleep(300)


@subtest_cases("seed", map(seed_of, range(30)))
def test_disks_and_configurations_agree_in_the_end(seed: int) -> None:
    async def main() -> None:
        async with proxmox_lab(two_hosts(), world=virtual_world(seed)) as lab:
            await play(lab, random.Random(seed))
            guests, volumes = lab.datacenter.guests, lab.datacenter.volumes
            assert not [task for task in lab.emulator.tasks.known.values() if task.running]
            for vmid in range(FIRST, LAST + 1):
                owned = {(volume.node, volume.id) for volume in volumes.values() if volume.vmid == vmid}
                if (guest := guests.get(vmid)) is None:
                    assert not owned, vmid
                    continue
                used = {(guest.node, volume) for volume in used_by(guest)}
                assert owned <= used, vmid
                # The drive with boot data is made anew when it is missed, so nobody minds that it is gone.
                assert {each for each in used if "cloudinit" not in each[1]} <= volumes.keys(), vmid

    run(main())


@subtest_cases("seed", map(seed_of, range(15)))
def test_hosts_that_die_leave_machines_that_can_be_asked_for_and_destroyed(seed: int) -> None:
    async def main() -> None:
        async with proxmox_lab(two_hosts(), world=virtual_world(seed)) as lab:
            dice = random.Random(seed)
            for _ in range(OPERATIONS):
                method, path, parameters, node = request(dice, lab.datacenter)
                if lab.datacenter.nodes[node].online:
                    await lab.ask(method, path, parameters, node=node)
                await asyncio.sleep(dice.choice([0, 0.1, 1]))
                name = dice.choice(["pve1", "pve2"])
                if dice.random() < 0.2:
                    power_off(lab.emulator, name)
                elif dice.random() < 0.5:
                    power_on(lab.emulator, name)
            for name in ("pve1", "pve2"):
                power_on(lab.emulator, name)
            await asyncio.sleep(300)
            for vmid in range(FIRST, LAST + 1):
                if (guest := lab.datacenter.guests.get(vmid)) is None:
                    continue
                vm = f"/nodes/{guest.node}/qemu/{vmid}"
                assert "digest" in await lab.data("GET", f"{vm}/config", node=guest.node)
                await lab.task("POST", f"{vm}/status/stop", {"skiplock": 1}, node=guest.node)
                task = await lab.task("DELETE", vm, {"skiplock": 1}, node=guest.node)
                assert task.exitstatus is not None
                assert vmid not in lab.datacenter.guests or "still in use by linked" in task.exitstatus, task.log

    run(main())
