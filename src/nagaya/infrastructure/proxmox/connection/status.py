"""What a connection tells of itself, one function per condition: one sentence each, with the remedy."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from nagaya.api.meta import Condition
from nagaya.api.proxmox.conditions import ProxmoxConnectionCondition as Type
from nagaya.api.proxmox.conditions import ProxmoxConnectionReason as Reason
from nagaya.api.proxmox.proxmox_connection import (
    ConnectedHost,
    MissingPrivilege,
    ProxmoxConnection,
    ProxmoxConnectionStatus,
)
from nagaya.clusters.conditions import with_conditions
from nagaya.infrastructure.proxmox.client import Snapshot
from nagaya.infrastructure.proxmox.client.errors import (
    HostUnreachable,
    Malformed,
    NoEndpoint,
    NotImplemented,
    Unauthorized,
)
from nagaya.infrastructure.proxmox.connection.command import again
from nagaya.infrastructure.proxmox.connection.findings import OLDEST
from nagaya.infrastructure.proxmox.connection.look import Look, is_distrusted
from nagaya.infrastructure.proxmox.connection.plan import Plan
from nagaya.infrastructure.proxmox.connection.source import Unusable
from nagaya.infrastructure.proxmox.privileges.missing import commands, named
from nagaya.kube.conditions import condition

CONDITIONS: Final = (Type.READY, Type.CREDENTIALS_ACCEPTED, Type.PRIVILEGES_COMPLETE, Type.QUORATE)
FIELDS: Final = (
    "datacenter",
    "version",
    "quorate",
    "hosts",
    "missingPrivileges",
    "observedGeneration",
)
_MIB: Final = 1 << 20
_NAMED: Final = 24
_COMMANDS: Final = 4
"""How much of what is missing a condition tells; status has all of it."""
_MOST: Final = 256


def status(connection: ProxmoxConnection, seen: Look, plan: Plan, now: datetime) -> ProxmoxConnectionStatus:
    """The status after a look. What could not be seen this time stays as it was last seen."""
    before = connection.status
    findings = None if seen.connected is None or seen.problem is not None else seen.connected.findings
    told = msgspec.structs.replace(
        before,
        datacenter=before.datacenter or ("" if findings is None else findings.datacenter),
        version=before.version if findings is None else findings.version.text,
        quorate=None if seen.snapshot is None else seen.snapshot.quorate,
        hosts=before.hosts if seen.snapshot is None else _hosts(seen.snapshot),
        missing_privileges=before.missing_privileges if findings is None else _missing(seen),
        observed_generation=connection.metadata.generation or None,
    )
    conditions = (
        ready(connection, seen, plan),
        credentials_accepted(connection, seen),
        privileges_complete(seen),
        quorate(seen),
    )
    generation = connection.metadata.generation
    return msgspec.structs.replace(
        told, conditions=with_conditions(before.conditions, conditions, now=now, generation=generation)
    )


def ready(connection: ProxmoxConnection, seen: Look, plan: Plan) -> Condition:
    """Whether machines can be made there."""
    if plan.reason:
        return condition(Type.READY, False, plan.reason, plan.sentence)
    if seen.problem is not None:
        return condition(Type.READY, False, _reason(seen), told_of(connection, seen.problem))
    findings = None if seen.connected is None else seen.connected.findings
    if findings is not None and findings.version.release < OLDEST:
        return condition(
            Type.READY,
            False,
            Reason.VERSION_TOO_OLD,
            f"Proxmox VE {findings.version.text} is too old: {OLDEST[0]}.{OLDEST[1]} is the first that is supported.",
        )
    before = connection.status.datacenter
    if findings is not None and before and findings.datacenter and findings.datacenter != before:
        return condition(
            Type.READY,
            False,
            Reason.DATACENTER_CHANGED,
            f"The endpoints lead to the Proxmox VE {findings.datacenter}, and the machines of this connection are on "
            f"{before}: correct spec.endpoints, or make another ProxmoxConnection for it.",
        )
    for each in (credentials_accepted(connection, seen), privileges_complete(seen), quorate(seen)):
        if each.type == Type.PRIVILEGES_COMPLETE and _only_somewhere(seen):
            continue
        if each.status == "False":
            return condition(Type.READY, False, Reason.NOT_READY, each.message)
    return condition(Type.READY, True, Reason.READY)


def credentials_accepted(connection: ProxmoxConnection, seen: Look) -> Condition:
    """Whether Proxmox VE knows who asks."""
    type, problem = Type.CREDENTIALS_ACCEPTED, seen.problem
    if isinstance(problem, Unusable) and problem.part in ("missing", "secret"):
        reason = Reason.SECRET_MISSING if problem.part == "missing" else Reason.SECRET_UNUSABLE
        return condition(type, False, reason, str(problem))
    if isinstance(problem, Unauthorized):
        return condition(type, False, Reason.REFUSED, told_of(connection, problem))
    if problem is not None:
        return condition(type, "Unknown", Reason.UNKNOWN, "Proxmox VE could not be asked.")
    return condition(type, True, Reason.ACCEPTED)


def privileges_complete(seen: Look) -> Condition:
    """Whether the credentials suffice for all that is done."""
    type, connected = Type.PRIVILEGES_COMPLETE, seen.connected
    found = None if connected is None or seen.problem is not None else connected.preflight
    if found is None or connected is None or connected.findings is None:
        return condition(type, "Unknown", Reason.UNKNOWN, "Proxmox VE could not be asked.")
    missing = connected.missing
    if not missing:
        return condition(type, True, Reason.COMPLETE)
    subject = connected.findings.subject
    if connected.findings.held.nothing:
        hint = " (a token with privilege separation needs grants of its own)" if "!" in subject else ""
        return condition(
            type,
            False,
            Reason.MISSING,
            f"{subject} has no privileges at all{hint}: run what status.missingPrivileges says on any host, or have "
            "`nagaya proxmox connect` grant all of it.",
        )
    lines = tuple(filter(None, commands(missing)))
    more = len(missing) - _NAMED
    rest = f"; and {more} more in status.missingPrivileges" if more > 0 else ""
    others = len(lines) - _COMMANDS
    then = f", and then the {others} other commands in status.missingPrivileges" if others > 0 else ""
    return condition(
        type,
        False,
        Reason.MISSING,
        f"{subject} lacks {named(missing[:_NAMED])}{rest}.{_run(lines, then)}",
    )


def _run(lines: tuple[str, ...], then: str) -> str:
    """No role of ours has a right that only an unusual machine needs: then there is no line for it."""
    return f" On any host run{then}: {'; '.join(lines[:_COMMANDS])}" if lines else " Grant it on any host with `pveum`."


def _only_somewhere(seen: Look) -> bool:
    """Whether rights are missing only where a call was refused: others may do without that template or storage."""
    checked = None if seen.connected is None else seen.connected.preflight
    return checked is not None and not checked.missing


def quorate(seen: Look) -> Condition:
    """Whether anything can be changed."""
    held = None if seen.snapshot is None else seen.snapshot.quorate
    if held is None:
        why = "Proxmox VE could not be asked." if seen.problem else "Sys.Audit on / is needed to see the quorum."
        return condition(Type.QUORATE, "Unknown", Reason.UNKNOWN, why)
    if held:
        return condition(Type.QUORATE, True, Reason.QUORATE)
    assert seen.snapshot is not None
    off = ", ".join(sorted(name for name, host in seen.snapshot.hosts.items() if not host.online))
    return condition(
        Type.QUORATE,
        False,
        Reason.NO_QUORUM,
        f"The cluster has no quorum, so nothing can be changed: more than half of its hosts must be on and connected "
        f"(off: {off or 'none that is known'}; see `pvecm status`).",
    )


def told_of(connection: ProxmoxConnection, problem: Exception) -> str:
    """A problem as a sentence. PVE says nothing of refused credentials but that they are; where they are from, and how
    to have others, is known here, and so is where to say who is trusted."""
    reference = connection.spec.credentials_ref
    namespace = connection.metadata.namespace
    secret = f"{reference.namespace or namespace}/{reference.name}"
    known_by = (
        "spec.fingerprint" if reference.namespace in ("", namespace) else f"the key fingerprint of Secret {secret}"
    )
    if isinstance(problem, HostUnreachable) and is_distrusted(problem):
        return (
            f"{problem} If `pvenode cert info` on the host shows this fingerprint, put it into {known_by}; for "
            f"several hosts, put their authority (/etc/pve/pve-root-ca.pem) into the key root_ca of Secret {secret}. "
            f"`{again(connection)}` does it, and asks first."
        )
    if isinstance(problem, NoEndpoint):
        return (
            f"{problem} See whether a host is on, `systemctl status pveproxy` is well there, and spec.endpoints names "
            "it; they are asked again by themselves."
        )
    if not isinstance(problem, Unauthorized):
        return str(problem)
    why = f": {problem.why} (HTTP {problem.evidence.status})" if problem.evidence.status else ""
    return (
        f"Proxmox VE refuses the credentials of Secret {secret}{why}. The token "
        "or user was removed, disabled, has expired, or its secret is another; PVE does not say which. Correct the "
        f"Secret, or have a new token made with `{again(connection)}`: no restart is needed."
    )


def _reason(seen: Look) -> Reason:
    problem = seen.problem
    if isinstance(problem, Unusable):
        return {"endpoint": Reason.ENDPOINT_INVALID, "trust": Reason.CERTIFICATE_NOT_TRUSTED}.get(
            problem.part, Reason.NOT_READY
        )
    if isinstance(problem, HostUnreachable):
        return Reason.CERTIFICATE_NOT_TRUSTED if is_distrusted(problem) else Reason.UNREACHABLE
    if isinstance(problem, Malformed | NotImplemented):
        return Reason.NOT_PROXMOX
    return Reason.NOT_READY


def _hosts(snapshot: Snapshot) -> tuple[ConnectedHost, ...]:
    return tuple(
        ConnectedHost(
            name=name,
            online=host.online,
            maintenance=True if host.maintenance else None,
            cpus=host.cpus or None,
            memory_mib=host.memory // _MIB or None,
        )
        for name, host in sorted(snapshot.hosts.items())
    )


def _missing(seen: Look) -> tuple[MissingPrivilege, ...]:
    lacking = () if seen.connected is None else seen.connected.missing[:_MOST]
    return tuple(
        MissingPrivilege(path=each.path, privilege=each.privilege, command=each.command) for each in lacking
    )  # fmt: skip
