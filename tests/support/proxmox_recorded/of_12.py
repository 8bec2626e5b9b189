"""What happened unseen in the file on lost quorum and a stopped daemon."""

from __future__ import annotations

from support.proxmox_lab import ProxmoxLab
from support.proxmox_recorded.unseen import Before, both, done


async def _quorum_lost(lab: ProxmoxLab) -> None:
    lab.datacenter.expected_votes = 2


async def _destroy_refused(lab: ProxmoxLab) -> None:
    await lab.task("DELETE", "/nodes/pve1/qemu/800")


async def _quorum_back(lab: ProxmoxLab) -> None:
    lab.datacenter.expected_votes = 1
    await lab.data("PUT", "/nodes/pve1/qemu/800/config", {"memory": 80})


async def _daemon_stopped(lab: ProxmoxLab) -> None:
    lab.datacenter.nodes["pve1"].daemon = False


_MACHINE = {"memory": 64, "kvm": 0, "scsi0": "store:1,format=qcow2"}

begin = both(
    done("POST", "/nodes/pve1/qemu", {"vmid": 800, **_MACHINE}),
    done("POST", "/nodes/pve1/qemu", {"vmid": 802, **_MACHINE}),
    done("POST", "/nodes/pve1/qemu/802/status/start"),
    _quorum_lost,
)

BEFORE: dict[str, Before] = {
    "12.22": _destroy_refused,
    "12.31": _quorum_back,
    "12.32": _daemon_stopped,
}
