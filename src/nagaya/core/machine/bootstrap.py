"""The first of the three things that a machine consists of: the data that it boots with."""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.api.contract.provider import BootstrapConfig, Broken
from nagaya.api.meta import Condition
from nagaya.core.machine.mirrored import mirrored
from nagaya.core.machine.seen import Seen
from nagaya.kube.conditions import condition


@dataclass(frozen=True, slots=True)
class BootstrapProgress:
    """How far the boot data is, after what was seen."""

    data_secret_name: str | None
    """The Secret with the data, as the Machine is to name it."""
    created: bool
    """Whether the data has been made. It stays so."""
    sentence: str = ""
    """What is news, or is waited for."""
    problem: str = ""
    """What is wrong, if the provider's object does not keep the contract."""


def bootstrap_progress(seen: Seen) -> BootstrapProgress:
    """What the object of the bootstrap provider says."""
    name = seen.machine.spec.bootstrap.data_secret_name
    created = bool(seen.machine.status.initialization.bootstrap_data_secret_created)
    found = seen.bootstrap
    if found is None:
        return BootstrapProgress(name, created)
    if found.problem:
        return BootstrapProgress(name, created, problem=found.problem)
    config = found.provider
    reference = found.reference
    if config is None:
        waits = "" if seen.deleting else f"Waiting for {reference.kind} {reference.name} to exist."
        return BootstrapProgress(name, created, waits)
    if name is not None:
        return BootstrapProgress(name, True)
    try:
        return _told(config, created)
    except Broken as error:
        return BootstrapProgress(name, created, problem=str(error))


def _told(config: BootstrapConfig, created: bool) -> BootstrapProgress:
    if config.metadata.deleting:
        return BootstrapProgress(None, created)
    if not config.data_secret_created:
        return BootstrapProgress(None, created, f"Waiting for {config.title} to have its data secret created.")
    name = config.data_secret_name
    if not name:
        raise Broken(f"{config.title}: .status.dataSecretName is empty although the data secret was created.")
    return BootstrapProgress(name, True, f"{config.title} has its data in Secret {name}.")


def bootstrap_config_ready(seen: Seen, created: bool) -> Condition:
    """The condition BootstrapConfigReady."""
    type = MachineCondition.BOOTSTRAP_CONFIG_READY
    found = seen.bootstrap
    if found is None:
        return condition(type, True, MachineReason.DATA_SECRET_PROVIDED)
    kind = found.reference.kind
    if found.provider is not None:
        message = "" if created else f"{kind} status.initialization.dataSecretCreated is false"
        reason = MachineReason.READY if created else MachineReason.NOT_READY
        return mirrored(found.provider, condition(type, created, reason, message))
    if found.problem:
        return condition(type, "Unknown", MachineReason.INTERNAL_ERROR, found.problem)
    if seen.deleting and created:
        return condition(type, False, MachineReason.OBJECT_DELETED, f"{kind} has been deleted")
    return condition(type, False, MachineReason.OBJECT_DOES_NOT_EXIST, f"{kind} does not exist")
