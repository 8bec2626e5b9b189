"""What happened unseen in the file on tasks: most of it long before, for lists count every task there ever was."""

from __future__ import annotations

import asyncio

from nagaya.simulators.proxmox.failure import Failure, Forbidden
from support.proxmox_lab import ProxmoxLab
from support.proxmox_recorded.unseen import Before, both, done, failing, newest_task, task_of, warning

_QEMU = "/nodes/pve1/qemu"
_OPS = "ops@pve!k1"

WHILE_RUNNING = frozenset({f"05.{number:02d}" for number in range(2, 15)})


async def _history(lab: ProxmoxLab) -> None:
    for _ in range(29):
        await task_of("qmclone", "9000")(lab)
    for number in range(147):
        await task_of("qmstop", str(5000 + number), end=failing(Failure("gone\n")))(lab)
    for number in range(176):
        await task_of("qmdestroy", str(5000 + number))(lab)
    for _ in range(10):
        await task_of("qmconfig", "200", _OPS)(lab)
    forbidden = failing(Forbidden("/storage/store", "Datastore.AllocateSpace"))
    await task_of("resize", "200", _OPS, forbidden)(lab)
    refused = "download failed: Connecting to 127.0.0.1:9... failed: Connection refused.\n"
    await task_of("download", "a.iso", _OPS, failing(Failure(refused)))(lab)
    await task_of("qmdestroy", "522", end=warning)(lab)
    await task_of("qmdestroy", "524", end=warning)(lab)


def _created(vmid: int) -> Before:
    given = {"vmid": vmid, "name": f"t{vmid}", "memory": 64, "kvm": 0, "scsi0": "store:1,format=qcow2"}
    return both(done("POST", f"{_QEMU}/{vmid}/status/stop"), done("POST", _QEMU, given))


async def _reset_by_ticket(lab: ProxmoxLab) -> None:
    await task_of("qmreset", "600", "alice@pve")(lab)
    await newest_task("UPID:pve1:0000287D:000AA9C4:6AFA37EE:qmreset:600:alice@pve:", "qmreset")(lab)


async def _killed(lab: ProxmoxLab) -> None:
    first = await lab.data("POST", f"{_QEMU}/600/status/shutdown", {"timeout": 5})
    second = await lab.data("POST", f"{_QEMU}/600/status/shutdown")
    await asyncio.sleep(1)
    lab.emulator.tasks.kill(lab.emulator.tasks.known[second])
    lab.stand_ins["UPID:pve1:000029E9:000AAAC4:6AFA37F0:qmshutdown:600:root@pam:"] = second
    await lab.ended(first)


begin = both(_history, _created(600), done("POST", f"{_QEMU}/600/status/start"))

BEFORE: dict[str, Before] = {
    "05.45": both(
        done("POST", f"{_QEMU}/602/status/stop"),
        done("POST", f"{_QEMU}/9000/clone", {"newid": 602}),
        done("POST", f"{_QEMU}/602/template"),
        done("POST", f"{_QEMU}/602/clone", {"newid": 603}),
        done("POST", f"{_QEMU}/603/status/stop"),
        _created(604),
        done("POST", f"{_QEMU}/604/template"),
        done("POST", f"{_QEMU}/604/clone", {"newid": 605}),
        done("DELETE", f"{_QEMU}/604"),
    ),
    "05.59": done("POST", f"{_QEMU}/600/status/stop"),
    "05.64": _reset_by_ticket,
    "05.66": _killed,
}
