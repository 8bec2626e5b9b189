"""What the HA manager has of a machine, asked where it is to look after it, and what it is told.

Whoever comes too late for a change finds with the next look what others have made of it.
"""

from __future__ import annotations

import logging
from typing import Final

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.infrastructure.proxmox.client import Proxmox
from nagaya.infrastructure.proxmox.client.errors import Conflict, Forbidden, NotFound
from nagaya.infrastructure.proxmox.client.high_availability import HaRule
from nagaya.infrastructure.proxmox.machine.high_availability import has_rules, is_wanted
from nagaya.infrastructure.proxmox.machine.seen import BY_CLUSTER, Guest, Managed, Objects
from nagaya.infrastructure.proxmox.machine.wish import cluster_of, role
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

RULES: Final = (9, 0)
"""Since when there are rules."""
RULE_COMMENT: Final = "Made by Nagaya for machines of one cluster and role."


async def managed(
    rt: Runtime, proxmox: Proxmox, objects: Objects, found: Found | None, guest: Guest | None
) -> Managed | None:
    """What it has; None if nothing is asked of it, or not yet."""
    machine = objects.machine
    if found is None or found.presence is not Presence.OURS or not is_wanted(machine):
        return None
    provisioned = machine.status.initialization.provisioned
    if not provisioned and (not found.running or (guest is not None and not guest.answers)):
        return None
    try:
        resources = await proxmox.high_availability.resources()
        rules: dict[str, HaRule] = {}
        if has_rules(machine):
            version = await proxmox.cluster.version()
            if version.release < RULES:
                why = (
                    f"spec.ha.rules and spec.ha.affinity need Proxmox VE 9, and this is {version.text}. It has groups "
                    "instead: spec.ha.group."
                )
                return Managed(None, why=why)
            rules = await proxmox.high_availability.rules()
    except Forbidden as error:
        return Managed(None, why=f"The HA manager is to look after the VM: {error}")
    kin = frozenset(
        vmid
        for each in rt.cache.by(PROXMOX_MACHINES, BY_CLUSTER, cluster_of(machine))
        if role(each) == role(machine)
        and each.spec.ha is not None
        and machine.spec.ha is not None
        and each.spec.ha.affinity == machine.spec.ha.affinity
        and (vmid := each.spec.virtual_machine_id) is not None
        and vmid in resources
    )
    return Managed(resources.get(objects.vmid or 0), rules, kin)


async def manage(
    proxmox: Proxmox, vmid: int, options: dict[str, str | int], delete: tuple[str, ...], new: bool
) -> None:
    """Hand a VM to the manager, or change what it was told. Raises ProxmoxError."""
    if not new:
        await proxmox.high_availability.change(vmid, options, delete=delete)
        return
    try:
        await proxmox.high_availability.add(vmid, options)
    except Conflict:
        log.debug("VM %d is with the HA manager already", vmid)


async def unmanage(proxmox: Proxmox, vmid: int) -> None:
    """Take a VM from the manager. Raises ProxmoxError."""
    try:
        await proxmox.high_availability.release(vmid)
    except NotFound:
        log.debug("VM %d is not with the HA manager any more", vmid)


async def bind(proxmox: Proxmox, rule: HaRule, new: bool) -> None:
    """Make a rule, or give it other machines. Raises ProxmoxError."""
    try:
        if new:
            await proxmox.high_availability.bind(rule.name, rule.affinity, rule.vmids, comment=RULE_COMMENT)
        else:
            await proxmox.high_availability.change_rule(
                rule.name, rule.vmids, type=rule.type, affinity=rule.affinity, others=rule.others, digest=rule.digest
            )
    except Conflict as error:
        log.info("HA rule %s was changed by others meanwhile: %s", rule.name, error)
