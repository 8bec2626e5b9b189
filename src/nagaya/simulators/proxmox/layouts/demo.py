"""A pleasant data center to try things in: some hosts, local and shared storage, a template on each host, and a pool.

Whoever starts it finds the secret of the token `root@pam!demo` in the value that comes back; it is different each time.
"""

from __future__ import annotations

from nagaya.simulators.proxmox.state.access import Access, Token, User
from nagaya.simulators.proxmox.state.datacenter import Datacenter, Pool
from nagaya.simulators.proxmox.state.guest import Guest
from nagaya.simulators.proxmox.state.node import Node
from nagaya.simulators.proxmox.state.storage import Storage, Volume
from nagaya.world import World

GIB = 1 << 30
HOSTS = 3
KUBERNETES = "v1.36.3"
POOL = "nagaya"
TOKEN = "demo"  # noqa: S105  (the name of the token, not its secret)
PASSWORD = "demo-password"  # noqa: S105  (of an emulated host that nobody has to be kept from)
FIRST_TEMPLATE = 9001
DISK = 20 * GIB


def demo(world: World, *, hosts: int = HOSTS, kubernetes: str = KUBERNETES) -> Datacenter:
    """Its state at the beginning."""
    names = [f"pve{number}" for number in range(1, hosts + 1)]
    datacenter = Datacenter(name="demo" if hosts > 1 else None)
    datacenter.nodes = {
        name: Node(name, f"192.0.2.{10 + number}", number, cpus=16, memory=64 * GIB)
        for number, name in enumerate(names, 1)
    }
    root = User(password=PASSWORD, tokens={TOKEN: Token(world.uid(), privilege_separation=False)})
    datacenter.access = Access(users={"root@pam": root})
    datacenter.storages = {storage.name: storage for storage in _storages()}
    datacenter.pools = {POOL: Pool("machines of clusters")}
    for number, name in enumerate(names):
        _add_template(datacenter, world, FIRST_TEMPLATE + number, name, kubernetes)
    return datacenter


def secret(datacenter: Datacenter) -> str:
    """That of the token `root@pam!demo`."""
    return datacenter.access.users["root@pam"].tokens[TOKEN].secret


def _storages() -> list[Storage]:
    return [
        Storage("local", "dir", {"path": "/var/lib/vz", "content": "iso,vztmpl,backup,import,snippets"}, 100 * GIB),
        Storage(
            "local-lvm",
            "lvmthin",
            {"vgname": "pve", "thinpool": "data", "content": "images,rootdir"},
            500 * GIB,
        ),
        Storage(
            "shared",
            "nfs",
            {
                "server": "192.0.2.5",
                "export": "/srv/pve",
                "path": "/mnt/pve/shared",
                "content": "images,iso,import,snippets",
            },
            2000 * GIB,
        ),
    ]


def _add_template(datacenter: Datacenter, world: World, vmid: int, node: str, kubernetes: str) -> None:
    made = int(world.clock.now().timestamp())
    disk, drive = f"base-{vmid}-disk-0", f"vm-{vmid}-cloudinit"
    for name, size, used, system in ((disk, DISK, 3 * GIB, "debian"), (drive, 4 << 20, 4 << 20, "")):
        volume = Volume("local-lvm", name, "images", "raw", size, made, node, vmid, used, system=system)
        datacenter.volumes[node, volume.id] = volume
    datacenter.guests[vmid] = Guest(
        vmid,
        node,
        {
            "agent": "enabled=1",
            "boot": "order=scsi0",
            "cores": 2,
            "cpu": "x86-64-v2-AES",
            "ide2": f"local-lvm:{drive},media=cdrom",
            "ipconfig0": "ip=dhcp",
            "memory": "2048",
            "meta": f"creation-qemu=10.1.2,ctime={made}",
            "name": f"debian-12-kubernetes-{kubernetes}",
            "net0": f"virtio=BC:24:11:00:90:{vmid - FIRST_TEMPLATE + 1:02X},bridge=vmbr0",
            "ostype": "l26",
            "scsi0": f"local-lvm:{disk},discard=on,size={DISK // GIB}G",
            "scsihw": "virtio-scsi-single",
            "serial0": "socket",
            "smbios1": f"uuid={world.uid()}",
            "tags": f"kubernetes;kubernetes-{kubernetes}",
            "template": 1,
            "vmgenid": world.uid(),
        },
    )
