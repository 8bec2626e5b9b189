"""The data center in which the recorded answers of PVE 9.2 were given: cluster `lab`, pve1 on, pve2 off for good.

Two hosts, of which one is off, would have no quorum; `expected_votes` makes one enough, as `pvecm expected 1` does.
On pve1 itself listens a small web server, from which it can download. Everything that a test needs beyond this it
makes itself.
"""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.state.access import Access, Token, User
from nagaya.simulators.proxmox.state.datacenter import Datacenter, Pool
from nagaya.simulators.proxmox.state.guest import Guest
from nagaya.simulators.proxmox.state.node import Node
from nagaya.simulators.proxmox.state.storage import Storage, Volume
from nagaya.simulators.proxmox.storages.files import QCOW2
from nagaya.simulators.proxmox.storages.footprint import BLOCK
from nagaya.simulators.proxmox.storages.sources import Source, Sources

GIB = 1 << 30
MIB = 1 << 20
WEB = "http://127.0.0.1:8099"
IMAGE = QCOW2 + bytes(20) + (64 * MIB).to_bytes(8, "big") + bytes(196584)
"""An empty disk of 64 MiB: as far as anybody looks into such a file here, its header."""
MADE = 1794782035
"""When the files on its storages were made, in seconds since 1970."""

SECRETS = {
    "alice@pve!full": "6b1f6f0e-64f4-4f3c-9a52-0d7c1f3c2a01",
    "alice@pve!sep": "6b1f6f0e-64f4-4f3c-9a52-0d7c1f3c2a02",
    "alice@pve!exp": "6b1f6f0e-64f4-4f3c-9a52-0d7c1f3c2a03",
    "bob@pve!t1": "6b1f6f0e-64f4-4f3c-9a52-0d7c1f3c2a04",
    "ops@pve!k1": "6b1f6f0e-64f4-4f3c-9a52-0d7c1f3c2a05",
    "root@pam!full": "6b1f6f0e-64f4-4f3c-9a52-0d7c1f3c2a06",
    "root@pam!sep": "6b1f6f0e-64f4-4f3c-9a52-0d7c1f3c2a07",
}
PASSWORDS = {"root@pam": "root-password", "alice@pve": "alice-password", "bob@pve": "bob-password"}
LONG_AGO = 1000000000
FINGERPRINT = ":".join(["9E"] * 32)


def lab() -> Datacenter:
    """Its state before the first request."""
    datacenter = Datacenter(name="lab", expected_votes=1)
    datacenter.nodes = {
        "pve1": Node(
            "pve1", "192.0.2.11", 1, cpus=2, kvm=False, memory=25274793984, foreign_memory=1423671296, booted=-7000.0
        ),
        "pve2": Node("pve2", "192.0.2.12", 2, cpus=2, memory=25274793984, online=False),
    }
    for node in datacenter.nodes.values():
        node.fingerprint = FINGERPRINT
        node.kvm = False
        node.control_groups = 1
    datacenter.access = _access()
    datacenter.storages = {storage.name: storage for storage in _storages()}
    datacenter.volumes = {(volume.node, volume.id): volume for volume in _volumes()}
    datacenter.guests = {guest.vmid: guest for guest in _guests()}
    datacenter.pools = {"dev": Pool("dev pool", {200}), "other": Pool()}
    datacenter.sources = _sources()
    return datacenter


def _access() -> Access:
    def token(id: str, **facts: Any) -> Token:
        return Token(SECRETS[id], **facts)

    users = {
        "root@pam": User(password=PASSWORDS["root@pam"]),
        "alice@pve": User(password=PASSWORDS["alice@pve"]),
        "bob@pve": User(password=PASSWORDS["bob@pve"], enable=False),
        "carol@pve": User(expire=LONG_AGO),
        "dave@nosuch": User(),
        "ops@pve": User(),
    }
    users["root@pam"].tokens = {
        "full": token("root@pam!full", privilege_separation=False),
        "sep": token("root@pam!sep"),
    }
    users["alice@pve"].tokens = {
        "full": token("alice@pve!full", privilege_separation=False),
        "sep": token("alice@pve!sep"),
        "exp": token("alice@pve!exp", privilege_separation=False, expire=LONG_AGO),
    }
    users["bob@pve"].tokens = {"t1": token("bob@pve!t1", privilege_separation=False)}
    users["ops@pve"].tokens = {"k1": token("ops@pve!k1", privilege_separation=False)}
    return Access(users=users)


def _storages() -> list[Storage]:
    def directory(name: str, path: str, content: str, **options: Any) -> Storage:
        return Storage(
            name, "dir", {"path": path, "content": content, **options}, capacity=270553174016, foreign=28500185088
        )

    return [
        directory("local", "/var/lib/vz", "iso,vztmpl,backup,import,snippets"),
        directory("store", "/var/lib/store", "images,rootdir,iso,import,snippets"),
        directory("images2", "/var/lib/images2", "images"),
        directory("onlypve2", "/var/lib/onlypve2", "images", nodes="pve2"),
        directory("off", "/var/lib/off", "images", disable=1),
    ]


