"""What to do for a HostedControlPlane of pods: each phase is done, has something to do now, or waits for somebody.

The Service and the fences come first, because the address may come from there; certificates and the place in the data
store side by side with them; pods when all of that is there, API servers and controllers in the order of `rollout`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from nagaya.api.controlplane.data_store import ETCD, POSTGRESQL, SQLITE, DataStore
from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_conditions import HostedPhase as Phase
from nagaya.api.controlplane.hosted_control_plane import FINALIZER
from nagaya.api.controlplane.hosted_status import DataStoreUse
from nagaya.clusters.certificates.plan import Verdict as Authority
from nagaya.controlplane.hosted.control_plane.plan import Verdict
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.kubernetes import kinds, names, objects, rollout
from nagaya.controlplane.hosted.kubernetes.kinds import Planned
from nagaya.controlplane.hosted.kubernetes.tenancy import Tenancy
from nagaya.controlplane.hosted.pods import applying, tenancies
from nagaya.controlplane.hosted.pods.components import is_rolling
from nagaya.controlplane.hosted.pods.known import FilesFor
from nagaya.controlplane.hosted.pods.seen import Seen

TRY_AGAIN: Final = 5.0
"""Seconds after which something is tried again that nobody tells us the success of."""
_RENEW_SOON: Final = 1.0


@dataclass(frozen=True, slots=True)
class Hold:
    """Put our finalizer on it."""


@dataclass(frozen=True, slots=True)
class MakeAuthorities:
    """Make the authorities that are missing, and adopt those of others."""


@dataclass(frozen=True, slots=True)
class WriteEndpoint:
    """Write down where the API is reached."""


@dataclass(frozen=True, slots=True)
class BindStore:
    """Write down where the data is about to be."""

    use: DataStoreUse


@dataclass(frozen=True, slots=True)
class Provision:
    """Get a place in the data store."""


@dataclass(frozen=True, slots=True)
class WriteKubeconfig:
    """Make the administrator's kubeconfig, or adopt one."""


@dataclass(frozen=True, slots=True)
class MakeFiles:
    """Issue certificates, or find those that are there still good."""

    made_for: FilesFor


@dataclass(frozen=True, slots=True)
class ApplyObjects:
    """Apply objects that are not as they shall be, one after the other."""

    planned: tuple[Planned, ...]


Action = Hold | MakeAuthorities | WriteEndpoint | BindStore | Provision | WriteKubeconfig | MakeFiles | ApplyObjects


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
    actions: list[Action] = []
    certificates = _certificates(seen, actions)
    endpoint = _endpoint(seen, actions)
    store = _store(seen, actions)
    if seen.kubeconfig_plan.write or seen.kubeconfig_plan.owners is not None:
        actions.append(WriteKubeconfig())
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
        Phase.TENANT: _tenant(seen, api),
    }
    return Plan(
        tuple(actions), verdicts, turn.message, pending, set_up=api.done, requeue_after=_look_again(seen, problem)
    )


def _certificates(seen: Seen, actions: list[Action]) -> Verdict:
    planned = seen.authorities_plan
    if planned.make or planned.adopt:
        actions.append(MakeAuthorities())
    if planned.verdict is Authority.LOST:
        return Verdict(False, Reason.CERTIFICATE_AUTHORITY_LOST, planned.sentence)
    if planned.verdict is Authority.REFUSED:
        return Verdict(False, Reason.CERTIFICATE_UNUSABLE, planned.sentence)
    if planned.verdict is not Authority.AVAILABLE:
        return Verdict(False, Reason.WAITING_FOR_CERTIFICATES, f"{planned.sentence.rstrip('.')}.")
    if seen.given is None:
        name = seen.authorities.cluster.name
        message = (
            "The key of an authority is missing: a hosted control plane signs certificates itself. Put it into tls.key "
            f"of the Secrets {name}-ca and {name}-proxy."
        )
        return Verdict(False, Reason.CERTIFICATE_UNUSABLE, message)
    if seen.known.files_problem:
        return Verdict(False, Reason.CERTIFICATE_UNUSABLE, seen.known.files_problem)
    return Verdict(True, Reason.AVAILABLE)


def _endpoint(seen: Seen, actions: list[Action]) -> Verdict:
    reached = seen.reached
    if seen.known.strangers:
        return Verdict(False, Reason.NOT_READY, next(iter(seen.known.strangers.values())))
    if reached.message:
        return Verdict(False, reached.reason, reached.message)
    if not reached.is_written:
        actions.append(WriteEndpoint())
        return Verdict(False, Reason.WAITING_FOR_ENDPOINT, "The endpoint is being written down.")
    return Verdict(True, Reason.ENDPOINT_READY)


