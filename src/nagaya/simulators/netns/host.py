"""A host of machines that are namespaces: the network between them, and their coming and going.

Everything that a host makes outside of its folder carries its mark, which is made from the folder's path: the bridge,
the cables and the control groups. A host that is opened removes first what an earlier one with the same folder left
behind, so a run that was killed needs no cleaning up by hand. Hosts with different folders do not see each other.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from nagaya.simulators.netns import equipment
from nagaya.simulators.netns.cgroups import Groups
from nagaya.simulators.netns.cloud_config import read
from nagaya.simulators.netns.machine import Machine, meta_data_of
from nagaya.simulators.netns.network import MACHINE_LIMIT, Bridge

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")


class CannotHost(Exception):
    """This computer cannot have machines; the message says what it lacks."""


class NetnsHost:
    """Makes machines. An asynchronous context manager, or `open` and `close`."""

    def __init__(
        self,
        folder: Path,
        *,
        programs: Sequence[Path] = (),
        images: Sequence[bytes] = (),
        packages: Path | None = None,
    ) -> None:
        """`programs` are on every machine's path (kubelet, kubeadm, kubectl); `images` are archives of container images
        that every machine has from the start, beside the one of pod sandboxes.

        `packages` is for hosts that lack some of what machines need (`equipment.missing`): a folder with packages of
        the host's distribution, unpacked into `root`, and in `bin` their programs in a form that runs on the host.
        Where the host has a file of the same name, the host's is used.
        """
        self.folder = folder.absolute()
        self._packages = None if packages is None else packages.absolute()
        self._programs = tuple(programs)
        self._images = tuple(images)
        mark = hashlib.sha256(str(self.folder).encode()).hexdigest()[:6]
        self._mark = mark
        self._groups = Groups(f"nagaya-netns-{mark}")
        self._bridge = Bridge(mark, equipment.host_program("ip", self._packages))
        self._machines: dict[str, Machine] = {}
        self._numbers: dict[str, int] = {}
        self._lock = -1

    @property
    def gateway(self) -> IPv4Address:
        """The address by which machines reach what listens on this computer."""
        return self._bridge.plan.gateway.ip

    @property
    def machines(self) -> Mapping[str, Machine]:
        """The machines that there are, by name."""
        return self._machines

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Remove what an earlier run left behind, and make the network. Raises CannotHost."""
        lacking = equipment.missing(self._packages)
        if lacking:
            raise CannotHost(" ".join(lacking))
        self._lock = await asyncio.to_thread(_locked, self.folder)
        try:
            await self._clean()
            await self._bridge.open(self._mark)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Destroy every machine, and remove everything that was made outside of the folder."""
        if self._lock < 0:
            return  # what there may be is another's
        try:
            await asyncio.gather(*(machine.destroy() for machine in [*self._machines.values()]))
            await self._clean()
        finally:
            os.close(self._lock)
            self._lock = -1

    async def create(
        self,
        name: str,
        address: IPv4Interface | str | None = None,
        user_data: bytes = b"#cloud-config\n",
        meta_data: Mapping[str, str] | None = None,
        hardware_address: str = "",
    ) -> Machine:
        """Power a machine on. Returns when it runs; `Machine.finished` tells when its cloud-init has ended.

        Without an address it gets one, of either kind. Raises ValueError for a name that is taken or impossible, an
        address outside of the host's network, and user data that cannot be understood.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of a machine: it must be a host name in lower case")
        if name in self._machines:
            raise ValueError(f"there is a machine {name} already")
        number = self._number(name)
        try:
            place = self._address(number, address)
            config = read(user_data, meta_data_of(name, place, meta_data or {}))
        except ValueError:
            del self._numbers[name]
            raise
        machine = Machine(self.folder / name, name, number, place, self._groups, self._bridge, self._gone)
        self._machines[name] = machine
        try:
            await machine.power_on(config, self._programs, self._images, self._packages, hardware_address)
        except BaseException:
            await machine.destroy()
            raise
        return machine

    def _gone(self, machine: Machine) -> None:
        """Its name and its addresses may be used again."""
        if self._machines.get(machine.name) is machine:
            del self._machines[machine.name], self._numbers[machine.name]

    def _number(self, name: str) -> int:
        used = set(self._numbers.values())
        for number in range(MACHINE_LIMIT):
            if number not in used:
                self._numbers[name] = number
                return number
        raise ValueError(f"there are {MACHINE_LIMIT} machines already, and there is no network for more")

    def _address(self, number: int, given: IPv4Interface | str | None) -> IPv4Interface:
        taken = {machine.address.ip for machine in self._machines.values()} | {self.gateway}
        network = self._bridge.plan.gateway.network
        if given is None:
            free = self._bridge.plan.machine(number)
            while free.ip in taken:
                free = IPv4Interface((free.ip + 1, network.prefixlen))
            return free
        address = IPv4Interface(given) if "/" in str(given) else IPv4Interface(f"{given}/{network.prefixlen}")
        if address.ip not in network or address.ip in taken:
            raise ValueError(f"{address.ip} is not a free address in {network}, the network of this host")
        return address

    async def _clean(self) -> None:
        for name in self._groups.machines():
            await self._groups.remove(name)
        self._groups.remove_parent()
        await self._bridge.close()


def _locked(folder: Path) -> int:
    """Hold the folder, so that no two hosts clean up each other's machines. Raises CannotHost."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise CannotHost(f"another process has machines in {folder}: choose another folder, or end it") from None
    return descriptor
