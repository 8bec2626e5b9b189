"""What happened unseen in the file on running machines and their guest agents."""

from __future__ import annotations

from nagaya.simulators.proxmox.state.storage import Volume
from support.proxmox_lab import ProxmoxLab
from support.proxmox_recorded.unseen import Before, asked, both, done, machine, passed

_QEMU = "/nodes/pve1/qemu"
_NETWORK = "virtio=BC:24:11:CC:E2:{:02X},bridge=vmbr0"

WHILE_RUNNING = frozenset({"11.106", "11.107", "11.108", "11.109"})


def _put(vmid: int, **options: object) -> Before:
    return asked("PUT", f"{_QEMU}/{vmid}/config", options)


def _file(name: str, content: str, format: str, size: int, vmid: int | None = None) -> Before:
    async def put(lab: ProxmoxLab) -> None:
        volume = Volume("store", name, content, format, size, 1794783545, "pve1", vmid, 266240 if vmid else 0)
        lab.datacenter.volumes["pve1", volume.id] = volume

    return put


async def _lose_iso(lab: ProxmoxLab) -> None:
    del lab.datacenter.volumes["pve1", "store:iso/tiny.iso"]


async def _refused_removal(lab: ProxmoxLab) -> None:
    answer = await lab.ask("PUT", f"{_QEMU}/500/config", {"delete": "scsi0"})
    assert answer.status == 400


def _unused_disk(vmid: int) -> Before:
    return both(_put(vmid, scsi3="store:1"), _put(vmid, delete="scsi3"))


_iso = _file("iso/tiny.iso", "iso", "iso", 1 << 20)

begin = both(
    *(_file(f"import/{name}.qcow2", "import", "qcow2", 196616) for name in ("g", "up")),
    machine(301, memory="512"),
    machine(
        500,
        "noagent",
        net0=_NETWORK.format(1),
        scsi0="store:500/vm-500-disk-0.qcow2,size=1G",
        scsihw="virtio-scsi-pci",
        meta="creation-qemu=10.0.13,ctime=1794783603",
        smbios1="uuid=db068d21-4c47-40b1-8e8e-e7b4345fd669",
        vmgenid="7d6214c7-3ba8-4cc0-8223-6483e52324ff",
    ),
    _put(500, boot="order=scsi0;net0"),
    machine(501, "agentoff", agent="1", scsi0="store:501/vm-501-disk-0.qcow2,size=1G"),
    machine(600, "t600", net0=_NETWORK.format(2), scsi0="store:600/vm-600-disk-0.qcow2,size=1G"),
    machine(602, "Copy-of-VM-tmpl", scsi0="store:602/base-602-disk-0.qcow2,size=1G", serial0="socket", template=1),
    machine(604, "t604", scsi0="store:604/base-604-disk-0.qcow2,size=1G", template=1),
    done("POST", f"{_QEMU}/600/status/start"),
)


def _started(vmid: int) -> Before:
    return both(done("POST", f"{_QEMU}/{vmid}/status/start"), passed(10))


BEFORE: dict[str, Before] = {
    "11.27": _put(500, net0="virtio,bridge=vmbr77"),
    "11.31": both(_put(500, net0=_NETWORK.format(1)), _put(500, args="-nonsense")),
    "11.33": both(_iso, _put(500, delete="args", ide2="store:iso/tiny.iso,media=cdrom"), _lose_iso),
    "11.37": _put(500, delete="ide2", cores=64),
    "11.39": _put(500, cores=1, machine="pc-i440fx-99.0+pve0"),
    "11.42": _put(500, delete="machine"),
    "11.48": done("POST", f"{_QEMU}/501/status/start"),
    "11.53": _put(500, memory=96),
    "11.60": _put(500, revert="memory"),
    "11.68": _put(500, cores=2),
    "11.71": _refused_removal,
    "11.72": _iso,
    "11.75": _put(500, revert="scsi0,boot,cores"),
    "11.112": _started(400),
    "11.133": asked("GET", f"{_QEMU}/400/agent/exec-status", {"pid": 115}),
    "11.139": asked("POST", f"{_QEMU}/400/agent/exec", {"command": ["sleep", "30"]}),
    "11.159": both(passed(10), done("POST", f"{_QEMU}/400/status/shutdown")),
    "11.160": _started(400),
    "11.164": done(
        "POST", _QEMU, {"vmid": 520, "scsi0": "store:1,format=qcow2", "protection": 1, "memory": 64, "kvm": 0}
    ),
    "11.166": both(_put(520, protection=0), _unused_disk(520)),
    "11.170": both(
        done("POST", _QEMU, {"vmid": 521, "scsi0": "store:1,format=qcow2"}),
        asked(
            "POST",
            "/nodes/pve1/storage/store/content",
            {"filename": "vm-521-disk-7.qcow2", "size": "1M", "vmid": 521, "format": "qcow2"},
        ),
    ),
    "11.174": done("POST", _QEMU, {"vmid": 521, "scsi0": "store:1,format=qcow2"}),
    "11.179": both(
        _file("522/vm-522-disk-0.qcow2", "images", "qcow2", 1 << 30, 522),
        done(
            "POST",
            _QEMU,
            {
                "vmid": 522,
                "name": "tm",
                "memory": 64,
                "kvm": 0,
                "scsihw": "virtio-scsi-pci",
                "scsi0": "store:1,format=qcow2",
                "net0": "virtio,bridge=vmbr0",
            },
        ),
        done("POST", f"{_QEMU}/522/template"),
    ),
    "11.188": both(
        _file("524/vm-524-disk-0.qcow2", "images", "qcow2", 1 << 30, 524),
        done(
            "POST",
            _QEMU,
            {
                "vmid": 524,
                "name": "one",
                "memory": 64,
                "kvm": 0,
                "scsi0": "store:1,format=qcow2",
                "scsi1": "store:1,format=qcow2",
            },
        ),
        done("POST", f"{_QEMU}/524/template", {"disk": "scsi0"}),
    ),
    "11.192": both(
        done("POST", f"{_QEMU}/100/move_disk", {"disk": "scsi0", "storage": "images2"}),
        _unused_disk(201),
    ),
}
