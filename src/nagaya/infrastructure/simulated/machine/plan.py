"""What to do for a simulated machine: let it boot, have its Node join, let it suffer and let it go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from nagaya.api.simulated.conditions import SimulatedReason
from nagaya.api.simulated.faults import BOOT, DELETE, FAIL, HANG, JOIN, NODE_FAULTS, PROVISION, RUN, suffered
from nagaya.api.simulated.simulated_machine import FINALIZER
from nagaya.infrastructure.simulated.machine.seen import Seen
from nagaya.simulators.tenant.settings import Fault

DELETION_SECONDS: Final = 1
_WELL: Final[frozenset[Fault]] = frozenset()
_FAULTS: Final = dict(
    zip(
        NODE_FAULTS,
        (
            Fault.KUBELET_DEAD,
            Fault.NETWORK_GONE,
            Fault.RUNTIME_DOWN,
            Fault.MEMORY_PRESSURE,
            Fault.DISK_PRESSURE,
            Fault.PID_PRESSURE,
            Fault.ETCD_DOWN,
            Fault.ETCD_NO_SPACE,
            Fault.ETCD_CORRUPT,
            Fault.ETCD_SLOW,
        ),
        strict=True,
    )
)


@dataclass(frozen=True, slots=True)
class Said:
    """What a condition is to say."""

    holds: bool
    reason: str
    message: str = ""


NOT_BOOTED: Final = Said(False, SimulatedReason.NOT_BOOTED, "The simulated machine is not up.")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and what is known from now on."""

    ready: Said
    node: Said = NOT_BOOTED
    silent: bool = False
    """Whether nothing is written: others are about to do something."""
    hold: bool = False
    """Whether the machine begins to exist: it gets its name, and has to be cleaned up."""
    boot_completion: datetime | None = None
    provisioned: bool = False
    starts: bool = False
    """Whether the API of the cluster runs on this machine, and so has to be started."""
    joins: bool = False
    faults: frozenset[Fault] = _WELL
    leaves: bool = False
    release: bool = False
    again_after: float | None = None


def plan(seen: Seen) -> Plan:
    """First it waits for others, then it boots, then its Node joins."""
    host, machine, cluster = seen.host, seen.machine, seen.cluster
    if host.metadata.deleting:
        return _going(seen)
    if machine is None or cluster is None:
        missing = "a Machine to refer to this SimulatedMachine" if machine is None else "the Cluster to exist"
        # What was made from a template has an owner from the start, and is about to get a Machine.
        silent = bool(host.metadata.owner_references)
        return Plan(Said(False, SimulatedReason.WAITING_FOR_OWNER, f"Waiting for {missing}."), silent=silent)
    if not seen.provisioned:
        return _coming(seen)
    return _up(seen, Plan(Said(True, SimulatedReason.PROVISIONED), provisioned=True))


def _coming(seen: Seen) -> Plan:
    host, machine, cluster = seen.host, seen.machine, seen.cluster
    assert machine is not None
    assert cluster is not None
    if cluster.status.initialization.infrastructure_provisioned is not True:
        return _waits(
            SimulatedReason.WAITING_FOR_CLUSTER_INFRASTRUCTURE_READY,
            "Waiting for Cluster status.initialization.infrastructureProvisioned to be true.",
        )
    if seen.infrastructure is None:
        return _waits(
            SimulatedReason.NOT_A_SIMULATED_CLUSTER,
            f"Cluster {cluster.metadata.name} does not refer to a SimulatedCluster that exists. "
            f"Simulated machines can only join simulated clusters.",
        )
    if machine.spec.bootstrap.data_secret_name is None:
        if not seen.control_plane and cluster.status.initialization.control_plane_initialized is not True:
            return _waits(
                SimulatedReason.WAITING_FOR_CONTROL_PLANE_INITIALIZED,
                "Waiting for Cluster status.initialization.controlPlaneInitialized to be true.",
            )
        return _waits(SimulatedReason.WAITING_FOR_BOOTSTRAP_DATA, "Waiting for the Machine to have bootstrap data.")
    faults = suffered(host.spec.faults, PROVISION, host.metadata.uid)
    if FAIL in faults:
        why = "The simulated machine cannot be made, as spec.faults asks."
        return Plan(Said(False, SimulatedReason.PROVISIONING_FAILED, why), hold=True)
    if HANG in faults:
        return Plan(Said(False, SimulatedReason.PROVISIONING, "The simulated machine is being made."), hold=True)
    due = host.status.boot_completion_time or seen.now + timedelta(seconds=seen.boot_seconds)
    if seen.now < due:
        return Plan(
            Said(False, SimulatedReason.BOOTING, "The simulated machine boots."),
            hold=True,
            boot_completion=due,
            again_after=(due - seen.now).total_seconds(),
        )
    return _up(seen, Plan(Said(True, SimulatedReason.PROVISIONED), hold=True, boot_completion=due, provisioned=True))