def _sources() -> Sources:
    sources = Sources()
    sources.add(f"{WEB}/ok.iso", Source(b"I" * 4096))
    sources.add(f"{WEB}/ok", Source(b"I" * 4096))
    sources.add(f"{WEB}/redir.iso", Source(redirect="/ok.iso"))
    sources.add(f"{WEB}/500.iso", Source(b"", status=500, reason="Internal Server Error"))
    sources.add(f"{WEB}/qcow", Source(IMAGE, content_type=None))
    return sources


def _volumes() -> list[Volume]:
    def file(storage: str, name: str, content: str, format: str, size: int, data: bytes | None = None) -> Volume:
        return Volume(storage, name, content, format, size, MADE, "pve1", data=data)

    def disk(storage: str, name: str) -> Volume:
        size = len(IMAGE)
        used = -(-size // BLOCK) * BLOCK
        return Volume(
            storage, f"import/{name}", "import", "qcow2", size, MADE, "pve1", used=used, virtual_size=64 * MIB
        )

    def image(vmid: int, name: str, format: str, size: int, used: int, system: str = "") -> Volume:
        return Volume("store", f"{vmid}/{name}", "images", format, size, MADE, "pve1", vmid, used, system=system)

    return [
        file("local", "iso/local.iso", "iso", "iso", MIB),
        file("local", "vztmpl/debian-13-standard_13.0-1_amd64.tar.zst", "vztmpl", "tzst", MIB),
        disk("local", "base.qcow2"),
        file("local", "import/base.raw", "import", "raw", 64 * MIB),
        file("store", "iso/tiny.iso", "iso", "iso", MIB),
        disk("store", "disk.qcow2"),
        file("store", "snippets/hook.sh", "snippets", "snippet", 17, b"#!/bin/sh\nexit 0\n"),
        file("store", "snippets/user.yaml", "snippets", "snippet", 26, b"#cloud-config\nhostname: x\n"),
        image(100, "vm-100-disk-0.qcow2", "qcow2", GIB, 331776),
        image(200, "vm-200-disk-0.qcow2", "qcow2", GIB, 331776),
        image(200, "vm-200-cloudinit.qcow2", "qcow2", 4 * MIB, 266240),
        image(201, "vm-201-disk-0.raw", "raw", GIB, BLOCK),
        image(400, "vm-400-disk-0.qcow2", "qcow2", GIB, 331776, system="oracle"),
        image(9000, "base-9000-disk-0.qcow2", "qcow2", GIB, 331776),
        image(9000, "vm-9000-cloudinit.qcow2", "qcow2", 4 * MIB, 266240),
    ]


def _guests() -> list[Guest]:
    def guest(vmid: int, name: str, node: str = "pve1", **config: Any) -> Guest:
        identity = f"5b2c0f64-0000-4000-8000-{vmid:012d}"
        common = {
            "kvm": 0,
            "memory": "64",
            "meta": "creation-qemu=10.0.13,ctime=1794782040",
            "name": name,
            "smbios1": f"uuid={identity}",
            "vmgenid": identity.replace("5b2c", "6b2c"),
        }
        return Guest(vmid, node, {**common, **config})

    def network(number: int) -> str:
        return f"virtio=BC:24:11:00:00:{number:02X},bridge=vmbr0"

    return [
        guest(100, "first", boot="order=scsi0", scsi0="store:100/vm-100-disk-0.qcow2,size=1G"),
        guest(
            200,
            "plain",
            boot="order=scsi0;ide2;net0",
            ide2="store:200/vm-200-cloudinit.qcow2,media=cdrom",
            net0=network(2),
            scsi0="store:200/vm-200-disk-0.qcow2,size=1G",
            scsihw="virtio-scsi-pci",
        ),
        guest(201, "rawvm", boot="order=scsi0", scsi0="store:201/vm-201-disk-0.raw,size=1G"),
        guest(202, "diskless", boot=" "),
        guest(
            400,
            "guest",
            agent="1",
            boot="order=scsi0;net0",
            memory="256",
            net0=network(4),
            scsi0="store:400/vm-400-disk-0.qcow2,size=1G",
            scsihw="virtio-scsi-pci",
            serial0="socket",
        ),
        guest(777, "far", node="pve2"),
        guest(
            9000,
            "tmpl",
            agent="1",
            boot="order=scsi0",
            ciuser="debian",
            ide2="store:9000/vm-9000-cloudinit.qcow2,media=cdrom",
            ipconfig0="ip=dhcp",
            net0=network(9),
            scsi0="store:9000/base-9000-disk-0.qcow2,size=1G",
            scsihw="virtio-scsi-pci",
            serial0="socket",
            template=1,
        ),
    ]
