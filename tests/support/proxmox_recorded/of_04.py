"""What happened unseen in the file on the calls for machines."""

from __future__ import annotations

from support.proxmox_lab import ProxmoxLab
from support.proxmox_recorded.unseen import Before, asked, both, done, larger_guest, locked, newest_task

_CONFIG = "/nodes/pve1/qemu/200/config"
_DIGEST = "46a0d441b703b3ded6e8b696ce18d0d869fe884a"


async def _digest(lab: ProxmoxLab) -> None:
    lab.stand_ins[_DIGEST] = (await lab.data("GET", _CONFIG))["digest"]


async def _two_clones(lab: ProxmoxLab) -> None:
    one, other = [task for task in lab.emulator.tasks.known.values() if task.upid.type == "qmclone"][-2:]
    lab.stand_ins["UPID:pve1:000012A7:000C01FA:6AFA3B5F:qmclone:9000:root@pam:"] = str(one.upid)
    lab.stand_ins["UPID:pve1:000012A6:000C01FA:6AFA3B5F:qmclone:9000:root@pam:"] = str(other.upid)


begin = both(larger_guest, asked("PUT", _CONFIG, {"tags": "red,blue"}))

BEFORE: dict[str, Before] = {
    "04.54": _two_clones,
    "04.60": both(*(done("DELETE", f"/nodes/pve1/qemu/{vmid}") for vmid in (330, 331, 332, 333)), _digest),
    "04.64": newest_task("UPID:pve1:00001345:000C02E1:6AFA3B61:resize:200:root@pam:", "resize"),
    "04.71": done("POST", _CONFIG, {"scsi2": "store:1"}),
    "04.107": locked(200, "clone"),
    "04.119": locked(200, "backup"),
    "04.146": locked(200, "snapshot"),
    "04.155": locked(200, "suspended"),
    "04.158": both(done("POST", "/nodes/pve1/qemu/200/status/stop"), locked(200, "snapshot-delete")),
    "04.167": locked(200, None),
}
