"""The reaper: reservations whose machine is gone. What their machine left behind is destroyed when its host is back.

A VM is destroyed here only if its machine was let go on purpose while the host was off (phase Orphaned). Where a
machine has vanished in any other way nobody said that its VM may go: the reservation says so, and stays until the VM is
gone. That a machine is gone is asked of the API server itself, as a cache need not have all namespaces.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES, ProxmoxMachine
from nagaya.api.proxmox.proxmox_virtual_machine import (
    FINALIZER,
    PROXMOX_VIRTUAL_MACHINES,
    ProxmoxVirtualMachine,
    ProxmoxVirtualMachinePhase,
)
from nagaya.clusters.finalizer import release
from nagaya.infrastructure.proxmox.client import Phase, TaskState, upid
from nagaya.infrastructure.proxmox.client.errors import Forbidden, ProxmoxError
from nagaya.infrastructure.proxmox.virtual_machine import removal
from nagaya.infrastructure.proxmox.virtual_machine.found import Identity, Presence
from nagaya.infrastructure.proxmox.virtual_machine.link import Link, Links
from nagaya.infrastructure.proxmox.virtual_machine.removing import look, remove
from nagaya.infrastructure.proxmox.virtual_machine.reservations import BY_MACHINE, index_reservations, is_for, is_left
from nagaya.kube.cache.change import Change
from nagaya.kube.controller import WORKERS, Controller, Result, Watch
from nagaya.kube.errors import NotFound
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

MANAGER: Final = "nagaya-proxmoxvirtualmachine"
FIELDS: Final = ("node", "phase", "task", "message")
RETRY: Final = 30.0
"""Seconds until what failed is tried again, and until a task is looked at whose host cannot tell."""
STRAY_AGAIN: Final = 300.0
"""Seconds until it is looked whether a VM that nobody asked us to destroy is gone."""


class ProxmoxVirtualMachines:
    """What is done for reservations."""

    def __init__(self, rt: Runtime, links: Links) -> None:
        self._rt = rt
        self._links = links
        self._api = rt.api(MANAGER)
        self.controller: Controller | None = None

    async def reconcile(self, key: Key) -> Result | None:
        """Look after a reservation that has no machine any more."""
        reservation = self._rt.cache.get(PROXMOX_VIRTUAL_MACHINES, key)
        # Paused while it moves to another management API: so never two planes have it in hand.
        if reservation is None or PAUSED in reservation.metadata.annotations or await self._has_machine(reservation):
            return None
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
        try:
            machine = await self._rt.client.get(PROXMOX_MACHINES, whose.namespace, whose.name)
        except NotFound:
            return False
        return is_for(reservation, machine)

    async def _reap(self, key: Key, reservation: ProxmoxVirtualMachine, link: Link) -> Result | None:
        spec = reservation.spec
        since = reservation.metadata.creation_timestamp
        identity = Identity(spec.vmid, spec.name, spec.machine_ref.uid, spec.pool, since=since)
        task = self._task(key, reservation, link)
        found, leftovers = await look(link.proxmox, identity, reservation.status.node, reservation.status.boot_data_on)
        orphaned = is_left(reservation)
        if not orphaned and found.presence not in (Presence.ABSENT, Presence.FOREIGN):
            why = (
                f"ProxmoxMachine {spec.machine_ref.namespace}/{spec.machine_ref.name} is gone, and its VM {spec.vmid} "
                f"on {found.node} is not: nobody said that it may go. Destroy it, and this reservation goes too."
            )
            return await self._tell(reservation, message=why, again=STRAY_AGAIN)
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

    def left_behind(change: Change[ProxmoxMachine]) -> list[Key]:
        """The reservations of a machine that is gone."""
        if change.new is not None:
            return []
        found = rt.cache.by(PROXMOX_VIRTUAL_MACHINES, BY_MACHINE, change.object.metadata.uid)
        return [Key.of(each) for each in found]

    reaper = ProxmoxVirtualMachines(rt, links)
    made = Controller(
        "proxmoxvirtualmachine",
        PROXMOX_VIRTUAL_MACHINES,
        reaper.reconcile,
        watches=[Watch(PROXMOX_MACHINES, left_behind)],
        workers=workers,
    )
    reaper.controller = made
    return made
