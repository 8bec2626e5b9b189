"""What to do for a HostedControlPlane: each phase is done, has something to do now, or waits for somebody.

Phases that do not need each other go on side by side: certificates, the endpoint, the place in the data store and the
programs at once; files when the first three are there; processes when all are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from nagaya.api.cluster.secrets import Purpose
from nagaya.api.controlplane.data_store import ETCD, POSTGRESQL, DataStore
from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_conditions import HostedPhase as Phase
from nagaya.api.controlplane.hosted_control_plane import DEFAULT_DATA_STORE, FINALIZER
from nagaya.api.controlplane.hosted_status import DataStoreUse
from nagaya.clusters.certificates.held import Held
from nagaya.clusters.certificates.plan import Verdict as Authority
from nagaya.controlplane.hosted.control_plane.known import FilesFor
from nagaya.controlplane.hosted.control_plane.seen import Seen
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.host.processes import Tenancy, processes
from nagaya.controlplane.hosted.host.roll import Role, Roll, Wanted, roll
from nagaya.supervision.status import State

TRY_AGAIN: Final = 5.0
"""Seconds after which something is tried again that nobody tells us the success of."""
_RENEW_SOON: Final = 1.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """How it stands with a phase."""

    done: bool
    reason: Reason
    message: str = ""


@dataclass(frozen=True, slots=True)
class Hold:
    """Put our finalizer on it."""


@dataclass(frozen=True, slots=True)
class TakeTenant:
    """Write down whose the tenant is, before anything of it is made or touched."""


@dataclass(frozen=True, slots=True)
class MakeAuthorities:
    """Make the authorities that are missing, and adopt those of others."""


@dataclass(frozen=True, slots=True)
class WriteEndpoint:
    """Write down where the API is reached."""


@dataclass(frozen=True, slots=True)
class MakeDefaultStore:
    """Make the DataStore that Nagaya starts itself."""


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
class WriteFiles:
    """Write everything that programs read."""

    made_for: FilesFor


@dataclass(frozen=True, slots=True)
class Run:
    """Start and stop processes."""

    tenancy: Tenancy
    steps: Roll


Action = (
    Hold
    | TakeTenant
    | MakeAuthorities
    | WriteEndpoint
    | MakeDefaultStore
    | BindStore
    | Provision
    | WriteKubeconfig
    | WriteFiles
    | Run
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do now, and how it stands."""

    actions: tuple[Action, ...]
    verdicts: Mapping[Phase, Verdict]
    wanted: tuple[Wanted, ...] = ()
    steps: Roll = field(default_factory=Roll)
    set_up: bool = False
    """Whether the tenant's own objects are to be looked at."""
    requeue_after: float | None = None

    @property
    def takes_long(self) -> bool:
        """Whether a store or processes are waited for, so that what is known is to be told beside that. Never beside a
        note in the status, which would be taken back by who does not know it."""
        kinds = {type(each) for each in self.actions}
        return bool(kinds & {Provision, Run}) and BindStore not in kinds


def plan(seen: Seen) -> Plan:
    """All phases. The finalizer is first: nothing is made that would not be removed. Then whose it is."""
    if FINALIZER not in seen.plane.metadata.finalizers:
        return Plan((Hold(),), {})
    if not seen.recorded:
        return Plan((TakeTenant(),), {})
    actions: list[Action] = []
    certificates = _certificates(seen, actions)
    endpoint = _endpoint(seen, actions)
    store = _store(seen, actions)
    _kubeconfig(seen, actions)
    tenancy = _tenancy(seen, actions)
    wanted = tuple(processes(tenancy)) if tenancy is not None else ()
    steps = Roll()
    if tenancy is not None:
        steps = roll(wanted, seen.started, seen.processes)
        if steps.start or steps.stop:
            actions.append(Run(tenancy, steps))
    api = _api_server(seen, wanted, (certificates, endpoint, store))
    verdicts = {
        Phase.CERTIFICATES: certificates,
        Phase.DATA_STORE: store,
        Phase.ENDPOINT: endpoint,
        Phase.API_SERVER: api,
        Phase.CONTROLLERS: _controllers(seen, wanted, api),
        Phase.TENANT: _tenant(seen, api),
    }
    return Plan(
        tuple(actions),
        verdicts,
        wanted,
        steps,
        set_up=api.done and tenancy is not None,
        requeue_after=_look_again(seen),
    )


