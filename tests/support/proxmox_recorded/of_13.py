"""What happened unseen in the file on clones that are still being made."""

from __future__ import annotations

import asyncio

from nagaya.simulators.proxmox.state.storage import Volume
from support.proxmox_lab import ProxmoxLab
from support.proxmox_recorded.unseen import (
    Before,
    asked,
    both,
    done,
    larger_guest,
    machine,
    newest_task,
    passed,
    task_of,
    warning,
)

_QEMU = "/nodes/pve1/qemu"
_DATA = 200000000

WHILE_RUNNING = frozenset(
    {"13.02", "13.04", "13.05", "13.07", "13.08", "13.11", "13.12", "13.13", "13.22", "13.28", "13.37", "13.38"}
)


async def _fat_disk(lab: ProxmoxLab) -> None:
    lab.datacenter.volumes["pve1", "store:900/base-900-disk-0.qcow2"].used = _DATA
    disk = Volume("local", "import/rnd.raw", "import", "raw", _DATA, 1794783741, "pve1", used=_DATA)
    lab.datacenter.volumes["pve1", disk.id] = disk


async def _kill(lab: ProxmoxLab) -> None:
    await asyncio.sleep(6.4)
    lab.emulator.tasks.kill(list(lab.emulator.tasks.known.values())[-1])
    await asyncio.sleep(0)


async def _disable(lab: ProxmoxLab) -> None:
    lab.datacenter.storages["images2"].options["disable"] = 1


begin = both(
    larger_guest,
    machine(301, memory="512"),
    machine(500, "renamed", scsi0="store:500/vm-500-disk-0.qcow2,size=1124M", tags="x"),
    machine(501, "agentoff", scsi0="store:501/vm-501-disk-0.qcow2,size=1G"),
    machine(600, "t600", scsi0="store:600/vm-600-disk-0.qcow2,size=1G"),
    machine(602, "Copy-of-VM-tmpl", scsi0="store:602/base-602-disk-0.qcow2,size=1G", template=1),
    machine(604, "t604", scsi0="store:604/base-604-disk-0.qcow2,size=1G", template=1),
    done("POST", f"{_QEMU}/600/status/start"),
    task_of("qmdestroy", "522", end=warning),
    task_of("qmdestroy", "524", end=warning),
    asked("GET", "/cluster/resources"),
    passed(11),
    machine(
        900,
        "fat",
        meta="creation-qemu=10.0.13,ctime=1794783741",
        net0="virtio=BC:24:11:38:4E:9C,bridge=vmbr0",
        scsi0=f"store:900/base-900-disk-0.qcow2,size={_DATA}",
        scsihw="virtio-scsi-pci",
        smbios1="uuid=efa8a12b-37aa-4d75-a2ea-8000942adcf6",
        template=1,
        vmgenid="dbb5b9d0-1814-4160-a0bb-c47017f394db",
    ),
    asked("PUT", f"{_QEMU}/900/config", {"boot": "order=scsi0;net0"}),
    _fat_disk,
)

BEFORE: dict[str, Before] = {
    "13.02": passed(3),
    "13.11": done("POST", f"{_QEMU}/901/status/start"),
    "13.16": done("POST", f"{_QEMU}/900/clone", {"newid": 904}),
    "13.22": passed(5.2),
    "13.28": _kill,
    "13.37": asked("POST", _QEMU, {"vmid": 903, "scsi0": "images2:0,import-from=local:import/rnd.raw"}),
    "13.39": newest_task("UPID:pve1:00000277:000B8452:6AFA3A1D:qmcreate:903:root@pam:", "qmcreate"),
    "13.41": both(
        _disable,
        done("DELETE", f"{_QEMU}/903"),
        newest_task("UPID:pve1:00000297:000B84A0:6AFA3A1E:qmdestroy:903:root@pam:", "qmdestroy"),
    ),
}
