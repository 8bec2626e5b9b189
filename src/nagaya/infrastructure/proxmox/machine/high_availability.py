"""What the HA manager of Proxmox VE is told of a machine (CAPMOX #216, #212, #563): to look after its VM, and by which
rules. Pure.

A VM is handed to the manager when its guest is up, so that its first start waits for nobody's rounds. A state that
somebody has asked of the manager by hand is left as it is. Rules are only ever added to: when a VM goes, Proxmox VE
itself takes it out of them. Machines of one role and cluster that are to be kept apart, or together, share one rule of
ours. Proxmox VE takes no rule for fewer than two, and none that keeps more apart than there are hosts; who finds no
room in it is added when another one has gone.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Final

from nagaya.api.proxmox.placement import HighAvailability
from nagaya.api.proxmox.proxmox_machine import ProxmoxMachine
from nagaya.infrastructure.proxmox.client.high_availability import NEGATIVE, POSITIVE, RESOURCE_AFFINITY, HaRule
from nagaya.infrastructure.proxmox.machine.seen import Managed, Seen
from nagaya.infrastructure.proxmox.machine.steps import Bind, Manage, Unmanage
from nagaya.infrastructure.proxmox.machine.wish import cluster_of, role
from nagaya.infrastructure.proxmox.virtual_machine.found import Found

_AFFINITY: Final = {"Separate": NEGATIVE, "Together": POSITIVE}
_LONGEST_NAME: Final = 30
_STRANGE: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Lacking:
    """What the HA manager has not been told yet."""

    message: str
    step: Manage | Unmanage | Bind | None = None
    """None: nothing can be done about it now."""
    blocks: bool = True
    """Whether it is an error that the machine waits with, and not only a matter of time."""


def is_wanted(machine: ProxmoxMachine) -> bool:
    """Whether the HA manager is to look after the VM."""
    return machine.spec.ha is not None and machine.spec.ha.enabled is True


def has_rules(machine: ProxmoxMachine) -> bool:
    """Whether rules have to be known."""
    return machine.spec.ha is not None and bool(machine.spec.ha.rules or machine.spec.ha.affinity)


def rule_name(machine: ProxmoxMachine) -> str:
    """The name of the rule that machines of one cluster and role share."""
    cluster = cluster_of(machine)
    spoken = _STRANGE.sub("-", cluster.lower()).strip("-")[:_LONGEST_NAME].strip("-")
    known = hashlib.sha256(cluster.encode()).hexdigest()[:8]
    return f"nagaya-{spoken}-{_STRANGE.sub('-', role(machine))}-{known}"


def lacking(seen: Seen, found: Found) -> Lacking | None:
    """The first thing that is missing; None if all is as it should be, or nothing is asked for."""
    machine, wanted = seen.machine, seen.machine.spec.ha
    if wanted is None or wanted.enabled is None:
        return None
    if not wanted.enabled:
        return Lacking("The HA manager lets go of the VM.", Unmanage()) if found.managed else None
    managed = seen.managed
    if managed is None:
        return None
    if managed.why:
        return Lacking(managed.why)
    if managed.resource is None:
        told: dict[str, str | int] = {"state": "started", **_options(wanted)}
        return Lacking("The VM is handed to the HA manager.", Manage(told, new=True))
    if (changed := _changed(wanted, managed)) is not None:
        return Lacking("The HA manager is told what has changed.", changed)
    for name in wanted.rules:
        rule = managed.rules.get(name)
        if rule is None:
            return Lacking(f"HA rule {name} does not exist: make it, or take it out of spec.ha.rules.")
        if seen.objects.vmid not in rule.vmids:
            return Lacking(f"The VM is added to HA rule {name}.", Bind(_with(rule, seen.objects.vmid or 0)))
    return _shared_rule(seen, machine, managed, _AFFINITY.get(wanted.affinity or ""))


def _options(wanted: HighAvailability) -> dict[str, str | int]:
    given = {"group": wanted.group or None, "max_restart": wanted.max_restart, "max_relocate": wanted.max_relocate}
    return {name: value for name, value in given.items() if value is not None}


def _changed(wanted: HighAvailability, managed: Managed) -> Manage | None:
    present = managed.resource
    assert present is not None
    options = {
        name: value for name, value in _options(wanted).items() if getattr(present, name) != value
    }  # fmt: skip
    return Manage(options) if options else None


def _shared_rule(seen: Seen, machine: ProxmoxMachine, managed: Managed, affinity: str | None) -> Lacking | None:
    if affinity is None:
        return None
    name, vmid = rule_name(machine), seen.objects.vmid or 0
    hosts = len(seen.snapshot.hosts) if seen.snapshot is not None else 0
    rule = managed.rules.get(name)
    if rule is None:
        members = sorted(managed.kin | {vmid})
        if affinity == NEGATIVE:
            members = members[:hosts]
        if len(members) < 2:
            return None  # the next one of its kind brings the rule
        new = HaRule(name, RESOURCE_AFFINITY, frozenset(members), affinity)
        return Lacking(f"HA rule {name} is made.", Bind(new, new=True))
    if rule.affinity == affinity and vmid in rule.vmids:
        return None
    if affinity == NEGATIVE and vmid not in rule.vmids and len(rule.vmids) >= hosts:
        why = f"HA rule {name} keeps {len(rule.vmids)} machines apart, and there are {hosts} hosts: it has no room."
        return Lacking(why, blocks=False)
    return Lacking(f"The VM is added to HA rule {name}.", Bind(_with(replace(rule, affinity=affinity), vmid)))


def _with(rule: HaRule, vmid: int) -> HaRule:
    return replace(rule, vmids=rule.vmids | {vmid})
