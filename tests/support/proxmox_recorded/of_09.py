"""What happened unseen in the file on a host that is off: its address failed in one way after the other."""

from __future__ import annotations

from nagaya.simulators.proxmox.state.node import Unreachable
from support.proxmox_lab import ProxmoxLab
from support.proxmox_recorded.unseen import Before, both, done, newest_task


def _fails(how: Unreachable) -> Before:
    async def change(lab: ProxmoxLab) -> None:
        lab.datacenter.nodes["pve2"].unreachable = how

    return change


BEFORE: dict[str, Before] = {
    "09.24": both(
        done("POST", "/nodes/pve1/qemu/202/migrate", {"target": "pve2"}),
        newest_task("UPID:pve1:000004FD:000AF38C:6AFA38AB:qmigrate:202:root@pam:", "qmigrate"),
    ),
    "09.26": _fails(Unreachable.REFUSED),
    "09.30": _fails(Unreachable.SILENT),
    "09.32": _fails(Unreachable.STRANGER),
    "09.34": _fails(Unreachable.HANGS_UP),
}
