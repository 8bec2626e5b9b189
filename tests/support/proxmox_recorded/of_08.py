"""What happened unseen in the file on the cluster and HA."""

from __future__ import annotations

from support.proxmox_lab import ProxmoxLab, token
from support.proxmox_recorded.unseen import Before, asked, both, done, larger_guest, machine, task_of

_QEMU = "/nodes/pve1/qemu"
_OPTIONS = "/cluster/options"
_RESOURCES = "/cluster/ha/resources"


async def _large_guest(lab: ProxmoxLab) -> None:
    lab.datacenter.guests[400].config |= {"memory": "256", "name": "guest"}
    lab.datacenter.nodes["pve1"].foreign_memory = 1546145792


async def _refused_tag(lab: ProxmoxLab) -> None:
    """Somebody tries a tag that is in no list: the log of the cluster has it all the same."""
    await lab.ask("PUT", f"{_QEMU}/202/config", {"tags": "blue"}, headers=token("alice@pve!full"))


def _gone(vmid: int) -> Before:
    return both(task_of("qmstop", str(vmid)), task_of("qmdestroy", str(vmid)))


begin = both(
    *(_gone(vmid) for vmid in (500, 501, 301)),
    larger_guest,
    _large_guest,
    machine(600, "t600", scsi0="store:600/vm-600-disk-0.qcow2,size=1G"),
    machine(
        602,
        "Copy-of-VM-tmpl",
        scsi0="store:9000/base-9000-disk-0.qcow2/602/base-602-disk-0.qcow2,size=1G",
        template=1,
    ),
    machine(604, "t604", scsi0="store:604/base-604-disk-0.qcow2,size=1G", template=1),
    done("POST", f"{_QEMU}/600/status/start"),
    done("POST", f"{_QEMU}/400/status/start"),
)

BEFORE: dict[str, Before] = {
    "08.13": asked("PUT", _OPTIONS, {"next-id": "lower=2000,upper=2999", "keyboard": "de"}),
    "08.28": both(
        _refused_tag,
        asked("PUT", _OPTIONS, {"delete": "next-id,keyboard,registered-tags,user-tag-access"}),
        asked("PUT", f"{_QEMU}/202/config", {"delete": "tags"}),
    ),
    "08.47": done("POST", f"{_QEMU}/202/status/start"),
    "08.55": asked("POST", _RESOURCES, {"sid": "vm:200"}),
    "08.57": both(asked("DELETE", "/cluster/ha/rules/r1"), asked("DELETE", f"{_RESOURCES}/vm:200")),
}
