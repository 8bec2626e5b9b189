"""The look at the world outside before each decision: no more is asked than the decision can depend on."""

from __future__ import annotations

import logging
from dataclasses import replace
from math import ceil
from typing import Final

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES, ProxmoxMachine
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES, reservation_name
from nagaya.infrastructure.proxmox.client import Phase, Proxmox, Snapshot, TaskState, upid
from nagaya.infrastructure.proxmox.client.errors import ProxmoxError
from nagaya.infrastructure.proxmox.client.inventory import USUAL
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.client.rows import Status
from nagaya.infrastructure.proxmox.machine.asking import RUNNING, ask, is_erased
from nagaya.infrastructure.proxmox.machine.clones import running_clones
from nagaya.infrastructure.proxmox.machine.delivery import is_native
from nagaya.infrastructure.proxmox.machine.equipment import equipment_for
from nagaya.infrastructure.proxmox.machine.health import slots_with_image
from nagaya.infrastructure.proxmox.machine.high_availability import is_wanted
from nagaya.infrastructure.proxmox.machine.managing import managed
from nagaya.infrastructure.proxmox.machine.memory import TEMPLATE_AGE, Memory
from nagaya.infrastructure.proxmox.machine.own_addresses import without_endpoint
from nagaya.infrastructure.proxmox.machine.seen import Guest, Objects, Seen
from nagaya.infrastructure.proxmox.machine.waiting import GUEST_AGAIN
from nagaya.infrastructure.proxmox.machine.wish import (
    NO_EQUIPMENT,
    Whose,
    cluster_of,
    may_be_meant,
    pci_devices,
    role,
    template,
    world,
)
from nagaya.infrastructure.proxmox.placement import Clone, Reservation
from nagaya.infrastructure.proxmox.virtual_machine import marker
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence, find
from nagaya.infrastructure.proxmox.virtual_machine.link import Link
from nagaya.infrastructure.proxmox.virtual_machine.removing import ISO, boot_image, leftovers, look, strays
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

MIB: Final = 1024**2
SOON: Final = 0.05
"""Seconds: no pause is shorter."""
_AS_IT_SHOULD_BE: Final = ("", "running")
_NOT_PLAIN: Final = (Presence.HIDDEN, Presence.BEING_MADE, Presence.UNREACHABLE)
"""Where something is under the VMID of which nobody can say whose it is."""
AT_REST: Final = 30.0
"""Seconds that the list of everything may be old for machines that run: so all of them together have it taken at most
so often, however many they are."""


async def look_around(rt: Runtime, memory: Memory, objects: Objects, link: Link) -> Seen:
    """What is seen of a machine. Raises ProxmoxError."""
    proxmox, machine = link.proxmox, objects.machine
    at_rest = objects.uid in memory.settled and not machine.metadata.deleting
    snapshot = await proxmox.inventory.get(AT_REST if at_rest else USUAL)
    task = _task(proxmox, machine)
    found, left = await _vm(rt, memory, objects, link, snapshot, task)
    guest, erased, looked_after = None, None, None
    clones: tuple[Reservation, ...] = ()
    templates: dict[int, MachineConfig] = {}
    equipment = NO_EQUIPMENT
    has_no_vm = found is None or found.presence is Presence.ABSENT
    if not machine.metadata.deleting and objects.infrastructure is not None:
        if not settled(memory, objects, snapshot):
            guest = without_endpoint(await _guest(rt, memory, objects, link, found), _endpoint(objects))
            erased = await is_erased(proxmox, objects, found)
            looked_after = await managed(rt, proxmox, objects, found, guest)
        if has_no_vm:
            templates = await _templates(rt, memory, objects, link, snapshot)
            clones = await running_clones(rt, memory, link, snapshot, objects.uid)
            equipment = await equipment_for(machine, link, snapshot, _owned(rt, link))
    # Nothing is waited for from here on: what is promised now is still so when the decision is made.
    inventory = None
    if has_no_vm and objects.infrastructure is not None:
        inventory = world(snapshot, objects.infrastructure, templates, _owned(rt, link), equipment)
    return Seen(
        objects,
        rt.world.clock.now(),
        link,
        "",
        snapshot,
        found,
        left,
        task,
        guest,
        inventory,
        (*_promised(rt, memory, link, snapshot), *clones),
        memory.failures.get(objects.uid, 0),
        objects.uid in memory.settled,
        erased,
        looked_after,
        Key.of(machine) in memory.called,
    )