def _up(seen: Seen, made: Plan) -> Plan:
    """The machine is made. Faults of the boot and the join are over once it has joined."""
    host = seen.host
    spec, uid = host.spec, host.metadata.uid
    if seen.joined:
        modes = suffered(spec.faults, RUN, uid)
        node = Said(True, SimulatedReason.JOINED, _suffering(modes))
        return replace(made, node=node, faults=frozenset(_FAULTS[each] for each in modes if each in _FAULTS))
    if modes := suffered(spec.faults, BOOT, uid):
        if FAIL in modes:
            why = "The simulated machine does not come up, as spec.faults asks."
            return replace(made, ready=Said(False, SimulatedReason.BOOT_FAILED, why))
        return replace(made, ready=Said(False, SimulatedReason.BOOTING, "The simulated machine boots."))
    if modes := suffered(spec.faults, JOIN, uid):
        if FAIL in modes:
            why = "The Node does not join, as spec.faults asks."
            return replace(made, node=Said(False, SimulatedReason.JOIN_FAILED, why))
        return replace(made, node=Said(False, SimulatedReason.JOIN_HANGS, "The Node is about to join."))
    if not seen.announced or (not seen.control_plane and not seen.serving):
        waits = "Waiting for the simulated API of the cluster, which runs with its first control plane machine."
        # After a restart all machines wait for a moment: what they said before is not taken back for that.
        return replace(made, node=Said(False, SimulatedReason.WAITING_FOR_CONTROL_PLANE, waits), silent=seen.was_joined)
    modes = suffered(spec.faults, RUN, uid)
    return replace(
        made,
        node=Said(True, SimulatedReason.JOINED, _suffering(modes)),
        starts=seen.control_plane,
        joins=True,
        faults=frozenset(_FAULTS[each] for each in modes if each in _FAULTS),
    )


def _going(seen: Seen) -> Plan:
    """The machine is switched off at once, and is gone a little later."""
    host = seen.host
    if FINALIZER not in host.metadata.finalizers:
        return Plan(Said(False, SimulatedReason.DELETING), silent=True, leaves=True)
    going = Plan(
        Said(False, SimulatedReason.DELETING, "The simulated machine is being deleted."),
        provisioned=seen.provisioned,
        leaves=True,
    )
    modes = suffered(host.spec.faults, DELETE, host.metadata.uid)
    if FAIL in modes:
        why = "The simulated machine cannot be deleted, as spec.faults asks."
        return replace(going, ready=Said(False, SimulatedReason.DELETION_FAILED, why))
    if HANG in modes:
        return going
    wait = _rest(seen)
    return replace(going, again_after=wait) if wait > 0 else replace(going, release=True)


def _rest(seen: Seen) -> float:
    """How many seconds the machine is still there."""
    host = seen.host
    since = host.metadata.deletion_timestamp
    if since is None or host.status.boot_completion_time is None:
        return 0.0  # there was no machine yet
    takes = DELETION_SECONDS if host.spec.deletion_seconds is None else host.spec.deletion_seconds
    return (since + timedelta(seconds=takes) - seen.now).total_seconds()


def _waits(reason: str, message: str) -> Plan:
    return Plan(Said(False, reason, message))


def _suffering(modes: tuple[str, ...]) -> str:
    return f"The node suffers from {', '.join(modes)}, as spec.faults asks." if modes else ""
