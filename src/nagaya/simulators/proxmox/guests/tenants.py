"""Machines that become nodes of simulated clusters, as their boot data say.

Nothing runs in them. Their boot data mean to a cluster what they would mean to a real machine: the node registers, and
it is heard as long as the machine runs. A machine without boot data, or with others than kubeadm's, is a passive one.

What always holds: a machine that was switched off, by whomever, is not heard; boot data count once for a machine, so
that after a reboot its node comes back and nothing joins a second time.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Final

from nagaya.api.contract.bootstrap import SENTINEL
from nagaya.simulators.proxmox.guests import first_boot
from nagaya.simulators.proxmox.guests.addresses import Router
from nagaya.simulators.proxmox.guests.backend import Machine
from nagaya.simulators.proxmox.guests.clusters import AnyCluster, Clusters
from nagaya.simulators.proxmox.guests.disk import GuestDisk
from nagaya.simulators.proxmox.guests.first_boot import LOG, SCRIPT_FAILED, FirstBoot
from nagaya.simulators.proxmox.guests.instance import instance_of
from nagaya.simulators.proxmox.guests.kubeadm_call import KubeadmCall
from nagaya.simulators.proxmox.guests.passive import FIRST_STEPS, PassiveGuests, PassiveMachine
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.cloud_init import BootData
from nagaya.simulators.tenant.joining import JoinDelayed, JoinRefused
from nagaya.simulators.tenant.settings import DEFAULT_CAPACITY, NodeSettings
from nagaya.world import World

"""The file by which boot data say that kubeadm has succeeded."""
OUTPUT: Final = "/var/log/cloud-init-output.log"
KUBEADM_PATIENCE: Final = 300.0
"""Seconds that kubeadm looks for a cluster before it gives up."""
_AGAIN: Final = 5.0
_ANY: Final = ("", "0.0.0.0", "::")  # noqa: S104  (not listened at: it means that the kubelet may choose)
_NODE_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_VERSION: Final = re.compile(r"(?:kubernetes-)?(v\d+\.\d+\.\d+\S*)")


log = logging.getLogger(__name__)


class _GivenUp(Exception):
    """kubeadm has ended with an error; the message is what it said."""


def tagged_version(machine: Machine) -> str:
    """The version of Kubernetes that a machine's image has, if its tags tell it."""
    found = (_VERSION.fullmatch(tag) for tag in re.split(r"[;, ]", str(machine.options.get("tags") or "")))
    return next((each[1] for each in found if each is not None), "")


@dataclass(slots=True)
class _Used:
    """What a machine remembers of its first boot when it is off."""

    identity: tuple[str, str]
    """Of the machine, and of the boot data that it has used."""
    data: BootData
    """Those boot data: name and network stay as they made them, also when their drive is taken out later."""
    node: tuple[str, AnyCluster, NodeSettings] | None = None
    """Where and what it has joined, and as what."""


class TenantGuests(PassiveGuests):
    """All machines of a data center."""

    def __init__(
        self,
        world: World,
        pace: Pace,
        clusters: Clusters,
        router: Router | None = None,
        version_of: Callable[[Machine], str] = tagged_version,
    ) -> None:
        """`version_of` says which kubelet a machine has; where it says nothing, it is that of the cluster."""
        super().__init__(world, pace, router)
        self.clusters = clusters
        self.version_of = version_of
        self._used: dict[int, _Used] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def _made(self, machine: Machine, disk: GuestDisk) -> PassiveMachine:
        used = self._used.get(machine.vmid)
        if machine.boot_data is None and used is not None and used.identity[0] == str(machine.options.get("smbios1")):
            machine = replace(machine, boot_data=used.data)
        if not machine.system or machine.boot_data is None:
            return super()._made(machine, disk)
        identity = str(machine.options.get("smbios1")), instance_of(machine.boot_data)
        if used is None or used.identity != identity:
            used = _Used(("", ""), machine.boot_data)
        made = TenantMachine(machine, self, disk, used, identity)
        self._used[machine.vmid] = used
        return made

    def pause(self, vmid: int, paused: bool) -> None:
        """It stands still, or goes on."""
        if isinstance(machine := self.machines.get(vmid), TenantMachine):
            machine.pause(paused)

    def in_background(self, work: Coroutine[None, None, None]) -> None:
        """Do something that whoever comes up next waits for."""
        task = asyncio.get_running_loop().create_task(work)
        self._leaving.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._leaving.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a machine could not be ended: %s", error, exc_info=error)

    async def quiet(self) -> None:
        """Wait until everything is done that is done in the background."""
        while self._leaving:
            await asyncio.wait(self._leaving)

    async def close(self) -> None:
        """All of them lose their power, and the clusters that were on them end."""
        await super().close()
        await self.quiet()
        await self.clusters.close()