def _store(seen: Seen, actions: list[Action]) -> Verdict:
    plane, store, used = seen.plane, seen.store, seen.plane.status.data_store
    name = plane.spec.data_store_ref.name if used is None else used.name
    if store is None:
        message = f"There is no DataStore {name}. Create it, or name another in spec.dataStoreRef."
        return Verdict(False, Reason.DATA_STORE_NOT_FOUND, message)
    if store.spec.managed or store.spec.driver == SQLITE:
        message = (
            f"DataStore {name} is beside Nagaya itself, where pods cannot reach it. Name one in spec.dataStoreRef that "
            "has endpoints."
        )
        return Verdict(False, Reason.DATA_STORE_NOT_READY, message)
    if used is None and store.metadata.deleting:
        message = f"DataStore {name} is being deleted. Name another in spec.dataStoreRef."
        return Verdict(False, Reason.DATA_STORE_DELETING, message)
    if used is None:
        actions.append(BindStore(_use(store, seen.uid)))
        return Verdict(False, Reason.WAITING_FOR_DATA_STORE, f"A place in DataStore {name} is being reserved.")
    if seen.known.store is None and not seen.store_reached:
        return Verdict(False, Reason.DATA_STORE_NOT_READY, f"Waiting for DataStore {name}: {_said(store)}")
    if seen.known.store is None:
        actions.append(Provision())
        if seen.known.store_problem:
            return Verdict(False, Reason.PROVISIONING_FAILED, seen.known.store_problem)
        return Verdict(False, Reason.WAITING_FOR_DATA_STORE, f"A place in DataStore {name} is being made.")
    if seen.store_reached and seen.known.store_due is not None and seen.known.store_due <= seen.now:
        actions.append(Provision())
    if store.status.ready is False:
        return Verdict(False, Reason.DATA_STORE_NOT_READY, f"DataStore {name}: {_said(store)}")
    return Verdict(True, Reason.DATA_STORE_READY, seen.known.store_problem)


def _said(store: DataStore) -> str:
    message = next((each.message for each in store.status.conditions if each.type == "Ready"), "")
    return message or "it has not said anything yet."


def _use(store: DataStore, uid: str) -> DataStoreUse:
    tenant, driver = Tenant(uid), store.spec.driver
    prefix = tenant.prefix if driver == ETCD else ""
    schema = tenant.database if driver == POSTGRESQL else ""
    return DataStoreUse(name=store.metadata.name, driver=driver, prefix=prefix, schema=schema)


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
        return Verdict(False, Reason.SLEEPING, "spec.replicas is 0: the control plane is stopped, and its data kept.")
    servers = seen.api_servers
    if servers is not None and servers.available:
        return Verdict(True, Reason.RUNNING)
    if seen.encryption_problem or problem:
        return Verdict(False, Reason.NOT_READY, seen.encryption_problem or problem)
    if servers is None:
        for reason, each in zip(_WAITS, needed, strict=True):
            if not each.done:
                return Verdict(False, reason, each.message)
    return Verdict(False, Reason.STARTING, "Pods of kube-apiserver are being started.")


_WAITS: Final = (Reason.WAITING_FOR_CERTIFICATES, Reason.WAITING_FOR_ENDPOINT, Reason.WAITING_FOR_DATA_STORE)


def _controllers(seen: Seen, api: Verdict) -> Verdict:
    if api.reason is Reason.SLEEPING:
        return api
    if seen.controllers is not None and seen.controllers.available:
        return Verdict(True, Reason.RUNNING)
    if not api.done:
        return Verdict(False, Reason.WAITING_FOR_API_SERVER, api.message)
    return Verdict(False, Reason.STARTING, "Pods of the controllers are being started.")


def _tenant(seen: Seen, api: Verdict) -> Verdict:
    if not api.done:
        return replace(api, reason=api.reason if api.reason is Reason.SLEEPING else Reason.WAITING_FOR_API_SERVER)
    if seen.kubeconfig_plan.blocked:
        return Verdict(False, Reason.NOT_CONFIGURED, seen.kubeconfig_plan.sentence)
    if not seen.connected:
        return Verdict(False, Reason.CONNECTION_DOWN, seen.probe.problem or "The connection is being made.")
    outcome = seen.known.setup
    if outcome is None or outcome.waiting:
        message = "" if outcome is None else outcome.waiting
        return Verdict(False, Reason.NOT_CONFIGURED, message or "What machines need to join is being made.")
    if outcome.problems:
        return Verdict(False, Reason.NOT_CONFIGURED, " ".join(outcome.problems))
    return Verdict(True, Reason.CONFIGURED)


def _look_again(seen: Seen, problem: str) -> float | None:
    """When time alone brings something to do."""
    known = seen.known
    moments = [seen.kubeconfig_plan.look_again, None if known.files is None else known.files.due]
    if known.store_due is not None and known.store_due > seen.now:
        moments.append(known.store_due)
    waits = [max((each - seen.now).total_seconds(), _RENEW_SOON) for each in moments if each is not None]
    troubles = (known.store_problem, known.files_problem, seen.encryption_problem, problem, known.strangers)
    if any(troubles) or (known.setup is not None and known.setup.problems):
        waits.append(TRY_AGAIN)
    return min(waits, default=None)
