"""The end of a story: everything is well again, so everybody gets what he wants, nothing is left over, and then nobody
writes any more."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from nagaya.api.cluster.labels import CONTROL_PLANE
from nagaya.api.ipam.ip_address_reservation import IP_ADDRESS_RESERVATIONS
from support.lab import SECRETS, holds
from support.plane.addon import brought, set_name
from support.plane.hosted_order import hosted_disorder
from support.plane.scene import Scene
from support.plane.wish import Wish
from support.proxmox_town_hosts import clear_away
from support.proxmox_town_order import disorder

PATIENCE: Final = 3600.0
"""Seconds until all is as it should be: failures are tried again after minutes, and machines of a control plane are
rolled one by one."""
FIRST_LOOK, LONGEST_PAUSE = 2.0, 20.0
CLEARING: Final = 120.0
"""Seconds after which somebody removes what only people can."""
QUIET: Final = 100.0
"""Seconds without a write after which nothing more is to come: machines are looked at every minute or a little later,
by a list of the data center that may be half a minute old, and what befell it last is noticed then."""
PEACE: Final = 130.0
"""Seconds for which nobody may write, neither to the API nor to Proxmox VE: two looks at the data center."""
NEGATIVE: Final = ("Paused", "Deleting")
"""Conditions that are well when they are not True."""
HOSTED: Final = ("Available", "ComponentsReady", "TenantConfigured")
"""Conditions that a hosted control plane has when all is well."""
SHARED: Final = {"ProxmoxConnection/pve"}


async def settle(scene: Scene) -> list[str]:
    """Wait until everything is as the user wants it. Returns what is not after a long time."""
    begun, pause = scene.now, FIRST_LOOK
    while True:
        if scene.now > begun + CLEARING:
            for vmid in clear_away(scene):
                scene.tell(f"somebody removes VM {vmid}, as he was told")
        found = await unmet(scene)
        if not found:
            found = await disorder(scene) + hosted_disorder(scene) + await _left_over(scene)
        if not found:
            return []
        if scene.now > begun + PATIENCE or scene.watchman.problems or scene.room.problems or scene.blunders.found:
            return found
        await asyncio.sleep(pause)
        pause = min(pause * 1.3, LONGEST_PAUSE)


async def peace(scene: Scene) -> list[str]:
    """See that nobody writes. Returns what was written."""
    writes, since = len(scene.mortal.writes), scene.now
    while scene.now < since + QUIET and scene.now < since + PATIENCE:
        await asyncio.sleep(QUIET / 6)
        if len(scene.mortal.writes) != writes:
            writes, since = len(scene.mortal.writes), scene.now
    begin = len(scene.ledger.calls)
    await asyncio.sleep(PEACE)
    found = [f"written at rest: {call.method} {call.path}" for call in scene.mortal.writes[writes:]]
    return found + [f"written at rest: {call}" for call in scene.ledger.writes(begin)]


async def unmet(scene: Scene) -> list[str]:
    """What the user wants and does not have."""
    connection = await scene.get("ProxmoxConnection", "pve")
    found = [
        f"ProxmoxConnection {each.type}: {each.message}"
        for each in connection.status.conditions
        if each.status != "True" and each.type not in NEGATIVE
    ]
    machines = await scene.all("Machine")
    for wanted in scene.wishes.values():
        found += await _unmet(scene, wanted, [each for each in machines if each.spec.cluster_name == wanted.name])
    found += [f"Machine {each.metadata.name}" for each in machines if each.spec.cluster_name not in scene.wishes]
    for cluster in await scene.all("Cluster"):
        if cluster.metadata.name not in scene.wishes or cluster.metadata.deleting:
            found.append(f"Cluster {cluster.metadata.name} is still there")
    return found


async def _unmet(scene: Scene, wanted: Wish, machines: list[Any]) -> list[str]:
    planes = [each for each in machines if CONTROL_PLANE in each.metadata.labels]
    workers = [each for each in machines if CONTROL_PLANE not in each.metadata.labels]
    found = []
    count = 0 if wanted.hosted else wanted.control_planes
    if len(planes) != count or len(workers) != wanted.workers:
        found.append(
            f"{wanted.name} has {len(planes)} control planes and {len(workers)} workers, "
            f"and should have {count} and {wanted.workers}"
        )
    for each in machines:
        if not holds(each, "Available"):
            found.append(f"Machine {each.metadata.name} is not Available")
        if each.spec.version != wanted.version:
            found.append(f"Machine {each.metadata.name} is on {each.spec.version}")
        if CONTROL_PLANE not in each.metadata.labels and each.metadata.labels.get("colour", "") != wanted.colour:
            found.append(f"Machine {each.metadata.name} has another colour than {wanted.colour!r}")
    cluster = await scene.get("Cluster", wanted.name)
    plane = await scene.get(wanted.kind, wanted.name)
    deployment = await scene.get("MachineDeployment", f"{wanted.name}-workers")
    if cluster is None or plane is None or deployment is None:
        return [*found, f"{wanted.name} lacks its Cluster, {wanted.kind} or MachineDeployment"]
    if not holds(cluster, "Available"):
        found.append(f"Cluster {wanted.name} is not Available")
    if plane.status.version != wanted.version:
        found.append(f"{wanted.kind} {wanted.name} says that it is on {plane.status.version}")
    if wanted.hosted:
        lacking = [each for each in HOSTED if not holds(plane, each)]
        found += [f"HostedControlPlane {wanted.name} is not {each}" for each in lacking]
    if wanted.addon and await brought(scene.tenant_of(wanted.name)) != wanted.addon:
        found.append(f"{wanted.name} has not got its addon as it is now: {wanted.addon}")
    if wanted.addon:
        resource_set = await scene.get("ClusterResourceSet", set_name(wanted.name))
        if resource_set is None or not holds(resource_set, "ResourcesApplied"):
            found.append(f"the ClusterResourceSet of {wanted.name} does not say that it is applied")
    for each, count in ((plane, wanted.control_planes), (deployment, wanted.workers)):
        status = each.status
        if not status.up_to_date_replicas == status.replicas == count:
            found.append(f"{each.metadata.name} says {status.up_to_date_replicas} of {status.replicas} are up to date")
    return found


async def _left_over(scene: Scene) -> list[str]:
    """What no wish accounts for: after everything was deleted, nothing is left."""
    taken = [
        f"VM {vmid} of somebody else was touched"
        for vmid, before in scene.taken.items()
        if repr(scene.datacenter.guests.get(vmid)) != before
    ]
    if scene.wishes:
        return taken
    found = [each for each in await scene.left() if each not in SHARED]
    found += [
        f"Secret/{each.metadata.name}"
        for each in (await scene.client.list(SECRETS, scene.namespace)).items
        if each.metadata.name != "pve"
    ]
    reservations = (await scene.client.list(IP_ADDRESS_RESERVATIONS)).items
    found += [f"IPAddressReservation/{each.metadata.name}" for each in reservations if each.spec.released_at is None]
    return taken + [f"{each} is left" for each in found]
