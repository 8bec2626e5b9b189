"""The conditions of a HostedControlPlane of pods. Every one that is not as wished says for whom it waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.api.controlplane.hosted_arguments import (
    KONNECTIVITY_SERVER,
    KUBE_APISERVER,
    KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
)
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneCondition as Type
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_conditions import HostedPhase as Phase
from nagaya.api.controlplane.hosted_status import RUNNING, ComponentStatus
from nagaya.api.meta import Condition
from nagaya.clusters.pause import NOT_PAUSED
from nagaya.controlplane.hosted.control_plane.conditions import deleting, isolated, of_phase
from nagaya.controlplane.hosted.phases import Verdict, left_out
from nagaya.controlplane.hosted.pods.plan import Plan
from nagaya.controlplane.hosted.pods.seen import Seen
from nagaya.kube.conditions import condition

_PHASES: Final = {
    Type.CERTIFICATES_AVAILABLE: Phase.CERTIFICATES,
    Type.DATA_STORE_READY: Phase.DATA_STORE,
    Type.ENDPOINT_READY: Phase.ENDPOINT,
    Type.TENANT_CONFIGURED: Phase.TENANT,
}
_PROGRAMS: Final = {
    Type.API_SERVER_READY: (KUBE_APISERVER, Phase.API_SERVER),
    Type.KONNECTIVITY_READY: (KONNECTIVITY_SERVER, Phase.API_SERVER),
    Type.CONTROLLER_MANAGER_READY: (KUBE_CONTROLLER_MANAGER, Phase.CONTROLLERS),
    Type.SCHEDULER_READY: (KUBE_SCHEDULER, Phase.CONTROLLERS),
}


def conditions(seen: Seen, planned: Plan, components: Sequence[ComponentStatus]) -> Iterator[Condition]:
    """All conditions of a control plane that is neither paused nor to go."""
    verdicts = planned.verdicts
    for type, phase in _PHASES.items():
        yield of_phase(type, verdicts[phase])
    yield from _of_programs(seen, planned, components)
    yield _available(verdicts[Phase.API_SERVER])
    yield isolated("")
    yield _upgrade_possible(seen)
    yield _rolling_out(planned)
    yield from _scaling(seen)
    yield deleting(seen.ending)
    yield NOT_PAUSED


def _available(api: Verdict) -> Condition:
    if api.done:
        return condition(Type.AVAILABLE, True, Reason.AVAILABLE)
    reason = Reason.SLEEPING if api.reason is Reason.SLEEPING else Reason.NOT_AVAILABLE
    return condition(Type.AVAILABLE, False, reason, api.message)


def _upgrade_possible(seen: Seen) -> Condition:
    target = seen.target
    if target.reason is Reason.NO_UPGRADE_ASKED:
        return condition(Type.UPGRADE_POSSIBLE, True, target.reason)
    return condition(Type.UPGRADE_POSSIBLE, not target.refused, target.reason, target.message)


def _rolling_out(planned: Plan) -> Condition:
    if not planned.pending:
        return condition(Type.ROLLING_OUT, False, Reason.NOT_ROLLING_OUT)
    message = f"Being exchanged: pods of {' and '.join(planned.pending)}. {planned.rollout}".strip()
    return condition(Type.ROLLING_OUT, True, Reason.ROLLING_OUT, message)


def _scaling(seen: Seen) -> Iterator[Condition]:
    present, wanted = 0 if seen.api_servers is None else seen.api_servers.total, seen.replicas
    message = f"From {present} to {wanted} API servers."
    if present < wanted:
        yield condition(Type.SCALING_UP, True, Reason.SCALING_UP, message)
    else:
        yield condition(Type.SCALING_UP, False, Reason.NOT_SCALING_UP)
    if seen.api_servers is not None and present > wanted and seen.api_servers.updated > wanted:
        yield condition(Type.SCALING_DOWN, True, Reason.SCALING_DOWN, message)
    else:
        yield condition(Type.SCALING_DOWN, False, Reason.NOT_SCALING_DOWN)


def _of_programs(seen: Seen, planned: Plan, components: Sequence[ComponentStatus]) -> Iterator[Condition]:
    by_name = {each.name: each for each in components}
    failing: list[str] = []
    for type, (program, phase) in _PROGRAMS.items():
        told = _of_program(seen, planned.verdicts[phase], type, by_name.get(program))
        yield told
        if told.status != "True" and told.reason != Reason.NOT_USED:
            failing.append(program)
    if failing:
        message = f"Not ready: {', '.join(failing)}. {left_out(seen.plane)}".strip()
        yield condition(Type.COMPONENTS_READY, False, Reason.NOT_READY, message)
    else:
        yield condition(Type.COMPONENTS_READY, True, Reason.READY, left_out(seen.plane))


def _of_program(seen: Seen, verdict: Verdict, type: Type, component: ComponentStatus | None) -> Condition:
    if type is Type.KONNECTIVITY_READY and not seen.tunnelled:
        return condition(type, False, Reason.NOT_USED, "spec.addons.konnectivity is not enabled.")
    if component is not None and component.state == RUNNING:
        return condition(type, True, Reason.RUNNING)
    reason = Reason.STARTING if verdict.done else verdict.reason
    message = component.message if component is not None and component.message else verdict.message
    return condition(type, False, reason, message)
