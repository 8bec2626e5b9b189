"""The conditions of a HostedControlPlane: one function each. Every one that is not as wished says for whom it waits."""

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
from nagaya.api.controlplane.hosted_status import NOT_HEALTHY, RESTARTING, RUNNING, ComponentStatus
from nagaya.api.meta import Condition
from nagaya.clusters.pause import NOT_PAUSED
from nagaya.controlplane.hosted.control_plane.plan import Plan
from nagaya.controlplane.hosted.control_plane.seen import Seen
from nagaya.controlplane.hosted.host.processes import BALANCER
from nagaya.controlplane.hosted.phases import Verdict, left_out
from nagaya.kube.conditions import condition

PROGRAMS: Final = {
    Type.API_SERVER_READY: KUBE_APISERVER,
    Type.CONTROLLER_MANAGER_READY: KUBE_CONTROLLER_MANAGER,
    Type.SCHEDULER_READY: KUBE_SCHEDULER,
    Type.KONNECTIVITY_READY: KONNECTIVITY_SERVER,
}
_PHASES: Final = {
    Type.CERTIFICATES_AVAILABLE: Phase.CERTIFICATES,
    Type.DATA_STORE_READY: Phase.DATA_STORE,
    Type.ENDPOINT_READY: Phase.ENDPOINT,
    Type.TENANT_CONFIGURED: Phase.TENANT,
}
_EXPIRES_SOON: Final = 90
"""Days before the end of an authority from which on that is told: everything that trusts it has to learn of another."""


def conditions(seen: Seen, planned: Plan, components: Sequence[ComponentStatus]) -> Iterator[Condition]:
    """All conditions of a control plane that is neither paused nor to go."""
    verdicts = planned.verdicts
    for type, phase in _PHASES.items():
        yield of_phase(type, verdicts[phase], expiry(seen) if phase is Phase.CERTIFICATES else "")
    yield from _of_programs(seen, planned, components)
    yield available(planned)
    yield isolated(seen.not_isolated)
    yield upgrade_possible(seen)
    yield rolling_out(seen, planned)
    yield from scaling(seen)
    yield deleting(seen.ending)
    yield NOT_PAUSED


def available(planned: Plan) -> Condition:
    """Whether the API can be used."""
    store = planned.verdicts[Phase.DATA_STORE]
    if planned.verdicts[Phase.API_SERVER].done:
        if store.reason is Reason.DATA_STORE_NOT_READY:
            # It runs, and cannot read or write anything.
            return condition(Type.AVAILABLE, False, Reason.DATA_STORE_NOT_READY, store.message)
        return condition(Type.AVAILABLE, True, Reason.AVAILABLE)
    verdict = planned.verdicts[Phase.API_SERVER]
    reason = Reason.SLEEPING if verdict.reason is Reason.SLEEPING else Reason.NOT_AVAILABLE
    return condition(Type.AVAILABLE, False, reason, verdict.message)


def isolated(why_not: str) -> Condition:
    """Whether programs are kept apart from those of other control planes and from Nagaya, and are limited."""
    return condition(Type.PROGRAMS_ISOLATED, not why_not, Reason.NOT_ISOLATED if why_not else Reason.ISOLATED, why_not)


def upgrade_possible(seen: Seen) -> Condition:
    """Whether the version that is declared can be reached."""
    target = seen.target
    if target.reason is Reason.NO_UPGRADE_ASKED:
        return condition(Type.UPGRADE_POSSIBLE, True, target.reason)
    return condition(Type.UPGRADE_POSSIBLE, not target.refused, target.reason, target.message)


def rolling_out(seen: Seen, planned: Plan) -> Condition:
    """Whether processes are exchanged for others."""
    changed = changing(seen, planned)
    if not changed:
        return condition(Type.ROLLING_OUT, False, Reason.NOT_ROLLING_OUT)
    names = ", ".join(sorted({each.program for each in planned.wanted if each.name in changed}))
    message = f"Being exchanged: {names}. {planned.steps.waiting}".strip()
    return condition(Type.ROLLING_OUT, True, Reason.ROLLING_OUT, message)


