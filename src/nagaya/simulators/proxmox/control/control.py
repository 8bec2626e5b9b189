"""What tests and demos do to a data center that no client of PVE can: power, network, storages, images, mishaps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nagaya.simulators.proxmox.cluster import hosts
from nagaya.simulators.proxmox.cluster.manager import HighAvailabilityManager
from nagaya.simulators.proxmox.control.requests import Requests
from nagaya.simulators.proxmox.control.shown import state
from nagaya.simulators.proxmox.faults.faults import Faults
from nagaya.simulators.proxmox.state.guest import Guest
from nagaya.simulators.proxmox.state.node import Node, Unreachable
from nagaya.simulators.proxmox.state.storage import Storage, Volume
from nagaya.simulators.proxmox.storages.definitions import created
from nagaya.simulators.proxmox.storages.files import brought
from nagaya.simulators.proxmox.storages.incoming import place
from nagaya.simulators.proxmox.storages.sources import Source
from nagaya.simulators.proxmox.storages.volume_name import FILE_TYPES
from nagaya.simulators.proxmox.storages.volumes import Volumes

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator

GIB = 1 << 30


class Unknown(LookupError):
    """There is no such thing in the data center."""


class Control:
    """The controls of one emulator."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self.requests = Requests(emulator)
        self.faults = Faults(emulator)
        self.manager = HighAvailabilityManager(emulator)

    def state(self) -> dict[str, Any]:
        """Everything there is, without secrets."""
        return state(self.emulator)

    def host(self, name: str) -> Node:
        """A host."""
        if (node := self.emulator.datacenter.nodes.get(name)) is None:
            raise Unknown(f"there is no host {name!r}. There are: {', '.join(self.emulator.datacenter.nodes)}.")
        return node

    def power_off(self, name: str, how: Unreachable = Unreachable.NO_ROUTE) -> None:
        """Take the power from a host."""
        hosts.power_off(self.emulator, self.host(name).name, how)

    def power_on(self, name: str) -> None:
        """Give it back, or its network if that is all that it lacks."""
        hosts.power_on(self.emulator, self.host(name).name)

    def cut_off(self, name: str) -> None:
        """Take the network from a host; what runs there goes on."""
        hosts.cut_off(self.emulator, self.host(name).name)

    def reconnect(self, name: str) -> None:
        """Give it back its network."""
        hosts.reconnect(self.emulator, self.host(name).name)

    def change_host(
        self, name: str, *, daemon: bool | None = None, slowness: float | None = None, maintenance: bool | None = None
    ) -> None:
        """Stop or start its pvedaemon, make its calls slow, or take it out of the HA manager's choice."""
        node = self.host(name)
        node.daemon = node.daemon if daemon is None else daemon
        node.slowness = node.slowness if slowness is None else slowness
        node.maintenance = node.maintenance if maintenance is None else maintenance

    def expect_votes(self, votes: int | None) -> None:
        """How many votes there should be, as `pvecm expected` sets it; None for one of each host."""
        self.emulator.datacenter.expected_votes = votes

    def storage(self, name: str) -> Storage:
        """A storage."""
        if (storage := self.emulator.datacenter.storages.get(name)) is None:
            raise Unknown(f"there is no storage {name!r}. There are: {', '.join(self.emulator.datacenter.storages)}.")
        return storage

    def add_storage(self, name: str, type: str, options: Mapping[str, Any], capacity: int = 256 * GIB) -> Storage:
        """A storage on all hosts, or on those that the option `nodes` names."""
        storage = created(name, type, options)
        storage.capacity = capacity
        self.emulator.datacenter.storages[name] = storage
        return storage

    def reach(self, name: str, reachable: bool) -> None:
        """Whether a storage can be reached, as an NFS server that may be off."""
        self.storage(name).reachable = reachable

    def add_source(self, url: str, source: Source) -> None:
        """Something that hosts can download."""
        self.emulator.sources.add(url, source)

    def add_file(
        self, storage: str, content: str, name: str, *, size: int, host: str | None = None, system: str = ""
    ) -> Volume:
        """An imagined ISO file or disk image, on a host or, if the storage is shared, for all."""
        found = self.storage(storage)
        where = host or next(iter(self.emulator.datacenter.nodes))
        volume = place(Volumes(self.emulator, self.host(where).name), found, brought(content, name), None, size)
        volume.system = system
        return volume

    def add_template(
        self,
        vmid: int,
        host: str,
        storage: str,
        *,
        name: str,
        size: int = 20 * GIB,
        system: str = "linux",
        tags: str = "",
    ) -> Guest:
        """A template of a machine with one disk and a drive for boot data."""
        found = self.storage(storage)
        volumes = Volumes(self.emulator, self.host(host).name)
        in_files = found.type in FILE_TYPES
        disk, drive = f"base-{vmid}-disk-0", f"vm-{vmid}-cloudinit"
        if in_files:
            disk, drive = f"{vmid}/{disk}.qcow2", f"{vmid}/{drive}.qcow2"
        volume = volumes.put(found, disk, "qcow2" if in_files else "raw", size)
        volume.system = system
        volumes.put(found, drive, volume.format, 4 << 20)
        world = self.emulator.world
        config: dict[str, Any] = {
            "agent": "enabled=1",
            "boot": "order=scsi0",
            "cores": 2,
            "ide2": f"{storage}:{drive},media=cdrom",
            "ipconfig0": "ip=dhcp",
            "memory": "2048",
            "name": name,
            "net0": f"virtio=BC:24:11:{vmid >> 16 & 255:02X}:{vmid >> 8 & 255:02X}:{vmid & 255:02X},bridge=vmbr0",
            "ostype": "l26",
            "scsi0": f"{storage}:{disk},size={size // GIB}G",
            "scsihw": "virtio-scsi-single",
            "smbios1": f"uuid={world.uid()}",
            "template": 1,
            "vmgenid": world.uid(),
        }
        if tags:
            config["tags"] = tags
        guest = self.emulator.datacenter.guests[vmid] = Guest(vmid, host, config)
        return guest

    async def close(self) -> None:
        """End what it has running."""
        await self.manager.close()