async def _guest(rt: Runtime, memory: Memory, objects: Objects, link: Link, found: Found | None) -> Guest | None:
    """What the guest says. One that is waited for is not asked before it is likely to be up, nor more often than it has
    to be, whatever else happens to the machine meanwhile: what it said last counts."""
    if found is None or not found.running or objects.machine.status.initialization.provisioned:
        return await ask(link.proxmox, objects, found)
    clock, uid = rt.world.clock, objects.uid
    now, last = clock.monotonic(), memory.guests.pop(uid, None)
    if last is not None and now - last[0] < GUEST_AGAIN:
        memory.guests[uid] = last
        return replace(last[1], again=max(SOON, last[0] + GUEST_AGAIN - now))
    if (early := memory.likely_up(link.datacenter) - found.uptime) > 0:
        return Guest(False, "it is asked when it is likely to be up.", again=ceil(early))  # it is told in whole seconds
    async with memory.door(link.datacenter, found.node):
        begun = clock.monotonic()
        guest = await ask(link.proxmox, objects, found)
    if guest is None or not _waits(guest, found):
        if guest is not None and guest.interfaces:  # it has answered, and not only been taken to be up
            memory.booted(link.datacenter, found.uptime + clock.monotonic() - now)
        return guest
    memory.guests[uid] = begun, guest
    return replace(guest, again=max(SOON, begun + GUEST_AGAIN - clock.monotonic()))


def _waits(guest: Guest, found: Found) -> bool:
    """Whether nothing but time changes what it says. One that gets its boot data by the agent is told things."""
    return not guest.answers or (guest.cloud_init == RUNNING and not is_native(found.config))


def without_link(rt: Runtime, memory: Memory, objects: Objects, why: str) -> Seen:
    """What is seen of a machine whose Proxmox VE cannot be asked."""
    return Seen(objects, rt.world.clock.now(), no_link=why, failures=memory.failures.get(objects.uid, 0))


def _endpoint(objects: Objects) -> str:
    """The address of the API: that of the Cluster, which it has from its ProxmoxCluster."""
    told = "" if objects.cluster is None else objects.cluster.spec.control_plane_endpoint.host
    own = objects.infrastructure.spec.control_plane_endpoint if objects.infrastructure is not None else None
    return told or (own.host if own is not None else "")


def _task(proxmox: Proxmox, machine: ProxmoxMachine) -> TaskState | None:
    try:
        named = upid(machine.status.task_ref)
    except ValueError:
        return None
    state = proxmox.tasks.look(named)
    # A task that nobody knows any more, or that its host cannot tell of, tells nothing: the world does.
    return None if state.phase is Phase.VANISHED or state.trouble else state


async def _vm(
    rt: Runtime, memory: Memory, objects: Objects, link: Link, snapshot: Snapshot, task: TaskState | None
) -> tuple[Found | None, tuple[str, ...]]:
    identity, machine = objects.identity, objects.machine
    if identity is None:
        return None, ()
    if objects.reservation is None and link.credentials_in not in ("", machine.metadata.namespace):
        # Others use the same credentials: that somebody knows the UUID of a VM does not make it theirs.
        identity = replace(identity, needs_marker=True)
    if task is not None and not task.ended and not machine.status.initialization.provisioned:
        return Found(Presence.HIDDEN, objects.last_node, why="A task is at work on it."), ()
    if machine.metadata.deleting:
        found, remains = await look(link.proxmox, identity, objects.last_node, objects.hosts)
        return _judged(objects, found), remains
    if settled(memory, objects, snapshot):
        row = snapshot.machines[identity.vmid]
        if await _state(rt, memory, link, row.node, identity.vmid) in _AS_IT_SHOULD_BE:
            return Found(Presence.OURS, row.node, running=True, state="running", ha_state=row.ha_state), ()
    found = _judged(objects, await find(link.proxmox, identity, objects.last_node))
    has_node = objects.owner is not None and objects.owner.status.node_ref is not None
    if machine.status.initialization.provisioned and has_node and found.presence is Presence.OURS:
        if slots_with_image(found.config, identity.vmid):
            return found, ()  # it is taken out of the drive first
        listed = await leftovers(link.proxmox, identity.vmid, found.node, (ISO,))
        left = [each for each in objects.hosts if each != found.node]
        found = replace(found, strays=await strays(link.proxmox, identity.vmid, left))
        return found, tuple(each for each in listed if each.endswith(f"iso/{boot_image(identity.vmid)}"))
    return found, ()


def _judged(objects: Objects, found: Found) -> Found:
    """Who took a VMID before anything was cloned under it may be out of sight for ever: it is not waited for him."""
    if found.presence not in _NOT_PLAIN or not objects.is_untouched:
        return found
    why = f"VMID {objects.vmid} was taken by somebody else before anything was cloned for the machine."
    return replace(found, presence=Presence.FOREIGN, why=why)


