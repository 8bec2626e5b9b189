"""The reaper: reservations whose machine is gone. What their machine left behind is destroyed when its host is back.

A VM is destroyed here only if its machine was let go on purpose while the host was off (phase Orphaned), and only as
long as its marker names this management API. Where a machine has vanished in any other way, it may have been moved to
another one: the reservation stays until the VM is gone or says that another management API has it. That a machine is
gone is asked of the API server itself, as a cache need not have all namespaces.

Whether a vanished machine was deleted here is seen only by the process that watches it go. It is written down (phase
Abandoned): without that record nothing of the VM is ever removed.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.definition import DELETE_FOR_MOVE
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES, ProxmoxMachine
from nagaya.api.proxmox.proxmox_virtual_machine import (
    DELETED,
    FINALIZER,
    PROXMOX_VIRTUAL_MACHINES,
    ProxmoxVirtualMachine,
    ProxmoxVirtualMachinePhase,
)
from nagaya.clusters import management
from nagaya.clusters.finalizer import release
from nagaya.infrastructure.proxmox.client import Phase, TaskState, upid
from nagaya.infrastructure.proxmox.client.errors import Forbidden, ProxmoxError
from nagaya.infrastructure.proxmox.virtual_machine import removal
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence
from nagaya.infrastructure.proxmox.virtual_machine.link import Link, Links
from nagaya.infrastructure.proxmox.virtual_machine.removing import look, remove
from nagaya.infrastructure.proxmox.virtual_machine.reservations import (
    BY_MACHINE,
    has_machine,
    identity_of,
    index_reservations,
    is_for,
    is_left,
)
from nagaya.kube.cache.change import Change
from nagaya.kube.conditions import get
from nagaya.kube.controller import WORKERS, Controller, Result, Watch
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

MANAGER: Final = "nagaya-proxmoxvirtualmachine"
FIELDS: Final = ("node", "phase", "task", "message")
AT_ONCE: Final = 0.1
RETRY: Final = 30.0
"""Seconds until what failed is tried again, and until a task is looked at whose host cannot tell."""
STRAY_AGAIN: Final = 300.0
"""Seconds until it is looked whether a VM that nobody asked us to destroy is gone."""
MOVED_AGAIN: Final = 60.0
"""The same for one that another management API may be about to take over."""


class ProxmoxVirtualMachines:
    """What is done for reservations."""

    def __init__(self, rt: Runtime, links: Links) -> None:
        self._rt = rt
        self._links = links
        self._api = rt.api(MANAGER)
        self._plane = ""
        self._deleted: set[str] = set()
        """The uids of reservations whose machine was seen being deleted, and not for a move."""
        self.controller: Controller | None = None

    def left_behind(self, change: Change[ProxmoxMachine]) -> list[Key]:
        """The reservations of a machine that is gone."""
        if change.new is not None:
            return []
        machine, metadata = change.object, change.object.metadata
        names = (metadata.uid, f"{metadata.namespace}/{metadata.name}")
        found = [each for name in names for each in self._rt.cache.by(PROXMOX_VIRTUAL_MACHINES, BY_MACHINE, name)]
        if self._was_deleted(machine):
            self._deleted |= {
                each.metadata.uid for each in found if is_for(each, machine) and each.status.phase not in DELETED
            }
        return [Key.of(each) for each in found]

    def _was_deleted(self, machine: ProxmoxMachine) -> bool:
        """Whether somebody deleted the machine, as far as its last state tells, and nobody moved it: whoever moves a
        cluster pauses it first, and says so on each object that goes."""
        metadata, cache = machine.metadata, self._rt.cache
        key = Key(metadata.namespace, metadata.labels.get(CLUSTER_NAME, ""))
        cluster = cache.get(CLUSTERS, key) if cache.has(CLUSTERS) else None
        paused = get(machine.status.conditions, "Paused")
        moving = cluster is not None and cluster.spec.paused
        moving = moving or (paused is not None and paused.status == "True" and "spec.paused" in paused.message)
        return metadata.deleting and not moving and DELETE_FOR_MOVE not in metadata.annotations

    async def reconcile(self, key: Key) -> Result | None:
        """Look after a reservation that has no machine any more."""
        reservation = self._rt.cache.get(PROXMOX_VIRTUAL_MACHINES, key)
        # Paused while it moves to another management API: so never two planes have it in hand.
        if reservation is None or PAUSED in reservation.metadata.annotations or await self._has_machine(reservation):
            return None
        if reservation.metadata.uid in self._deleted and reservation.status.phase not in DELETED:
            # Nobody finds it out again, so it is written down before anything else is looked at.
            self._deleted.discard(reservation.metadata.uid)
            return await self._tell(reservation, message="", phase=ProxmoxVirtualMachinePhase.ABANDONED, again=AT_ONCE)
        link = await self._links.of_reference(reservation.spec.connection_ref, reservation.spec.machine_ref.namespace)
        if isinstance(link, str):
            return await self._tell(reservation, message=link, again=RETRY)
        try:
            return await self._reap(key, reservation, link)
        except ProxmoxError as error:
            log.warning("reservation %s: %s", key.name, error)
            if isinstance(error, Forbidden):
                link.refused(error)
            return await self._tell(reservation, message=str(error), again=RETRY)

    async def _has_machine(self, reservation: ProxmoxVirtualMachine) -> bool:
        """Whether its machine is there."""
        whose = reservation.spec.machine_ref
        cached = self._rt.cache.get(PROXMOX_MACHINES, Key(whose.namespace, whose.name))
        if cached is not None and cached.metadata.uid == whose.uid:
            return is_for(reservation, cached)
        return await has_machine(self._rt.client, reservation)

    async def _reap(self, key: Key, reservation: ProxmoxVirtualMachine, link: Link) -> Result | None:
        if not self._plane:
            self._plane = await management.identity(self._rt.client)
        spec = reservation.spec
        identity = identity_of(reservation, self._plane)
        task = self._task(key, reservation, link)
        found, leftovers = await look(link.proxmox, identity, reservation.status.node, reservation.status.boot_data_on)
        orphaned = is_left(reservation)
        if not orphaned and found.presence not in (Presence.ABSENT, Presence.FOREIGN):
            return await self._stray(reservation, found)
        if not orphaned:
            # Disks without a VM are as little ours to remove as the VM was.
            found, leftovers = replace(found, strays=None), ()
        made = removal.removal(spec.vmid, found, task, leftovers)
        step = made.step
        log.info("reservation %s: %s", key.name, made.message)
        if isinstance(step, removal.Gone | removal.GiveUp):
            if isinstance(step, removal.GiveUp):
                self._rt.recorder.warning(PROXMOX_VIRTUAL_MACHINES, reservation, "VMIDGivenUp", made.message)
            left = await self._api.delete(PROXMOX_VIRTUAL_MACHINES, reservation)
            if left is not None:
                await release(self._rt, self._api, PROXMOX_VIRTUAL_MACHINES, left, FINALIZER)
            return None
        if isinstance(step, removal.Wait):
            again = RETRY if step.failed else max(RETRY, step.again_after or 0.0)
            hidden = found.presence is Presence.HIDDEN
            message = f"{made.message} {removal.UNFINISHED}" if hidden else made.message
            return await self._tell(reservation, message=message, again=again, clear=step.failed)
        begun = await remove(link.proxmox, identity, step)
        if begun is not None:
            self._listen(key, link, begun.text)
        return await self._tell(
            reservation,
            message=made.message,
            task=begun.text if begun is not None else "",
            phase=ProxmoxVirtualMachinePhase.DESTROYING,
            again=RETRY if begun is not None else removal.LOOK_AGAIN,
        )

    async def _stray(self, reservation: ProxmoxVirtualMachine, found: Found) -> Result:
        """A VM without a machine, which nobody asked us to destroy."""
        spec = reservation.spec
        why = f"ProxmoxMachine {spec.machine_ref.namespace}/{spec.machine_ref.name} is gone, and its VM {spec.vmid} "
        why += f"on {found.node or 'an unknown host'} is not. "
        if reservation.status.phase in DELETED:
            why += "The machine was deleted here, so `nagaya gc` destroys the VM."
        else:
            why += (
                "Do not destroy the VM before you know that its cluster was not moved: the management API that it was "
                "moved to takes the VM over, and this reservation is released then."
            )
        again = STRAY_AGAIN if reservation.status.phase in DELETED else MOVED_AGAIN
        return await self._tell(reservation, message=why, again=again)

    def _task(self, key: Key, reservation: ProxmoxVirtualMachine, link: Link) -> TaskState | None:
        try:
            named = upid(reservation.status.task)
        except ValueError:
            return None
        state = link.proxmox.tasks.look(named)
        if not state.ended:
            self._listen(key, link, named.text)
        # A task that nobody knows any more, or that its host cannot tell of, tells nothing: the world does.
        return None if state.phase is Phase.VANISHED or state.trouble else state

    def _listen(self, key: Key, link: Link, task: str) -> None:
        def ended(_: TaskState) -> None:
            if self.controller is not None:
                self.controller.look_at([key])

        link.proxmox.tasks.listen(task, ended)

    async def _tell(
        self,
        reservation: ProxmoxVirtualMachine,
        *,
        message: str,
        again: float,
        task: str = "",
        phase: str = "",
        clear: bool = False,
    ) -> Result:
        before = reservation.status
        told = {
            "node": before.node,
            "phase": str(phase or before.phase),
            "task": task or ("" if clear else before.task),
            "message": message,
        }
        wanted = {name: value for name, value in told.items() if value}
        await self._api.status(PROXMOX_VIRTUAL_MACHINES, reservation, wanted, fields=FIELDS)
        return Result(again)


def controller(rt: Runtime, links: Links, *, workers: int = WORKERS) -> Controller:
    """The controller, to be run by a Manager with the same cache."""
    if not rt.cache.has(PROXMOX_MACHINES):
        rt.cache.start(PROXMOX_MACHINES)
    index_reservations(rt.cache)

    reaper = ProxmoxVirtualMachines(rt, links)
    made = Controller(
        "proxmoxvirtualmachine",
        PROXMOX_VIRTUAL_MACHINES,
        reaper.reconcile,
        watches=[Watch(PROXMOX_MACHINES, reaper.left_behind)],
        workers=workers,
    )
    reaper.controller = made
    return made
