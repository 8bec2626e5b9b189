"""Whether Proxmox VE is there for a cluster, as its ProxmoxConnection says, or as a look by its Secret shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nagaya.api.proxmox.conditions import ProxmoxClusterReason as Reason
from nagaya.api.proxmox.conditions import ProxmoxConnectionCondition
from nagaya.api.proxmox.proxmox_connection import ProxmoxConnection
from nagaya.infrastructure.proxmox.client.errors import HostUnreachable, Unauthorized
from nagaya.infrastructure.proxmox.connection.look import Look, is_distrusted
from nagaya.infrastructure.proxmox.connection.reference import NoConnection
from nagaya.infrastructure.proxmox.connection.status import privileges_complete, quorate
from nagaya.kube.conditions import get

_NOT_YET: Final = "It has not been looked at yet."


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether Proxmox VE can be used."""

    holds: bool
    reason: str
    sentence: str = ""
    datacenter: str = ""
    hosts: frozenset[str] = frozenset()
    """The hosts that there are; empty if that is not known."""
    off: frozenset[str] = frozenset()
    """Those of them that are known to be off."""


def of_problem(problem: NoConnection) -> Availability:
    """There is no way to it."""
    return Availability(False, problem.reason, str(problem))


def of_connection(connection: ProxmoxConnection) -> Availability:
    """As a connection says."""
    ready = get(connection.status.conditions, ProxmoxConnectionCondition.READY)
    datacenter, hosts = connection.status.datacenter, frozenset(host.name for host in connection.status.hosts)
    off = frozenset(host.name for host in connection.status.hosts if host.online is False)
    if ready is not None and ready.status == "True":
        return Availability(True, Reason.PROXMOX_AVAILABLE, "", datacenter, hosts, off)
    why = _NOT_YET if ready is None else ready.message or ready.reason
    sentence = f"ProxmoxConnection {connection.metadata.name} is not ready: {why}"
    return Availability(False, Reason.CONNECTION_NOT_READY, sentence, datacenter, hosts, off)


def of_look(seen: Look) -> Availability:
    """As a look by a Secret shows, with CAPMOX's reasons."""
    findings = None if seen.connected is None else seen.connected.findings
    datacenter = "" if findings is None else findings.datacenter
    if isinstance(seen.problem, NoConnection):
        return of_problem(seen.problem)
    if seen.problem is not None:
        reason = Reason.SECRET_UNUSABLE if isinstance(seen.problem, Unauthorized) else Reason.PROXMOX_UNREACHABLE
        sentence = str(seen.problem)
        if isinstance(seen.problem, Unauthorized) and seen.connected is not None:
            sentence = f"Proxmox VE refuses the credentials of {seen.connected.reference}: {sentence}"
        if isinstance(seen.problem, HostUnreachable) and is_distrusted(seen.problem):
            sentence += (
                " Put the authority of the hosts (/etc/pve/pve-root-ca.pem) into the key root_ca of the Secret, or "
                "give the cluster a ProxmoxConnection (`nagaya proxmox connect`)."
            )
        return Availability(False, reason, sentence, datacenter)
    known = {} if seen.snapshot is None else seen.snapshot.hosts
    hosts, off = frozenset(known), frozenset(host.name for host in known.values() if not host.online)
    for each in (privileges_complete(seen), quorate(seen)):
        if each.status == "False":
            return Availability(False, Reason.CONNECTION_NOT_READY, each.message, datacenter, hosts, off)
    return Availability(True, Reason.PROXMOX_AVAILABLE, "", datacenter, hosts, off)
