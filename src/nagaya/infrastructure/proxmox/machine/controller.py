"""The ProxmoxMachine controller: observe, plan, apply, tell the status; again and again until something must be waited
for.

What always holds: a VMID is reserved in our API before anything is cloned, and the reservation goes last. A VM is ours
only by its marker. Whatever a lost reply or the end of this process leaves undone is found again by looking: every step
begins with a look, and a step that was done is not seen as missing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.pause import why_paused
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS
from nagaya.api.proxmox.conditions import ProxmoxMachineReason as Reason
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS, ProxmoxConnection
from nagaya.api.proxmox.proxmox_machine import FINALIZER, PROXMOX_MACHINES, TASK_BEGUN, ProxmoxMachine
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES, ProxmoxVirtualMachinePhase
from nagaya.clusters import management
from nagaya.clusters.finalizer import release
from nagaya.infrastructure.proxmox.client import TaskState, Upid
from nagaya.infrastructure.proxmox.client.errors import Conflict, Forbidden, ProxmoxError
from nagaya.infrastructure.proxmox.machine import leaving
from nagaya.infrastructure.proxmox.machine.apply import (
    NoVmid,
    UnusableBootData,
    carry_out,
    hold,
    let_go,
    tell_reservation,
)
from nagaya.infrastructure.proxmox.machine.changes import (
    OfAddress,
    OfCluster,
    OfConnection,
    OfInfrastructure,
    of_machine,
    of_reservation,
)
from nagaya.infrastructure.proxmox.machine.handover import NotTaken
from nagaya.infrastructure.proxmox.machine.health import MADE, with_boot_data
from nagaya.infrastructure.proxmox.machine.looking import look_around, without_link
from nagaya.infrastructure.proxmox.machine.memory import Memory
from nagaya.infrastructure.proxmox.machine.plan import failed, plan
from nagaya.infrastructure.proxmox.machine.seen import Objects, Seen, index, read
from nagaya.infrastructure.proxmox.machine.status import CONDITIONS, FIELDS, NEWS, paused_status, status
from nagaya.infrastructure.proxmox.machine.steps import (
    CloneTemplate,
    Eject,
    GiveUpReservation,
    LeaveToReaper,
    Plan,
    ReleaseClaims,
)
from nagaya.infrastructure.proxmox.placement import Clone, Reservation
from nagaya.infrastructure.proxmox.virtual_machine.found import Presence
from nagaya.infrastructure.proxmox.virtual_machine.link import Link, Links
from nagaya.kube.cache.change import Change
from nagaya.kube.controller import Controller, Result, Watch
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

MANAGER: Final = "nagaya-proxmoxmachine"
MOST_STEPS: Final = 12
"""Steps in one go, more than any machine needs: a mistake here never keeps others waiting."""
AT_A_TIME: Final = 64
"""Machines that are looked at side by side. Most of the time each waits for an answer of Proxmox VE, and who asks a
guest that is not up waits for three seconds: with few, machines that boot would keep others from being cloned."""
_FAILED: Final[Mapping[str, str]] = {
    Reason.CLONING: Reason.CLONING_FAILED,
    Reason.WAITING_FOR_VM_POWER_UP: Reason.POWERING_ON_FAILED,
}
"""The reason for what could not even be begun."""
AT_ONCE: Final = 0.2
"""Seconds until a machine is looked at again that has come to the end of its steps in one go."""


class ProxmoxMachines:
    """What is done for ProxmoxMachines."""

    def __init__(self, rt: Runtime, links: Links) -> None:
        self._rt = rt
        self._links = links
        self._api = rt.api(MANAGER)
        self._memory = Memory()
        self._of_connection = OfConnection(rt.cache)
        self._plane = ""
        self.controller: Controller | None = None

    def called(self, change: Change[ProxmoxConnection]) -> Iterable[Key]:
        """The machines that need not wait out their pause any more, by a change of their connection."""
        keys = [*self._of_connection(change)]
        self._memory.called.update(keys)
        return keys

    async def reconcile(self, key: Key) -> Result | None:
        """Bring a machine as far as it goes without waiting."""
        for _ in range(MOST_STEPS):
            machine = self._rt.cache.get(PROXMOX_MACHINES, key)
            if machine is None:
                self._memory.gone(key)
                return None
            self._plane = self._plane or await management.identity(self._rt.client)
            objects = replace(read(self._rt, machine), plane=self._plane)
            if why := why_paused(objects.cluster, machine, PROXMOX_MACHINES.kind):
                told = paused_status(machine, why, self._rt.world.clock.now())
                await self._api.status(PROXMOX_MACHINES, machine, told, conditions=CONDITIONS, fields=FIELDS)
                return None
            seen = await self._look(objects)
            made = plan(seen)
            log.debug("proxmox machine %s: %s", key, made.made.message or made.made.reason)
            self._remember(key, seen, made)
            if made.failed:
                said = made.deleting or made.made
                self._rt.recorder.warning(PROXMOX_MACHINES, machine, said.reason, said.message)
            if made.hold:
                await hold(self._api, machine)
                continue
            await self._reservation_told(seen)
            made, task = await self._run(seen, made)
            if made.release:
                await self._release(machine)
                return None
            if made.step is not None and task is None and not made.failed and not made.rests:
                continue  # it is done, and the next look tells more
            tell_after = None if made.silent else await self._tell(seen, machine, made, task)
            if task is not None:
                self._listen(key, seen, task)
            self._listen_to_present(key, seen)
            return Result(made.again_after, tell_after)
        return Result(AT_ONCE)

    async def _look(self, objects: Objects) -> Seen:
        link = await self._link(objects)
        if isinstance(link, str):
            return without_link(self._rt, self._memory, objects, link)
        try:
            return await look_around(self._rt, self._memory, objects, link)
        except Forbidden as error:
            why = f"{error}{await _remedy(link, error)}"
            return without_link(self._rt, self._memory, objects, why)
        except ProxmoxError as error:
            return without_link(self._rt, self._memory, objects, f"{error}")

    async def _link(self, objects: Objects) -> Link | str:
        if objects.reservation is not None:
            spec = objects.reservation.spec
            return await self._links.of_reference(spec.connection_ref, spec.machine_ref.namespace)
        if objects.infrastructure is None:
            return "The ProxmoxCluster of the machine does not exist."
        return await self._links.of_cluster(objects.infrastructure)

    async def _run(self, seen: Seen, made: Plan) -> tuple[Plan, Upid | None]:
        step = made.step
        if step is None:
            return made, None
        key = Key.of(seen.machine)
        log.info("proxmox machine %s: %s", key, (made.deleting or made.made).message or type(step).__name__)
        try:
            if isinstance(step, GiveUpReservation | LeaveToReaper | ReleaseClaims):
                await let_go(self._rt, self._api, seen, step)
                return made, None
            assert seen.link is not None
            task = await carry_out(self._rt, self._api, seen, seen.link, step, self._memory.reserving)
        except Conflict as error:
            # Somebody changed it meanwhile, or it is there already: the next look shows which.
            return self._failed(seen, Reason.WAITING_FOR_VIRTUAL_MACHINE_CONFIG, str(error)), None
        except Forbidden as error:
            return self._failed(seen, Reason.NOT_AUTHORIZED, f"{error}{await _remedy(seen.link, error)}"), None
        except ProxmoxError as error:
            return self._failed(seen, _FAILED.get(made.made.reason, made.made.reason), str(error)), None
        except NoVmid as error:
            return self._failed(seen, Reason.WAITING_FOR_VMID, str(error)), None
        except (UnusableBootData, NotTaken) as error:
            return self._failed(seen, Reason.WAITING_FOR_BOOTSTRAP_DATA, str(error)), None
        if isinstance(step, CloneTemplate):
            if task is not None:
                self._memory.begun.add(task.text)
            self._memory.cloning(seen.objects.uid, Clone.RUNNING)
        if task is not None:
            # The status names the last task only.
            self._rt.recorder.normal(PROXMOX_MACHINES, seen.machine, TASK_BEGUN, f"{_purpose(made, task)} ({task})")
        return made, task

    def _failed(self, seen: Seen, reason: str, message: str) -> Plan:
        log.warning("proxmox machine %s: %s", Key.of(seen.machine), message)
        told = leaving.failed(seen, message) if seen.machine.metadata.deleting else failed(seen, reason, message)
        self._memory.failures[seen.objects.uid] = seen.failures + 1
        # A machine that is of use all the same has no place for this in its conditions.
        self._rt.recorder.warning(PROXMOX_MACHINES, seen.machine, reason, message)
        return replace(told, made=MADE, provisioned=True) if seen.provisioned else told

    def _remember(self, key: Key, seen: Seen, made: Plan) -> None:
        """What must be known at once, before anything is waited for."""
        memory, uid = self._memory, seen.objects.uid
        if made.placed is not None:
            since = next((each.since for each in seen.promised if each.machine == uid), "")
            memory.promise(uid, made.placed.reservation, seen.objects.vmid or 0, seen.now, since)
        memory.uids[key] = uid
        if made.waits_for_turn:
            memory.waiting[uid] = key
        if made.failed:
            memory.failures[uid] = seen.failures + 1
        found = seen.found
        if found is not None and found.presence is Presence.OURS:
            memory.cloning(uid, Clone.DONE)
        if made.settled:
            memory.settled.add(uid)
        if made.provisioned:
            promised = memory.promises.get(uid)
            row = seen.snapshot.machines.get(seen.objects.vmid or 0) if seen.snapshot is not None else None
            if promised is not None and row is not None and row.memory >= promised.memory:
                # Hosts tell every 10 s how large their VMs are; until then the promise counts.
                memory.promises.pop(uid)
            if not made.failed and made.step is None and made.retry_after is None and not made.keep:
                memory.failures.pop(uid, None)
        elif made.failed and uid in memory.promises:
            # What failed may go elsewhere next time, and lets others go before it.
            memory.promises.pop(uid)

    async def _reservation_told(self, seen: Seen) -> None:
        """Where the VM is must be known also when the machine is gone; before they are put there, which hosts may have
        its boot data; and that a clone has left nothing."""
        reservation, found = seen.objects.reservation, seen.found
        if reservation is None or found is None or seen.machine.metadata.deleting:
            return
        if found.presence is Presence.OURS:
            hosts, phase = with_boot_data(seen, found), ProxmoxVirtualMachinePhase.PRESENT
            await tell_reservation(self._api, reservation, found.node, phase, hosts)
        elif seen.clone_failed and found.presence is Presence.ABSENT:
            # What was ordered is over and has left nothing, so whatever comes under the VMID now is not ours.
            hosts, phase = reservation.status.boot_data_on, ProxmoxVirtualMachinePhase.RESERVED
            await tell_reservation(self._api, reservation, reservation.status.node, phase, hosts)

    async def _tell(self, seen: Seen, machine: ProxmoxMachine, made: Plan, task: Upid | None) -> float | None:
        now = self._rt.cache.get(PROXMOX_MACHINES, Key.of(machine))
        machine = now if now is not None and now.metadata.uid == machine.metadata.uid else machine
        told = status(seen, machine, made, task.text if task is not None else "")
        if not made.keep:
            self._memory.called.discard(Key.of(machine))  # what it has to wait for now is told
        return await self._api.news(PROXMOX_MACHINES, machine, told, NEWS, conditions=CONDITIONS, fields=FIELDS)

    async def _release(self, machine: ProxmoxMachine) -> None:
        log.info("proxmox machine %s: is gone", Key.of(machine))
        self._memory.forget(machine.metadata.uid)
        self._look_at_waiting()
        await release(self._rt, self._api, PROXMOX_MACHINES, machine, FINALIZER)

    def _listen_to_present(self, key: Key, seen: Seen) -> None:
        """A process that has just begun is told of tasks, too, that an earlier one has set going."""
        if seen.task is not None and not seen.task.ended:
            self._listen(key, seen, seen.task.upid)

    def _listen(self, key: Key, seen: Seen, task: Upid) -> None:
        if seen.link is None or task.text in self._memory.heard:
            return
        self._memory.heard.add(task.text)

        def ended(state: TaskState) -> None:
            self._memory.heard.discard(state.upid.text)
            if self.controller is not None:
                self.controller.look_at([key])
            if state.upid.type == "qmclone":
                self._memory.clone_ended(state.upid)
                self._memory.cloning(seen.objects.uid, Clone.DONE)
                self._look_at_waiting(self._memory.promises.get(seen.objects.uid))

        seen.link.proxmox.tasks.listen(task, ended)

    def _look_at_waiting(self, ended: Reservation | None = None) -> None:
        if self.controller is not None:
            self.controller.look_at(self._memory.next_in_line(ended))


def _purpose(made: Plan, task: Upid) -> str:
    """What a task is for. Of a machine that is made, how it fares says more."""
    if isinstance(made.step, Eject):
        return "The boot data are removed, as the machine has its Node."
    told = (each.message for each in (made.deleting, made.made, made.healthy) if each is not None)
    return next(filter(None, told), f"Task {task.type} is begun.")


async def _remedy(link: Link | None, error: Forbidden) -> str:
    """Have privileges looked at again, which a missing one is a reason for, and say what that tells."""
    if link is None:
        return ""
    link.refused(error)
    return await link.remedy(error)


def controller(rt: Runtime, links: Links, *, workers: int = AT_A_TIME) -> Controller:
    """The controller, to be run by a Manager with the same cache."""
    index(rt.cache)
    machines = ProxmoxMachines(rt, links)
    made = Controller(
        "proxmoxmachine",
        PROXMOX_MACHINES,
        machines.reconcile,
        watches=[
            Watch(MACHINES, of_machine),
            Watch(CLUSTERS, OfCluster(rt.cache)),
            Watch(PROXMOX_CLUSTERS, OfInfrastructure(rt.cache)),
            Watch(PROXMOX_CONNECTIONS, machines.called),
            Watch(PROXMOX_VIRTUAL_MACHINES, of_reservation),
            Watch(IP_ADDRESS_CLAIMS, OfAddress(rt.cache)),
        ],
        workers=workers,
    )
    machines.controller = made
    return made
