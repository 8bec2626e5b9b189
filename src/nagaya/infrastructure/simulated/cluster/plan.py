"""What to do for a simulated cluster: give its API an address, make its authority if nobody else does, let it go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.simulated.conditions import SimulatedReason
from nagaya.api.simulated.faults import DELETE, FAIL, HANG, PROVISION, RUN, suffered
from nagaya.infrastructure.simulated.cluster.seen import Seen
from nagaya.simulators.tenant.door import Way


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and what is known from now on."""

    reason: str
    sentence: str
    hold: bool = False
    """Whether things are made that have to be cleaned up."""
    endpoint: Endpoint | None = None
    """The address of the API, if that has to be written down."""
    authority: bool = False
    """Whether the authority of the cluster is to be made."""
    provisioned: bool = False
    way: Way = Way.OPEN
    """How clients of the API are to fare."""
    release: bool = False
    """Whether everything ends."""
    again_after: float | None = None


def plan(seen: Seen) -> Plan:
    """A cluster is ready for machines as soon as its API has an address and its time has come."""
    simulated, cluster = seen.simulated, seen.cluster
    if simulated.metadata.deleting:
        return _going(seen)
    if cluster is None:
        return Plan(SimulatedReason.WAITING_FOR_OWNER, "Waiting for a Cluster to refer to this SimulatedCluster.")
    if seen.rival:
        return Plan(
            SimulatedReason.PROVISIONING_FAILED,
            f"The address {simulated.spec.control_plane_endpoint} is that of SimulatedCluster {seen.rival}. "
            f"Give spec.controlPlaneEndpoint another port, or leave it out.",
            provisioned=seen.provisioned,
        )
    endpoint = None if simulated.spec.control_plane_endpoint.valid or seen.elsewhere else seen.offer
    if endpoint is not None and not endpoint.valid:
        return Plan(
            SimulatedReason.PROVISIONING_FAILED,
            f"No port is free at {endpoint.host} for the simulated API. "
            f"Delete clusters, or give spec.controlPlaneEndpoint.",
        )
    faults = suffered(simulated.spec.faults, PROVISION, simulated.metadata.uid)
    if seen.provisioned:
        return _ready(seen, endpoint, authority=False)
    if FAIL in faults:
        return Plan(
            SimulatedReason.PROVISIONING_FAILED,
            "The simulated infrastructure cannot be provided, as spec.faults asks.",
            hold=True,
        )
    if HANG in faults:
        return Plan(SimulatedReason.PROVISIONING, "Simulated infrastructure is being provided.", hold=True)
    wait = _wait(seen)
    if wait > 0:
        return Plan(
            SimulatedReason.PROVISIONING, "Simulated infrastructure is being provided.", hold=True, again_after=wait
        )
    alone = cluster.spec.control_plane_ref is None and cluster.spec.topology is None
    return _ready(seen, endpoint, authority=alone and not seen.has_authority)


def _ready(seen: Seen, endpoint: Endpoint | None, *, authority: bool) -> Plan:
    way, sentence = _way(seen)
    return Plan(
        SimulatedReason.PROVISIONED,
        sentence,
        hold=True,
        endpoint=endpoint,
        authority=authority,
        provisioned=True,
        way=way,
    )


def _way(seen: Seen) -> tuple[Way, str]:
    simulated = seen.simulated
    modes = suffered(simulated.spec.faults, RUN, simulated.metadata.uid)
    if not modes:
        return Way.OPEN, ""
    if modes[0] == HANG:
        return Way.HANGING, "The simulated API does not answer, as spec.faults asks."
    return Way.REFUSING, "The simulated API accepts no connections, as spec.faults asks."


def _going(seen: Seen) -> Plan:
    faults = suffered(seen.simulated.spec.faults, DELETE, seen.simulated.metadata.uid)
    if FAIL in faults:
        return Plan(
            SimulatedReason.DELETION_FAILED,
            "The simulated infrastructure cannot be deleted, as spec.faults asks.",
            provisioned=seen.provisioned,
        )
    if HANG in faults:
        return Plan(
            SimulatedReason.DELETING, "The simulated infrastructure is being deleted.", provisioned=seen.provisioned
        )
    return Plan(SimulatedReason.DELETING, "Nothing is left of the simulated cluster.", release=True)


def _wait(seen: Seen) -> float:
    created = seen.simulated.metadata.creation_timestamp or seen.now
    ready = created + timedelta(seconds=seen.simulated.spec.provisioning_seconds or 0)
    return (ready - seen.now).total_seconds()