def changing(seen: Seen, planned: Plan) -> list[str]:
    """Processes that were started as something else than they shall be."""
    return [
        each.name
        for each in planned.wanted
        if (before := seen.started.get(each.name)) is not None and before.digest != each.spec.digest
    ]


def scaling(seen: Seen) -> Iterator[Condition]:
    """Whether there are too few API servers, or too many."""
    present = sum(name.startswith(f"{seen.uid}.{KUBE_APISERVER}-") for name in seen.started)
    wanted = seen.declared.replicas
    message = f"From {present} to {wanted} API servers."
    if present < wanted:
        yield condition(Type.SCALING_UP, True, Reason.SCALING_UP, message)
    else:
        yield condition(Type.SCALING_UP, False, Reason.NOT_SCALING_UP)
    if present > wanted:
        yield condition(Type.SCALING_DOWN, True, Reason.SCALING_DOWN, message)
    else:
        yield condition(Type.SCALING_DOWN, False, Reason.NOT_SCALING_DOWN)


def expiry(seen: Seen) -> str:
    """What is to be said of authorities that end soon."""
    files = seen.known.files
    if files is None:
        return ""
    soon = [
        f"The authority {each.name} expires on {each.not_after:%Y-%m-%d}. Nothing that it vouches for lasts longer: "
        "provide another one in time."
        for each in files.certificates.issued
        if each.name.endswith("ca") and (each.not_after - seen.now).days < _EXPIRES_SOON
    ]
    return " ".join(soon)


def deleting(ending: str) -> Condition:
    """Whether it goes, as long as it is looked after: what that waits for is all that can be said."""
    if ending:
        return condition(Type.DELETING, True, Reason.WAITING_FOR_WORKERS_DELETION, ending)
    return condition(Type.DELETING, False, Reason.NOT_DELETING)


def of_phase(type: Type, verdict: Verdict, more: str = "") -> Condition:
    """How it stands with a phase."""
    # How a tenant is that does not answer, nobody knows.
    if verdict.reason is Reason.CONNECTION_DOWN:
        return condition(type, "Unknown", verdict.reason, verdict.message)
    return condition(type, verdict.done, verdict.reason, verdict.message or more)


def _of_programs(seen: Seen, planned: Plan, components: Sequence[ComponentStatus]) -> Iterator[Condition]:
    by_name = {each.name: each for each in components}
    failing: list[str] = []
    for type, program in PROGRAMS.items():
        told = _of_program(seen, planned, type, by_name.get(program))
        yield told
        if told.status != "True" and told.reason != Reason.NOT_USED:
            failing.append(program)
    balancer = by_name.get(BALANCER)
    if balancer is not None and balancer.state != RUNNING:
        failing.append(BALANCER)
    if failing:
        message = f"Not ready: {', '.join(failing)}. {left_out(seen.plane)}".strip()
        yield condition(Type.COMPONENTS_READY, False, Reason.NOT_READY, message)
    else:
        yield condition(Type.COMPONENTS_READY, True, Reason.READY, left_out(seen.plane))


def _of_program(seen: Seen, planned: Plan, type: Type, component: ComponentStatus | None) -> Condition:
    if type is Type.KONNECTIVITY_READY and not seen.declared.tunnelled:
        return condition(type, False, Reason.NOT_USED, "spec.addons.konnectivity is not enabled.")
    phase = Phase.API_SERVER if type in (Type.API_SERVER_READY, Type.KONNECTIVITY_READY) else Phase.CONTROLLERS
    verdict = planned.verdicts[phase]
    if component is None:
        return condition(type, False, verdict.reason if not verdict.done else Reason.STARTING, verdict.message)
    if component.state == RUNNING:
        return condition(type, True, Reason.RUNNING)
    reason = {RESTARTING: Reason.RESTARTING, NOT_HEALTHY: Reason.NOT_HEALTHY}.get(component.state, Reason.STARTING)
    if verdict.reason is Reason.SLEEPING:
        reason = Reason.SLEEPING
    ready = f"{component.ready_replicas} of {component.replicas} are ready."
    return condition(type, False, reason, component.message or (verdict.message if not verdict.done else ready))
