"""What a Machine says of itself: its conditions, each with a reason, and how far it has come into being.

The machine controller shares the status with others: health checks, control planes and owners have conditions of their
own there, which count for Ready and are left alone. What always holds: what has come into being is never taken back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from nagaya.api.cluster import labels
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.api.cluster.machine_status import MachineInitialization, MachineStatus
from nagaya.api.meta import Condition
from nagaya.clusters.conditions import with_conditions
from nagaya.clusters.pause import NOT_PAUSED
from nagaya.core.machine.bootstrap import bootstrap_config_ready
from nagaya.core.machine.deletion_outcome import DeletionOutcome
from nagaya.core.machine.infrastructure import infrastructure_ready
from nagaya.core.machine.node import connection_counts_until, node_conditions
from nagaya.core.machine.plan import Plan
from nagaya.core.machine.ready import available, ready
from nagaya.core.machine.seen import Seen
from nagaya.core.machine.up_to_date import is_updating, up_to_date, updating
from nagaya.kube.conditions import condition, get, set_condition
from nagaya.kube.status_change import News

FIELDS: Final = (
    "initialization.infrastructureProvisioned",
    "initialization.bootstrapDataSecretCreated",
    "nodeRef",
    "nodeInfo",
    "lastUpdated",
    "addresses",
    "failureDomain",
    "phase",
    "certificatesExpiryDate",
    "observedGeneration",
    "deletion.waitForPreDrainHookStartTime",
    "deletion.nodeDrainStartTime",
    "deletion.waitForNodeVolumeDetachStartTime",
    "deletion.waitForPreTerminateHookStartTime",
)
"""The fields of the status that are the machine controller's. Those within others by themselves: an object without any
of them is refused."""

_CONDITIONS: Final = (
    MachineCondition.AVAILABLE,
    MachineCondition.READY,
    MachineCondition.UPDATING,
    MachineCondition.BOOTSTRAP_CONFIG_READY,
    MachineCondition.INFRASTRUCTURE_READY,
    MachineCondition.NODE_READY,
    MachineCondition.NODE_HEALTHY,
    MachineCondition.DELETING,
    MachineCondition.PAUSED,
)

_NEWS: Final = (
    "initialization.infrastructureProvisioned",
    "initialization.bootstrapDataSecretCreated",
    "nodeRef",
)


class Told(NamedTuple):
    """A status, and when it has to be looked at again because time passes."""

    status: MachineStatus
    again_after: float | None


def owned_conditions(machine: Machine) -> tuple[str, ...]:
    """The types of conditions that are the machine controller's; UpToDate only on machines of MachineDeployments."""
    known = machine.metadata.labels
    if labels.MACHINE_DEPLOYMENT_NAME in known and labels.CONTROL_PLANE not in known:
        return (*_CONDITIONS, MachineCondition.UP_TO_DATE)
    return _CONDITIONS


def news(machine: Machine) -> News:
    """What others act on: owners, health checks, control planes, and whoever waits for the machine."""
    return News(_NEWS, turns=("phase", "observedGeneration"), conditions=owned_conditions(machine))


def status(seen: Seen, plan: Plan, machine: Machine, going: DeletionOutcome | None, complete: bool) -> Told:
    """The status of a machine after a plan was carried out; `machine` is what the API server made of it.

    A status is complete if nothing went wrong: then it stands for the generation of the Machine.
    """
    before, now = machine.status, seen.now
    bootstrap, infrastructure = plan.bootstrap, plan.infrastructure
    node_ref = plan.node_ref
    if node_ref is None and going is not None:
        node_ref = going.node_ref
    deletion = before.deletion if going is None else going.started
    told: Iterable[Condition | None] = (
        bootstrap_config_ready(seen, bootstrap.created),
        infrastructure_ready(seen, infrastructure.provisioned),
        *node_conditions(seen, infrastructure.provider_id, node_ref),
        _deleting(going),
        updating(seen),
        up_to_date(seen, plan.node_info) if MachineCondition.UP_TO_DATE in owned_conditions(machine) else None,
        NOT_PAUSED,
    )
    generation = machine.metadata.generation
    conditions = with_conditions(before.conditions, told, now=now, generation=generation)
    summed = ready(machine, conditions, deletion, now)
    conditions = set_condition(conditions, summed, now=now, generation=generation)
    as_set = get(conditions, MachineCondition.READY)
    assert as_set is not None
    usable, rest = available(machine, as_set, now)
    conditions = set_condition(conditions, usable, now=now, generation=generation)
    made = msgspec.structs.replace(
        before,
        conditions=conditions,
        initialization=MachineInitialization(
            infrastructure_provisioned=infrastructure.provisioned or None,
            bootstrap_data_secret_created=bootstrap.created or None,
        ),
        node_ref=node_ref,
        node_info=plan.node_info,
        addresses=infrastructure.addresses,
        failure_domain=infrastructure.failure_domain,
        certificates_expiry_date=plan.certificates_expiry,
        observed_generation=(generation or None) if complete else before.observed_generation,
        deletion=deletion,
    )
    phase = _phase(machine, made, infrastructure.provider_id)
    if phase != before.phase:
        made = msgspec.structs.replace(made, phase=phase, last_updated=now.replace(microsecond=0))
    silence = connection_counts_until(seen)
    # One second more: what counts is that the grace is over.
    waits = (rest, None if silence is None else silence.total_seconds() + 1)
    return Told(made, min((each for each in waits if each is not None), default=None))


def _deleting(going: DeletionOutcome | None) -> Condition:
    type = MachineCondition.DELETING
    if going is None:
        return condition(type, False, MachineReason.NOT_DELETING)
    return condition(type, True, going.reason, going.message)


def _phase(machine: Machine, made: MachineStatus, provider_id: str) -> str:
    """The last of these that holds."""
    phase = machine.status.phase or "Pending"
    started = made.initialization
    if started.bootstrap_data_secret_created and not started.infrastructure_provisioned:
        phase = "Provisioning"
    if provider_id:
        phase = "Provisioned"
    if made.node_ref is not None and started.infrastructure_provisioned:
        phase = "Running"
    if is_updating(machine):
        phase = "Updating"
    return "Deleting" if machine.metadata.deleting else phase
