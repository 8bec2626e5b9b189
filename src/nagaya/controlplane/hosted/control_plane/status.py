"""What a HostedControlPlane tells of itself."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneCondition as Type
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_conditions import HostedPhase as Phase
from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.api.controlplane.hosted_status import (
    CertificateStatus,
    HostedControlPlaneStatus,
    HostedInitialization,
)
from nagaya.clusters.conditions import with_conditions
from nagaya.clusters.pause import NOT_PAUSED
from nagaya.controlplane.hosted.control_plane import components as programs
from nagaya.controlplane.hosted.control_plane.components import LastWords, program_of
from nagaya.controlplane.hosted.control_plane.conditions import changing, conditions
from nagaya.controlplane.hosted.control_plane.deletion import End
from nagaya.controlplane.hosted.control_plane.plan import Plan
from nagaya.controlplane.hosted.control_plane.refusal import Refusal
from nagaya.controlplane.hosted.control_plane.seen import Seen
from nagaya.controlplane.hosted.control_plane.timeline import timeline
from nagaya.kube.conditions import condition
from nagaya.supervision.errors import FolderInUse
from nagaya.supervision.status import State
from nagaya.world import Clock

CONDITIONS: Final = tuple(Type)
"""The types of conditions that are this controller's."""
FIELDS: Final = (
    "initialization.controlPlaneInitialized",
    "externalManagedControlPlane",
    "endpoint",
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "upToDateReplicas",
    "version",
    "versions",
    "dataStore",
    "certificates",
    "components",
    "timeline",
    "observedGeneration",
)
"""The fields of the status that are this controller's."""
OWNED_SOON: Final = 2.0
"""Seconds that a Cluster's controller is given to take ownership of what was declared together with it, before it is
told that nobody has: it takes a moment, and that would be told to nobody's use."""

_NOWHERE: Final = HostedControlPlaneStatus().endpoint
"""Not told at all, because it is the very value that means nothing."""


def status(seen: Seen, planned: Plan, last_words: LastWords) -> HostedControlPlaneStatus:
    """The status of a control plane that is neither paused nor to go."""
    plane, present = seen.plane, seen.plane.status
    components = programs.components(seen.processes, seen.started, last_words)
    told = conditions(seen, planned, components)
    servers = [each for each in components if each.name == KUBE_APISERVER]
    ready = sum(each.ready_replicas or 0 for each in servers)
    running = [each.version for each in seen.started.values()]
    files = seen.known.files
    initialized = seen.initialized or planned.verdicts[Phase.API_SERVER].done
    return HostedControlPlaneStatus(
        conditions=with_conditions(present.conditions, told, now=seen.now, generation=plane.metadata.generation),
        initialization=HostedInitialization(control_plane_initialized=True if initialized else None),
        external_managed_control_plane=True,
        endpoint=plane.spec.control_plane_endpoint if plane.spec.control_plane_endpoint.valid else _NOWHERE,
        replicas=sum(each.replicas or 0 for each in servers),
        ready_replicas=ready,
        available_replicas=ready,
        up_to_date_replicas=_up_to_date(seen, planned),
        version=(programs.lowest(running) or present.version) if initialized else "",
        versions=programs.versions(seen.started),
        data_store=present.data_store,
        certificates=present.certificates
        if files is None
        else tuple(
            CertificateStatus(name=each.name, not_after=each.not_after, serial_number=each.serial_number)
            for each in files.certificates.issued
        ),
        components=components,
        timeline=timeline(present.timeline, planned.verdicts, _upgrading(seen, planned), seen.now),
        observed_generation=plane.metadata.generation,
    )


def is_new(plane: HostedControlPlane, now: datetime) -> bool:
    """Whether a control plane that no Cluster owns may be owned in a moment."""
    made = plane.metadata.creation_timestamp
    return made is not None and abs((now - made).total_seconds()) < OWNED_SOON


def status_without_cluster(plane: HostedControlPlane, clock: Clock) -> HostedControlPlaneStatus:
    """The status of a control plane that no Cluster owns yet."""
    message = "Waiting for a Cluster to refer to this HostedControlPlane in its spec.controlPlaneRef."
    told = (condition(Type.AVAILABLE, False, Reason.WAITING_FOR_CLUSTER, message), NOT_PAUSED)
    present = plane.status.conditions
    found = with_conditions(present, told, now=clock.now(), generation=plane.metadata.generation)
    return msgspec.structs.replace(plane.status, conditions=found, external_managed_control_plane=True)


def status_without_host(plane: HostedControlPlane, problem: Exception, clock: Clock) -> HostedControlPlaneStatus:
    """The status of a control plane while this machine cannot run any. What runs meanwhile is not known."""
    reason, message = Reason.INTERNAL_ERROR, str(problem)
    if isinstance(problem, FolderInUse):
        reason, message = Reason.FOLDER_IN_USE, f"{problem} Programs are taken over as soon as it has ended."
    told = (condition(Type.AVAILABLE, "Unknown", reason, message),)
    found = with_conditions(plane.status.conditions, told, now=clock.now(), generation=plane.metadata.generation)
    return msgspec.structs.replace(plane.status, conditions=found)


def status_while_refused(plane: HostedControlPlane, refused: Refusal, clock: Clock) -> HostedControlPlaneStatus:
    """The status of a control plane that gets nothing of the tenant that it names. How that is, is not its to tell."""
    told = (condition(Type.AVAILABLE, False, refused.reason, refused.message), NOT_PAUSED)
    found = with_conditions(plane.status.conditions, told, now=clock.now(), generation=plane.metadata.generation)
    return msgspec.structs.replace(plane.status, conditions=found, external_managed_control_plane=True)


def status_while_deleting(plane: HostedControlPlane, end: End, clock: Clock) -> HostedControlPlaneStatus:
    """The status of a control plane that is to go."""
    told = (
        condition(Type.DELETING, True, end.reason, end.message),
        condition(Type.AVAILABLE, False, Reason.NOT_AVAILABLE, "The control plane is being deleted."),
    )
    found = with_conditions(plane.status.conditions, told, now=clock.now(), generation=plane.metadata.generation)
    return msgspec.structs.replace(plane.status, conditions=found)


def _up_to_date(seen: Seen, planned: Plan) -> int:
    changed = changing(seen, planned)
    current = [each.name for each in planned.wanted if program_of(each.name) == KUBE_APISERVER]
    running = [name for name in current if (found := seen.processes.get(name)) and found.state is not State.STOPPED]
    return sum(name not in changed for name in running)


def _upgrading(seen: Seen, planned: Plan) -> str:
    """Where an upgrade leads that is under way; empty if none is."""
    running = {each.version for each in seen.started.values() if each.version}
    if not seen.initialized or not running or running == {seen.target.version}:
        return ""
    return f"From {programs.lowest(running)} to {seen.target.version}. {planned.steps.waiting}".strip()
