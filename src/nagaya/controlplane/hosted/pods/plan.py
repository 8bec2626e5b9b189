"""What to do for a HostedControlPlane of pods: each phase is done, has something to do now, or waits for somebody.

The Service and the fences come first, because the address may come from there; certificates and the place in the data
store side by side with them; pods when all of that is there, API servers and controllers in the order of `rollout`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nagaya.api.controlplane.data_store import SQLITE
from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_conditions import HostedPhase as Phase
from nagaya.api.controlplane.hosted_control_plane import FINALIZER
from nagaya.controlplane.hosted import phases
from nagaya.controlplane.hosted.kubernetes import kinds, names, objects, rollout
from nagaya.controlplane.hosted.kubernetes.kinds import Planned
from nagaya.controlplane.hosted.kubernetes.tenancy import Tenancy
from nagaya.controlplane.hosted.phases import ASLEEP, Hold, Judged, Step, Verdict
from nagaya.controlplane.hosted.pods import applying, tenancies
from nagaya.controlplane.hosted.pods.components import is_rolling
from nagaya.controlplane.hosted.pods.known import FilesFor
from nagaya.controlplane.hosted.pods.seen import Seen


@dataclass(frozen=True, slots=True)
class MakeFiles:
    """Issue certificates, or find those that are there still good."""

    made_for: FilesFor


@dataclass(frozen=True, slots=True)
class ApplyObjects:
    """Apply objects that are not as they shall be, one after the other."""

    planned: tuple[Planned, ...]


Action = Step | MakeFiles | ApplyObjects


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do now, and how it stands."""

    actions: tuple[Action, ...]
    verdicts: Mapping[Phase, Verdict]
    rollout: str = ""
    """What the Deployments wait for."""
    pending: tuple[str, ...] = ()
    """Deployments that are not as they shall be, by the part that they are of."""
    set_up: bool = False
    """Whether the tenant's own objects are to be looked at."""
    requeue_after: float | None = None


def plan(seen: Seen) -> Plan:
    """All phases. The finalizer is first: nothing is made that would not be removed."""
    if FINALIZER not in seen.plane.metadata.finalizers:
        return Plan((Hold(),), {})
    certificates, for_certificates = phases.certificates(seen)
    endpoint, for_endpoint = _endpoint(seen)
    store, for_store = _store(seen)
    actions: list[Action] = [*for_certificates, *for_endpoint, *for_store, *phases.kubeconfig(seen)]
    tenancy = _tenancy(seen, actions)
    turn = rollout.Turn(True, True, "")
    wanted: tuple[Planned, ...] = ()
    pending: tuple[str, ...] = ()
    problem = ""
    if tenancy is None:
        wanted = objects.before_pods(tenancies.bare(seen))
    else:
        turn = rollout.turn(tenancy.facts.version, seen.api_servers, seen.controllers)
        try:
            wanted = objects.objects(tenancy)
        except ValueError as error:
            problem = f"{error}."
        pending = tuple(part for part in (KUBE_APISERVER, names.CONTROLLERS) if _is_pending(seen, wanted, part))
    changed = [each for each in wanted if not _is_current(seen, each) and _has_turn(seen, each, turn)]
    if changed:
        actions.append(ApplyObjects(tuple(changed)))
    api = _api_server(seen, (certificates, endpoint, store), problem)
    verdicts = {
        Phase.CERTIFICATES: certificates,
        Phase.DATA_STORE: store,
        Phase.ENDPOINT: endpoint,
        Phase.API_SERVER: api,
        Phase.CONTROLLERS: _controllers(seen, api),
        Phase.TENANT: phases.tenant(seen, api),
    }
    files_due = None if seen.known.files is None else seen.known.files.due
    again = phases.look_again(seen, files_due, seen.encryption_problem, problem, seen.known.strangers)
    return Plan(tuple(actions), verdicts, turn.message, pending, set_up=api.done, requeue_after=again)


def _endpoint(seen: Seen) -> Judged:
    reached = seen.reached
    if seen.known.strangers:
        return Verdict(False, Reason.NOT_READY, next(iter(seen.known.strangers.values()))), ()
    if reached.message:
        return Verdict(False, reached.reason, reached.message), ()
    return phases.endpoint(reached.is_written)


def _store(seen: Seen) -> Judged:
    if seen.store is not None and (seen.store.spec.managed or seen.store.spec.driver == SQLITE):
        message = (
            f"DataStore {phases.store_name(seen)} is beside Nagaya itself, where pods cannot reach it. Name one in "
            "spec.dataStoreRef that has endpoints."
        )
        return Verdict(False, Reason.DATA_STORE_NOT_READY, message), ()
    return phases.data_store(seen)


def _tenancy(seen: Seen, actions: list[Action]) -> Tenancy | None:
    """What objects depend on, once all of it is there."""
    given, known = seen.given, seen.known
    if given is None or known.store is None or not seen.reached.is_written or seen.encryption_problem:
        return None
    made_for = tenancies.files_for(seen, given)
    files = known.files
    if files is None or known.files_for != made_for or (files.due is not None and files.due <= seen.now):
        actions.append(MakeFiles(made_for))
        return None
    return tenancies.whole(seen, known.store, files)


def _is_current(seen: Seen, planned: Planned) -> bool:
    name, present = str(planned), seen.objects.get(str(planned))
    if name in seen.known.strangers:
        return True  # it is not ours to change
    if present is None:
        return False
    content = applying.content_of(planned)
    if applying.is_current(content, present):
        return True
    hashed = content["metadata"]["annotations"][applying.APPLIED]
    return seen.known.answered.get(name) == f"{hashed} {applying.whole(present)}"


def _has_turn(seen: Seen, planned: Planned, turn: rollout.Turn) -> bool:
    """Only Deployments wait for each other. Their Secrets may be newer than they are: a pod that is replaced meanwhile
    has what is good for the old version, too."""
    if planned.kind is not kinds.DEPLOYMENTS:
        return True
    is_api = planned.name == names.object_name(seen.plane.metadata.name, KUBE_APISERVER)
    return turn.api_servers if is_api else turn.controllers


def _is_pending(seen: Seen, wanted: Iterable[Planned], part: str) -> bool:
    name = names.object_name(seen.plane.metadata.name, part)
    own = [each for each in wanted if each.kind is kinds.DEPLOYMENTS and each.name == name]
    deployment = seen.api_servers if part == KUBE_APISERVER else seen.controllers
    if deployment is None:
        return False
    return any(not _is_current(seen, each) for each in own) or is_rolling(deployment)


def _api_server(seen: Seen, needed: Iterable[Verdict], problem: str) -> Verdict:
    if not seen.replicas:
        return ASLEEP
    servers = seen.api_servers
    if servers is not None and servers.available:
        return Verdict(True, Reason.RUNNING)
    if seen.encryption_problem or problem:
        return Verdict(False, Reason.NOT_READY, seen.encryption_problem or problem)
    if servers is None and (waits := phases.missing(needed)) is not None:
        return waits
    return Verdict(False, Reason.STARTING, "Pods of kube-apiserver are being started.")


def _controllers(seen: Seen, api: Verdict) -> Verdict:
    if api.reason is Reason.SLEEPING:
        return api
    if seen.controllers is not None and seen.controllers.available:
        return Verdict(True, Reason.RUNNING)
    if not api.done:
        return phases.without_api(api)
    return Verdict(False, Reason.STARTING, "Pods of the controllers are being started.")