class TenantMachine(PassiveMachine):
    """One machine with boot data."""

    def __init__(
        self, machine: Machine, guests: TenantGuests, disk: GuestDisk, used: _Used, identity: tuple[str, str]
    ) -> None:
        super().__init__(machine, guests.world, guests.pace, guests.router, disk, guests.restart)
        self._guests = guests
        self._used = used
        self._identity = identity
        self._failed: tuple[str, ...] = ()
        self._finished = False
        self._here: tuple[AnyCluster, str] | None = None
        """The cluster that it is in, or about to be, and the name of its node."""
        self._going = asyncio.Event()
        self._going.set()
        self._boot = asyncio.get_running_loop().create_task(self._come_up(), name=f"boot of {machine.vmid}")

    @property
    def _settled(self) -> bool:
        return self._finished

    @property
    def _errors(self) -> tuple[str, ...]:
        return self._failed

    def end(self) -> None:
        """Its power is gone."""
        if self._ended:
            return
        super().end()
        self._boot.cancel()
        if self._here is not None:
            cluster, name = self._here
            self._guests.in_background(cluster.leave(self, name))

    def pause(self, paused: bool) -> None:
        """It stands still, or goes on."""
        if paused:
            self._going.clear()
        else:
            self._going.set()
        if self._here is not None:
            cluster, name = self._here
            cluster.pause(self, name, paused)

    async def _come_up(self) -> None:
        pace = self._pace
        await self._guests.quiet()
        if self._used.identity == self._identity:
            await asyncio.sleep(pace.boot)
            self._finished = True
            if self._used.node is not None:
                await self._return(*self._used.node)
        else:
            await asyncio.sleep(FIRST_STEPS * pace.boot)
            await self._run_first()
            self._finished = True

    async def _return(self, endpoint: str, cluster: AnyCluster, node: NodeSettings) -> None:
        """The kubelet starts again, with the credentials that it has. It does not give up."""
        while True:
            await self._going.wait()
            if self._guests.clusters.at(endpoint) is cluster:
                self._here = cluster, node.name
                try:
                    await cluster.join(self, node, returns=True)
                    return
                except (JoinDelayed, OSError) as error:
                    log.info("simulated machine %d: its kubelet tries again: %s", self.machine.vmid, error)
            await asyncio.sleep(_AGAIN)

    async def _run_first(self) -> None:
        assert self.machine.boot_data is not None
        first = first_boot.read(self.machine.boot_data, self.hostname)
        self._failed = first.errors
        self._say(LOG, first.log)
        self._say(OUTPUT, first.output)
        if first.call is not None:
            await self._run_kubeadm(first, first.call)
        self._used.identity = self._identity

    async def _run_kubeadm(self, first: FirstBoot, call: KubeadmCall) -> None:
        try:
            await self._join(call)
        except _GivenUp as error:
            self._say(OUTPUT, f"error: {error}\n")
            if first.ends_with_kubeadm:
                self._failed = (*self._failed, SCRIPT_FAILED)
            return
        self._written[SENTINEL] = b"success\n"

    async def _join(self, call: KubeadmCall) -> None:
        node = self._node(call)
        clock = self._world.clock
        deadline, told = clock.monotonic() + KUBEADM_PATIENCE, ""
        while True:
            await self._going.wait()
            try:
                cluster = await self._cluster(call)
                self._here = cluster, node.name
                await cluster.join(self, node)
                self._used.node = call.endpoint, cluster, node
                return
            except JoinRefused as error:
                raise _GivenUp(str(error)) from error
            except (JoinDelayed, OSError) as error:
                if clock.monotonic() + _AGAIN > deadline:
                    raise _GivenUp(str(error)) from error
                if call.boot.initializes and str(error) != told:
                    told = str(error)
                    log.warning("simulated machine %d: kubeadm tries again: %s", self.machine.vmid, told)
            await asyncio.sleep(_AGAIN)

    async def _cluster(self, call: KubeadmCall) -> AnyCluster:
        """The cluster that kubeadm makes or finds. Raises OSError if there is none."""
        if call.boot.initializes:
            return await self._guests.clusters.initialized(call)
        cluster = self._guests.clusters.at(call.endpoint) if call.endpoint else None
        if cluster is None or not await cluster.answers():
            raise OSError(f"failed to request the cluster-info ConfigMap: nothing answers at {call.endpoint}")
        return cluster

    def _node(self, call: KubeadmCall) -> NodeSettings:
        name = (call.node or self.hostname).strip().lower()
        if not _NODE_NAME.fullmatch(name):
            raise _GivenUp(f"nodeRegistration.name: Invalid value: {name!r}")
        if not call.endpoint:
            raise _GivenUp("the boot data name no address of the cluster's API")
        address = self._address() if call.node_address in _ANY else call.node_address
        if not address:
            raise _GivenUp("unable to select an IP from default routes")
        if _address_of(address) not in self._addresses():
            raise _GivenUp(f'node IP: "{address}" not found in the host\'s network interfaces')
        boot = call.boot
        return NodeSettings(
            name,
            provider_id=call.provider_id,
            version=call.installed or self._guests.version_of(self.machine),
            labels=boot.labels,
            taints=boot.taints,
            addresses=[("InternalIP", address)],
            capacity=_capacity(self.machine),
            control_plane=boot.control_plane,
            external_cloud=boot.external_cloud,
            boot=boot,
        )

    def _addresses(self) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address | None]:
        return [_address_of(each.partition("/")[0]) for _, given in self._interfaces.values() for each in given]

    def _address(self) -> str:
        """The first address of IPv4, else the first one."""
        found = [each for each in self._addresses() if each is not None]
        return str(next((each for each in found if each.version == 4), found[0] if found else ""))

    def _say(self, file: str, text: str) -> None:
        if text:
            self._written[file] = self._written.get(file, b"") + text.encode()


def _address_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _capacity(machine: Machine) -> dict[str, str]:
    given = machine.options
    cpus = int(given.get("vcpus") or int(given.get("sockets", 1)) * int(given.get("cores", 1)))
    return {**DEFAULT_CAPACITY, "cpu": str(cpus), "memory": f"{options.megabytes(given.get('memory'))}Mi"}
