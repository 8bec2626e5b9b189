"""The second of the three things that a machine consists of: a host, with the name that its Node will have too."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.api.cluster.machine_status import MachineAddress
from nagaya.api.contract.provider import Broken, InfrastructureMachine
from nagaya.api.meta import Condition
from nagaya.core.machine.mirrored import mirrored
from nagaya.core.machine.seen import Seen
from nagaya.kube.conditions import condition


@dataclass(frozen=True, slots=True)
class InfrastructureProgress:
    """How far the host is, after what was seen."""

    provisioned: bool
    """Whether the host has been made. It stays so."""
    provider_id: str
    wanted_failure_domain: str
    """What spec.failureDomain of the Machine is to say: providers of older contracts decide it."""
    failure_domain: str
    """Where the host is."""
    addresses: tuple[MachineAddress, ...]
    sentence: str = ""
    """What is news, or is waited for."""
    problem: str = ""
    """What is wrong, if the host is gone or the provider's object does not keep the contract."""


def infrastructure_progress(seen: Seen) -> InfrastructureProgress:
    """What the object of the infrastructure provider says, added to what was known before."""
    spec, status = seen.machine.spec, seen.machine.status
    before = InfrastructureProgress(
        provisioned=bool(status.initialization.infrastructure_provisioned),
        provider_id=spec.provider_id,
        wanted_failure_domain=spec.failure_domain,
        failure_domain=status.failure_domain,
        addresses=status.addresses,
    )
    found = seen.infrastructure
    if found.problem:
        return replace(before, problem=found.problem)
    host = found.provider
    title = f"{found.reference.kind} {found.reference.name}"
    if host is None:
        if seen.deleting:
            return before
        if before.provisioned:
            return replace(before, problem=f"{title} has been deleted although the Machine still exists.")
        return replace(before, sentence=f"Waiting for {title} to exist.")
    if found.deleting:
        return before
    try:
        return _told(host, before)
    except Broken as error:
        return replace(before, problem=str(error))


def _told(host: InfrastructureMachine, before: InfrastructureProgress) -> InfrastructureProgress:
    if not host.provisioned and not before.provisioned:
        return replace(before, sentence=f"Waiting for {host.title} to be provisioned.")
    provider_id = host.provider_id
    if not provider_id:
        return replace(before, sentence=f"Waiting for {host.title} to have spec.providerID set.")
    wanted = host.optional(str, "spec", "failureDomain")
    placed = host.optional(str, "status", "failureDomain")
    addresses = host.optional(tuple[MachineAddress, ...], "status", "addresses")
    return InfrastructureProgress(
        provisioned=True,
        provider_id=provider_id,
        wanted_failure_domain=before.wanted_failure_domain if wanted is None else wanted,
        failure_domain=before.failure_domain if placed is None else placed,
        addresses=before.addresses if addresses is None else addresses,
        sentence="" if before.provisioned else f"{host.title} has been provisioned as {provider_id}.",
    )


def infrastructure_ready(seen: Seen, provisioned: bool) -> Condition:
    """The condition InfrastructureReady."""
    type = MachineCondition.INFRASTRUCTURE_READY
    found = seen.infrastructure
    kind = found.reference.kind
    if found.provider is not None:
        message = "" if provisioned else f"{kind} status.initialization.provisioned is false"
        reason = MachineReason.READY if provisioned else MachineReason.NOT_READY
        return mirrored(found.provider, condition(type, provisioned, reason, message))
    if found.problem:
        return condition(type, "Unknown", MachineReason.INTERNAL_ERROR, found.problem)
    if not provisioned:
        return condition(type, False, MachineReason.OBJECT_DOES_NOT_EXIST, f"{kind} does not exist")
    message = f"{kind} has been deleted" if seen.deleting else f"{kind} has been deleted while the Machine still exists"
    return condition(type, False, MachineReason.OBJECT_DELETED, message)