def is_ready(seen: Seen, wanted: Wanted) -> bool:
    """Whether a process runs as it shall, and has said that it is ready."""
    status, before = seen.processes.get(wanted.name), seen.started.get(wanted.name)
    return (
        status is not None
        and status.state is State.READY
        and before is not None
        and before.digest == wanted.spec.digest
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
        message = (
            "The key of an authority is missing: a hosted control plane signs certificates itself. Put it into tls.key "
            f"of the Secrets {seen.authorities.cluster.name}-ca and {seen.authorities.cluster.name}-proxy."
        )
        return Verdict(False, Reason.CERTIFICATE_UNUSABLE, message)
    end = min(each.certificates[0].not_valid_after_utc for each in _authorities(seen))
    if end <= seen.now:
        return Verdict(False, Reason.CERTIFICATE_EXPIRED, f"An authority of the cluster expired on {end:%Y-%m-%d}.")
    if seen.known.files_problem:
        return Verdict(False, Reason.CERTIFICATE_UNUSABLE, seen.known.files_problem)
    return Verdict(True, Reason.AVAILABLE)


def _authorities(seen: Seen) -> list[Held]:
    purposes = (Purpose.CLUSTER_AUTHORITY, Purpose.FRONT_PROXY_AUTHORITY)
    return [found for each in purposes if (found := seen.authorities.get(each)) is not None]


def _endpoint(seen: Seen, actions: list[Action]) -> Verdict:
    listening = seen.declared.listening
    if listening.message:
        return Verdict(False, listening.reason, listening.message)
    if not listening.is_written:
        actions.append(WriteEndpoint())
        return Verdict(False, Reason.WAITING_FOR_ENDPOINT, "The endpoint is being written down.")
    return Verdict(True, Reason.ENDPOINT_READY)


def _store(seen: Seen, actions: list[Action]) -> Verdict:
    plane, store, used = seen.plane, seen.store, seen.plane.status.data_store
    name = plane.spec.data_store_ref.name if used is None else used.name
    if store is None:
        if not plane.store_name and name == DEFAULT_DATA_STORE:
            actions.append(MakeDefaultStore())
            return Verdict(False, Reason.WAITING_FOR_DATA_STORE, "The DataStore default is being made.")
        message = f"There is no DataStore {name}. Create it, or name another in spec.dataStoreRef."
        return Verdict(False, Reason.DATA_STORE_NOT_FOUND, message)
    if not plane.store_name and store.metadata.deleting:
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


def _kubeconfig(seen: Seen, actions: list[Action]) -> None:
    if seen.kubeconfig_plan.write or seen.kubeconfig_plan.owners is not None:
        actions.append(WriteKubeconfig())


def _tenancy(seen: Seen, actions: list[Action]) -> Tenancy | None:
    """What processes depend on, once all of it is there and written."""
    given, store, listening = seen.given, seen.known.store, seen.declared.listening
    # A data store that is away for a while, or an endpoint that somebody claims, changes nothing for what runs.
    if given is None or store is None or not listening.is_written or (listening.message and not seen.started):
        return None
    made_for = FilesFor(seen.declared, seen.target.version, given, store, seen.encryption)
    files = seen.known.files
    if seen.encryption_problem:
        return None
    due = files is not None and files.certificates.due is not None and files.certificates.due <= seen.now
    if files is None or due or not files.made_for.is_same(made_for):
        actions.append(WriteFiles(made_for))
        return None
    if not seen.programs.there and seen.declared.replicas:
        return None
    return Tenancy(
        seen.uid,
        files.facts,
        files.ports,
        seen.programs.paths,
        given.cluster.certificate,
        files.hashes,
        f"{files.facts.folders.kubeconfigs}/balancer.json",
    )


def _api_server(seen: Seen, wanted: Sequence[Wanted], needed: Sequence[Verdict]) -> Verdict:
    if not seen.declared.replicas:
        return Verdict(False, Reason.SLEEPING, "spec.replicas is 0: the control plane is stopped, and its data kept.")
    servers = [each for each in wanted if each.role is Role.API_SERVER]
    if any(is_ready(seen, each) for each in servers) or _still_serves(seen):
        return Verdict(True, Reason.RUNNING)
    if seen.encryption_problem:
        return Verdict(False, Reason.NOT_READY, seen.encryption_problem)
    for reason, each in zip(_WAITS, needed, strict=True):
        if not each.done and not servers:
            return Verdict(False, reason, each.message)
    if not seen.programs.there:
        reason = Reason.BINARIES_MISSING if seen.programs.failed else Reason.STARTING
        return Verdict(False, reason, seen.programs.message)
    for server in servers:
        status = seen.processes.get(server.name)
        if status is not None and status.state is State.WAITING:
            message = (
                f"kube-apiserver does not stay: {status.reason}. It is started again. APIServerReady has its words."
            )
            return Verdict(False, Reason.RESTARTING, message)
    return Verdict(False, Reason.STARTING, "kube-apiserver is being started.")


_WAITS: Final = (Reason.WAITING_FOR_CERTIFICATES, Reason.WAITING_FOR_ENDPOINT, Reason.WAITING_FOR_DATA_STORE)


def _still_serves(seen: Seen) -> bool:
    """Whether one that has its turn later, or was begun by an earlier life of ours, serves meanwhile."""
    prefix = f"{seen.uid}.{KUBE_APISERVER}-"
    states = {status.state for name, status in seen.processes.items() if name.startswith(prefix)}
    return State.READY in states or (seen.initialized and State.UNCLAIMED in states)


def _controllers(seen: Seen, wanted: Sequence[Wanted], api: Verdict) -> Verdict:
    if not api.done:
        return Verdict(
            False, api.reason if api.reason is Reason.SLEEPING else Reason.WAITING_FOR_API_SERVER, api.message
        )
    controllers = [each for each in wanted if each.role is Role.CONTROLLER]
    if controllers and all(is_ready(seen, each) for each in controllers):
        return Verdict(True, Reason.RUNNING)
    return Verdict(False, Reason.STARTING, seen.programs.message or "The controllers are being started.")


def _tenant(seen: Seen, api: Verdict) -> Verdict:
    if not api.done:
        return Verdict(
            False, api.reason if api.reason is Reason.SLEEPING else Reason.WAITING_FOR_API_SERVER, api.message
        )
    if seen.kubeconfig_plan.blocked:
        return Verdict(False, Reason.NOT_CONFIGURED, seen.kubeconfig_plan.sentence)
    if not seen.connected:
        message = seen.probe.problem or "The connection is being made."
        return Verdict(False, Reason.CONNECTION_DOWN, message)
    outcome = seen.known.setup
    if outcome is None or outcome.waiting:
        message = "" if outcome is None else outcome.waiting
        return Verdict(False, Reason.NOT_CONFIGURED, message or "What machines need to join is being made.")
    if outcome.problems:
        return Verdict(False, Reason.NOT_CONFIGURED, " ".join(outcome.problems))
    return Verdict(True, Reason.CONFIGURED)


def _look_again(seen: Seen) -> float | None:
    """When time alone brings something to do."""
    moments = [seen.kubeconfig_plan.look_again]
    files = seen.known.files
    if files is not None:
        moments.append(files.certificates.due)
    if seen.known.store_due is not None and seen.known.store_due > seen.now:
        moments.append(seen.known.store_due)
    waits = [max((each - seen.now).total_seconds(), _RENEW_SOON) for each in moments if each is not None]
    if (
        seen.known.store_problem
        or seen.encryption_problem
        or seen.known.files_problem
        or seen.declared.listening.message
    ):
        waits.append(TRY_AGAIN)
    if seen.known.setup is not None and seen.known.setup.problems:
        waits.append(TRY_AGAIN)
    return min(waits, default=None)
