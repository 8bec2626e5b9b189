"""What there was before the file on privileges, and what was tidied up unseen between its cases."""

from __future__ import annotations

from nagaya.simulators.proxmox.state.storage import Volume
from support.proxmox_lab import ProxmoxLab
from support.proxmox_recorded.credentials import headers
from support.proxmox_recorded.unseen import Before, done

ISO_FILES = {
    "a_b__.iso": 2000,
    "big.iso": 3000000,
    "ck.iso": 2000,
    "d.iso": 4096,
    "e.iso": 4096,
    "f.iso": 4096,
    "mid.iso": 300000,
    "new.iso": 2000,
    "tiny.iso": 1048576,
    "x.iso": 2000,
    "zero.iso": 1048576,
}
_MADE = 1794783536


async def begin(lab: ProxmoxLab) -> None:
    """Files from earlier trials lay on the storage, and roles of earlier cases were still there."""
    files = [Volume("store", f"iso/{name}", "iso", "iso", size, _MADE, "pve1") for name, size in ISO_FILES.items()]
    files += [Volume("store", f"import/{name}.qcow2", "import", "qcow2", 196616, _MADE, "pve1") for name in ("g", "up")]
    lab.datacenter.volumes.update({(file.node, file.id): file for file in files})
    lab.datacenter.access.roles["R2"] = frozenset({"Datastore.AllocateSpace"})
    lab.datacenter.access.roles["R34"] = frozenset({"Pool.Allocate"})


def _destroyed(vmid: int) -> Before:
    return done("DELETE", f"/nodes/pve1/qemu/{vmid}?purge=1")


async def _downloaded(lab: ProxmoxLab) -> None:
    """With just enough rights, a download from where nobody listens was started."""
    rights = "/storage/store: Datastore.AllocateTemplate; /nodes/pve1: Sys.AccessNetwork"
    allowed = headers(lab, f"token ops@pve!k1 (privsep 0); ops@pve has: {rights}")
    wanted = {"content": "iso", "filename": "a.iso", "url": "http://127.0.0.1:9/a.iso"}
    task = await lab.task("POST", "/nodes/pve1/storage/store/download-url", wanted, headers=allowed)
    lab.stand_ins["UPID:pve1:00000FAD:000BFA4A:6AFA3B4B:download:a.iso:ops@pve!k1:"] = str(task.upid)


BEFORE: dict[str, Before] = {
    "02.08": _destroyed(300),
    "02.10": _destroyed(300),
    "02.12": _destroyed(300),
    "02.18": _destroyed(301),
    "02.141": _downloaded,
}
