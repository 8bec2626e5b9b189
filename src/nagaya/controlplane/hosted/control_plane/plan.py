"""What to do for a HostedControlPlane: each phase is done, has something to do now, or waits for somebody.

Phases that do not need each other go on side by side: certificates, the endpoint, the place in the data store and the
programs at once; files when the first three are there; processes when all are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_conditions import HostedPhase as Phase
from nagaya.api.controlplane.hosted_control_plane import DEFAULT_DATA_STORE, FINALIZER
from nagaya.controlplane.hosted import phases
from nagaya.controlplane.hosted.control_plane.known import FilesFor
from nagaya.controlplane.hosted.control_plane.seen import Seen
from nagaya.controlplane.hosted.host.processes import Tenancy, processes
from nagaya.controlplane.hosted.host.roll import Role, Roll, Wanted, roll
from nagaya.controlplane.hosted.phases import ASLEEP, BindStore, Hold, Judged, Provision, Step, Verdict
from nagaya.supervision.status import State


@dataclass(frozen=True, slots=True)
class TakeTenant:
    """Write down whose the tenant is, before anything of it is made or touched."""


@dataclass(frozen=True, slots=True)
class MakeDefaultStore:
    """Make the DataStore that Nagaya starts itself."""


@dataclass(frozen=True, slots=True)
class WriteFiles:
    """Write everything that programs read."""

    made_for: FilesFor


@dataclass(frozen=True, slots=True)
class Run:
    """Start and stop processes."""

    tenancy: Tenancy
    steps: Roll


Action = Step | TakeTenant | MakeDefaultStore | WriteFiles | Run


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
    certificates, for_certificates = phases.certificates(seen)
    endpoint, for_endpoint = _endpoint(seen)
    store, for_store = _store(seen)
    actions: list[Action] = [*for_certificates, *for_endpoint, *for_store, *phases.kubeconfig(seen)]
    tenancy = _tenancy(seen, actions)
    wanted = tuple(processes(tenancy)) if tenancy is not None else ()
    steps = Roll()
    if tenancy is not None:
        steps = roll(wanted, seen.started, seen.processes)
        steps = replace(steps, waiting=seen.waits_for_connections or steps.waiting)
        if steps.start or steps.stop or seen.leaving:
            actions.append(Run(tenancy, steps))
    api = _api_server(seen, wanted, (certificates, endpoint, store))
    verdicts = {
        Phase.CERTIFICATES: certificates,
        Phase.DATA_STORE: store,
        Phase.ENDPOINT: endpoint,
        Phase.API_SERVER: api,
        Phase.CONTROLLERS: _controllers(seen, wanted, api),
        Phase.TENANT: phases.tenant(seen, api),
    }
    return Plan(
        tuple(actions),
        verdicts,
        wanted,
        steps,
        set_up=api.done and tenancy is not None,
        requeue_after=phases.look_again(
            seen, _files_due(seen), seen.encryption_problem, seen.declared.listening.message
        ),
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


def _endpoint(seen: Seen) -> Judged:
    listening = seen.declared.listening
    if listening.message:
        return Verdict(False, listening.reason, listening.message), ()
    return phases.endpoint(listening.is_written)


def _store(seen: Seen) -> tuple[Verdict, tuple[Action, ...]]:
    if seen.store is None and not seen.plane.store_name and phases.store_name(seen) == DEFAULT_DATA_STORE:
        waiting = Verdict(False, Reason.WAITING_FOR_DATA_STORE, "The DataStore default is being made.")
        return waiting, (MakeDefaultStore(),)
    return phases.data_store(seen)


def _tenancy(seen: Seen, actions: list[Action]) -> Tenancy | None:
    """What processes depend on, once all of it is there and written."""
    given, store, listening = seen.given, seen.known.store, seen.declared.listening
    # A data store that is away for a while, or an endpoint that somebody claims, changes nothing for what runs.
    if given is None or store is None or not listening.is_written or (listening.message and not listening.runs):
        return None
    made_for = FilesFor(seen.declared, seen.target.version, given, store, seen.encryption)
    files = seen.known.files
    if seen.encryption_problem:
        return None
    due = _files_due(seen)
    if files is None or (due is not None and due <= seen.now) or not files.made_for.is_same(made_for):
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
        files.folder,
    )


def _api_server(seen: Seen, wanted: Sequence[Wanted], needed: Sequence[Verdict]) -> Verdict:
    if not seen.declared.replicas:
        return ASLEEP
    servers = [each for each in wanted if each.role is Role.API_SERVER]
    if any(is_ready(seen, each) for each in servers) or _still_serves(seen):
        return Verdict(True, Reason.RUNNING)
    if seen.encryption_problem:
        return Verdict(False, Reason.NOT_READY, seen.encryption_problem)
    if not servers and (waits := phases.missing(needed)) is not None:
        return waits
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


def _still_serves(seen: Seen) -> bool:
    """Whether one that has its turn later, or was begun by an earlier life of ours, serves meanwhile."""
    prefix = f"{seen.uid}.{KUBE_APISERVER}-"
    states = {status.state for name, status in seen.processes.items() if name.startswith(prefix)}
    return State.READY in states or (seen.initialized and State.UNCLAIMED in states)


def _controllers(seen: Seen, wanted: Sequence[Wanted], api: Verdict) -> Verdict:
    if not api.done:
        return phases.without_api(api)
    controllers = [each for each in wanted if each.role is Role.CONTROLLER]
    if controllers and all(is_ready(seen, each) for each in controllers):
        return Verdict(True, Reason.RUNNING)
    return Verdict(False, Reason.STARTING, seen.programs.message or "The controllers are being started.")


def _files_due(seen: Seen) -> datetime | None:
    return None if seen.known.files is None else seen.known.files.certificates.due
