"""The machines of one host: their files, who holds which, and whether they run.

A file belongs to the host in whose folder it lies; to all others the machine does not exist. Without quorum files can
be read and not written.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.configuration import Configuration, read, write
from nagaya.simulators.proxmox.state.guest import Guest, Process
from nagaya.simulators.proxmox.storages.volumes import Volumes
from nagaya.simulators.proxmox.tasks.runner import Log, Task

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator

NO_QUORUM = "cluster not ready - no quorum?\n"


class Host:
    """Where machines are worked on."""

    def __init__(self, emulator: Emulator, node: str) -> None:
        self.emulator = emulator
        self.node = node
        self.volumes = Volumes(emulator, node)

    def path(self, vmid: int) -> str:
        """The file of a machine, below /etc/pve."""
        return f"nodes/{self.node}/qemu-server/{vmid}.conf"

    def guest(self, vmid: int) -> Guest | None:
        """The machine, if it is here."""
        guest = self.emulator.datacenter.guests.get(vmid)
        return guest if guest is not None and guest.node == self.node else None

    def load(self, vmid: int) -> Configuration:
        """Read the file of a machine."""
        if (guest := self.guest(vmid)) is None:
            raise Failure(f"Configuration file '{self.path(vmid)}' does not exist\n")
        return read(guest)

    def present(self, vmid: int) -> Guest:
        """The machine, which must be here."""
        if (guest := self.guest(vmid)) is None:
            raise Failure(f"unable to find configuration file for VM {vmid} on node '{self.node}'\n")
        return guest

    def process(self, vmid: int) -> Process | None:
        """What runs the machine, which must be here."""
        return self.present(vmid).process

    @asynccontextmanager
    async def lock(self, vmid: int, log: Log, *, timeout: float = 10.0, shared: bool = False) -> AsyncIterator[None]:
        """Nobody else changes the file meanwhile, if all keep to it."""
        path = f"/var/lock/qemu-server/lock-{vmid}.conf"
        async with self.emulator.locks.file(self.node, path, timeout=timeout, shared=shared, say=log.say):
            yield

    @asynccontextmanager
    async def migration_lock(self, vmid: int, log: Log) -> AsyncIterator[None]:
        """Neither migration nor replication happens meanwhile."""
        path = f"/var/lock/pve-manager/pve-migrate-{vmid}"
        async with self.emulator.locks.file(self.node, path, say=log.say):
            yield

    def check_quorum(self) -> None:
        """Refuse what has to be agreed on in the cluster."""
        if not self.emulator.datacenter.quorate:
            raise Failure(NO_QUORUM)

    def write(self, configuration: Configuration, log: Log) -> None:
        """Write a file; the machine comes into being with its first one."""
        vmid = configuration.vmid
        if not self.emulator.datacenter.quorate:
            pid = log.upid.pid if isinstance(log, Task) else self.emulator.tasks.pid()
            raise Failure(f"unable to open file '/etc/pve/{self.path(vmid)}.tmp.{pid}' - Permission denied\n")
        guest = self.emulator.datacenter.guests.get(vmid)
        if guest is None:
            guest = self.emulator.datacenter.guests[vmid] = Guest(vmid, self.node)
        elif guest.node != self.node:
            raise Failure(f"close (rename) atomic file '/etc/pve/{self.path(vmid)}' failed: File exists\n")
        write(guest, configuration)

    def remove(self, vmid: int) -> None:
        """Remove the file: the number is free again."""
        if not self.emulator.datacenter.quorate:
            raise Failure("failed to remove config file: Permission denied\n")
        if self.guest(vmid) is None:
            raise Failure("failed to remove config file: No such file or directory\n")
        del self.emulator.datacenter.guests[vmid]

    def move(self, vmid: int, target: str) -> None:
        """Give the file to another host, and the machine with it."""
        if not self.emulator.datacenter.quorate:
            raise Failure("Permission denied\n")
        self.present(vmid).node = target

    def has_bridge(self, bridge: object) -> bool:
        """Whether a network device can be attached here; one without a bridge always can."""
        datacenter = self.emulator.datacenter
        return bridge is None or bridge in datacenter.nodes[self.node].bridges or bridge in datacenter.vnets

    def managed(self, vmid: int) -> bool:
        """Whether the HA manager starts and stops the machine."""
        resource = self.emulator.datacenter.ha.resources.get(f"vm:{vmid}")
        return resource is not None and resource.get("state") != "ignored"