async def _state(rt: Runtime, memory: Memory, link: Link, node: str, vmid: int) -> str:
    """How a VM is that the list of all machines has as running: one that is paused or stands still is there, too. All
    machines of a host share one question. Empty if the host does not tell: the list counts then."""
    key, clock = (link.datacenter, node), rt.world.clock
    async with memory.one_at_a_time(("states", *key)):
        held = memory.states.get(key)
        if held is None or clock.monotonic() - held[0] > AT_REST:
            try:
                held = (clock.monotonic(), await link.proxmox.machines.states(node))
            except ProxmoxError as error:
                log.info("host %s does not tell how its VMs are: %s", node, error)
                held = (clock.monotonic(), {})
            memory.states[key] = held
    return held[1].get(vmid, "")


def settled(memory: Memory, objects: Objects, snapshot: Snapshot) -> bool:
    """Whether the list of all machines is enough to know that a VM runs as it should."""
    identity = objects.identity
    if identity is None or objects.uid not in memory.settled or objects.machine.metadata.deleting:
        return False
    row = snapshot.machines.get(identity.vmid)
    if row is None or row.status is not Status.RUNNING or row.name != identity.name:
        return False
    if is_wanted(objects.machine) and row.ha_state in ("", "error"):
        return False
    return not identity.pool or row.pool == identity.pool


async def _templates(
    rt: Runtime, memory: Memory, objects: Objects, link: Link, snapshot: Snapshot
) -> dict[int, MachineConfig]:
    """The configurations of templates that may be meant. Those on hosts that are off are as they were. A VM that is a
    machine is no template: it may be another tenant's, and a copy of it would have the tenant's keys."""
    wanted = template(objects.machine, objects.owner, link.template_selector)
    known: dict[int, MachineConfig] = {}
    for row in sorted(snapshot.machines.values(), key=lambda each: each.vmid):
        if not may_be_meant(wanted, row):
            continue
        key = (link.datacenter, row.vmid)
        host = snapshot.hosts.get(row.node)
        async with memory.one_at_a_time(("template", *key)):
            held, now = memory.templates.get(key), rt.world.clock.monotonic()
            if (held is None or now - held[0] > TEMPLATE_AGE) and host is not None and host.online:
                try:
                    held = (now, await link.proxmox.machines.config(row.node, row.vmid))
                    memory.templates[key] = held
                except ProxmoxError as error:
                    # What is known of it from before counts on; if nothing is, placement says so for that host.
                    log.info("template %d on %s cannot be read: %s", row.vmid, row.node, error)
        reserved = rt.cache.get(PROXMOX_VIRTUAL_MACHINES, Key("", reservation_name(*key))) is not None
        if held is not None and (row.template or not (reserved or marker.read(held[1].get("description")))):
            known[row.vmid] = held[1]
    return known


def _owned(rt: Runtime, link: Link) -> dict[int, Whose]:
    made: dict[int, Whose] = {}
    for reservation in rt.cache.list(PROXMOX_VIRTUAL_MACHINES):
        if reservation.spec.datacenter != link.datacenter:
            continue
        whose = reservation.spec.machine_ref
        machine = rt.cache.get(PROXMOX_MACHINES, Key(whose.namespace, whose.name))
        if machine is not None and machine.metadata.uid == whose.uid:
            made[reservation.spec.vmid] = Whose(whose.uid, cluster_of(machine), role(machine), pci_devices(machine))
    return made


def _promised(rt: Runtime, memory: Memory, link: Link, snapshot: Snapshot) -> tuple[Reservation, ...]:
    """What this process has promised, and what an earlier one has that the inventory does not show yet."""
    made = dict(memory.promises)
    for reservation in rt.cache.list(PROXMOX_VIRTUAL_MACHINES):
        whose = reservation.spec.machine_ref
        if reservation.spec.datacenter != link.datacenter or whose.uid in made:
            continue
        machine = rt.cache.get(PROXMOX_MACHINES, Key(whose.namespace, whose.name))
        if machine is None or machine.metadata.uid != whose.uid or not machine.status.proxmox_node:
            continue
        spec, task = machine.spec, _task(link.proxmox, machine)
        row = snapshot.machines.get(reservation.spec.vmid)
        if row is not None and row.memory >= (spec.memory_mib or 1) * MIB:
            continue
        cloning = task is not None and not task.ended and task.upid.type == "qmclone"
        made[whose.uid] = Reservation(
            whose.uid,
            machine.status.proxmox_node,
            reservation.spec.vmid,
            (spec.num_sockets or 1) * (spec.num_cores or 1),
            (spec.memory_mib or 0) * MIB,
            cluster_of(machine),
            role(machine),
            devices=pci_devices(machine),
            clone=Clone.RUNNING if cloning else Clone.WAITING if row is None else Clone.DONE,
            since=begun.isoformat() if (begun := reservation.metadata.creation_timestamp) is not None else "",
        )
    return tuple(made.values())
