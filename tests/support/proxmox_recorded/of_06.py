"""What happened unseen in the file on storages."""

from __future__ import annotations

from nagaya.simulators.proxmox.layouts.lab import WEB
from nagaya.simulators.proxmox.state.storage import Volume
from support.proxmox_lab import ProxmoxLab
from support.proxmox_recorded.unseen import Before, asked, both, done

_QEMU = "/nodes/pve1/qemu"
_CONTENT = "/nodes/pve1/storage/store/content"
_MIB = 1 << 20
_GIB = 1 << 30
_CHECKSUM = "4c5c140dc5279b6ed6caa87af8a10db1373bb8cca8f67031a56914b1fbafdd70"
_VICTIM = {"vmid": 706, "name": "victim", "memory": 64, "kvm": 0, "scsi0": "store:1,format=qcow2"}


async def begin(lab: ProxmoxLab) -> None:
    """What earlier files had left."""

    def add(storage: str, name: str, content: str, format: str, size: int, used: int = 0) -> None:
        vmid = int(name.split("/")[-2]) if content == "images" else None
        volume = Volume(storage, name, content, format, size, 1794783545, "pve1", vmid, used)
        lab.datacenter.volumes["pve1", volume.id] = volume

    def image(name: str, size: int = _GIB, used: int = 331776) -> None:
        add("store", name, "images", "qcow2", size, used)

    image("200/foo.qcow2", 16 * _MIB, 266240)
    image("200/vm-201-disk-9.qcow2", 16 * _MIB, 266240)
    image("201/vm-201-cloudinit.qcow2", 4 * _MIB, 462848)
    image("201/vm-201-disk-1.qcow2")
    image("500/vm-500-disk-0.qcow2", 1178599424, 335872)
    image("500/vm-500-disk-1.qcow2")
    image("501/vm-501-disk-0.qcow2")
    image("522/base-522-disk-0.qcow2")
    image("524/base-524-disk-0.qcow2")
    image("600/vm-600-disk-0.qcow2")
    image("602/vm-602-cloudinit.qcow2", 4 * _MIB, 266240)
    image("604/base-604-disk-0.qcow2")
    image("9000/base-9000-disk-0.qcow2/602/base-602-disk-0.qcow2", used=528384)
    image("700/base-700-disk-0.qcow2")
    image("700/base-700-disk-0.qcow2/701/vm-701-disk-0.qcow2")
    lab.datacenter.volumes["pve1", "store:400/vm-400-disk-0.qcow2"].size = _GIB + _MIB
    for name, size in (("small", 2000), ("big", 3000000), ("a_b__", 2000)):
        add("store", f"iso/{name}.iso", "iso", "iso", size)
    for name in ("g", "up"):
        add("store", f"import/{name}.qcow2", "import", "qcow2", 196616)
    lab.datacenter.guests[200].config |= {
        "ciuser": "debian",
        "ipconfig0": "ip=192.0.2.60/24,gw=192.0.2.1",
        "nameserver": "192.0.2.53",
        "searchdomain": "example.org",
    }


BEFORE: dict[str, Before] = {
    "06.35": both(
        done("DELETE", f"{_CONTENT}/store:200%2Ffoo.qcow2"),
        done("DELETE", f"{_CONTENT}/store:200%2Fvm-201-disk-9.qcow2"),
    ),
    "06.44": done("POST", _QEMU, _VICTIM),
    "06.51": both(done("POST", _QEMU, _VICTIM), done("POST", f"{_QEMU}/706/status/start")),
    "06.102": done(
        "POST",
        "/nodes/pve1/storage/store/download-url",
        {
            "content": "iso",
            "filename": "f.iso",
            "url": f"{WEB}/ok.iso",
            "checksum": _CHECKSUM,
            "checksum-algorithm": "sha256",
        },
    ),
    "06.112": done("DELETE", f"{_CONTENT}/store:import%2Fg.qcow2"),
    "06.161": asked("PUT", f"{_QEMU}/200/config", {"cicustom": "user=store:snippets/nosuch.yaml"}),
    "06.172": asked("DELETE", "/storage/extra"),
}
