"""What a HostedControlPlane of pods tells of itself."""

from __future__ import annotations

from typing import Final

from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneCondition as Type
from nagaya.api.controlplane.hosted_conditions import HostedPhase as Phase
from nagaya.api.controlplane.hosted_status import CertificateStatus, HostedControlPlaneStatus, HostedInitialization
from nagaya.clusters.conditions import with_conditions
from nagaya.controlplane.hosted.control_plane.components import lowest
from nagaya.controlplane.hosted.control_plane.status import FIELDS as OF_PROCESSES
from nagaya.controlplane.hosted.control_plane.timeline import timeline
from nagaya.controlplane.hosted.kubernetes import names
from nagaya.controlplane.hosted.pods import components as programs
from nagaya.controlplane.hosted.pods.conditions import conditions
from nagaya.controlplane.hosted.pods.plan import Plan
from nagaya.controlplane.hosted.pods.seen import Seen

CONDITIONS: Final = tuple(Type)
"""The types of conditions that are this controller's."""
FIELDS: Final = (*OF_PROCESSES, "selector")
"""The fields of the status that are this controller's."""
_NOWHERE: Final = HostedControlPlaneStatus().endpoint
"""The very value that is left out where it is the default: an endpoint without a host is not one."""


def status(seen: Seen, planned: Plan) -> HostedControlPlaneStatus:
    """The status of a control plane that is neither paused nor to go."""
    plane, present, servers = seen.plane, seen.plane.status, seen.api_servers
    components = programs.components(seen)
    told = conditions(seen, planned, components)
    initialized = seen.initialized or planned.verdicts[Phase.API_SERVER].done
    available = 0 if servers is None else servers.available
    running = [each.version for each in programs.versions(seen)] + [each.version for each in components]
    files = seen.known.files
    return HostedControlPlaneStatus(
        conditions=with_conditions(present.conditions, told, now=seen.now, generation=plane.metadata.generation),
        initialization=HostedInitialization(control_plane_initialized=True if initialized else None),
        external_managed_control_plane=True,
        endpoint=plane.spec.control_plane_endpoint if plane.spec.control_plane_endpoint.valid else _NOWHERE,
        selector=names.selector_text(plane.metadata.name),
        replicas=0 if servers is None else servers.total,
        ready_replicas=available,
        available_replicas=available,
        up_to_date_replicas=servers.updated if servers is not None and servers.current else 0,
        version=lowest(running) if initialized else "",
        versions=programs.versions(seen),
        data_store=present.data_store,
        certificates=present.certificates
        if files is None
        else tuple(
            CertificateStatus(name=each.name, not_after=each.not_after, serial_number=each.serial_number)
            for each in files.issued
        ),
        components=components,
        timeline=timeline(present.timeline, planned.verdicts, _upgrading(seen, planned), seen.now),
        observed_generation=plane.metadata.generation,
    )


def _upgrading(seen: Seen, planned: Plan) -> str:
    """Where an upgrade leads that is under way; empty if none is."""
    running = {each.version for each in programs.versions(seen)} | {each.version for each in programs.components(seen)}
    if not seen.initialized or not running - {seen.target.version, ""}:
        return ""
    return f"To {seen.target.version}. {planned.rollout}".strip()
