"""The phases of a HostedControlPlane that are the same however its programs run: its certificates, its place in a data
store, its tenant; and the steps towards them. Pure.

Whether programs are processes beside Nagaya or pods is decided elsewhere. What is here looks only at what both see.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from nagaya.api.admission.hosted_control_plane_checks import check_untrusted
from nagaya.api.cluster.secrets import Purpose
from nagaya.api.controlplane.data_store import ETCD, POSTGRESQL, DataStore
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.api.controlplane.hosted_status import DataStoreUse
from nagaya.clusters.certificates.plan import Verdict as Authority
from nagaya.clusters.names import listed
from nagaya.controlplane.hosted.data_store.tenant import Tenant

if TYPE_CHECKING:
    from nagaya.controlplane.hosted.control_plane.seen import Seen as SeenOfProcesses
    from nagaya.controlplane.hosted.pods.seen import Seen as SeenOfPods

    Seen = SeenOfProcesses | SeenOfPods

TRY_AGAIN: Final = 5.0
"""Seconds after which something is tried again that nobody tells us the success of."""
_RENEW_SOON: Final = 1.0
_SHOWN: Final = 5
"""Settings that a message names: there may be hundreds, and the API refuses a condition of more than 32 KiB."""
_WAITS: Final = (Reason.WAITING_FOR_CERTIFICATES, Reason.WAITING_FOR_ENDPOINT, Reason.WAITING_FOR_DATA_STORE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How it stands with a phase."""

    done: bool
    reason: Reason
    message: str = ""


ASLEEP: Final = Verdict(
    False, Reason.SLEEPING, "spec.replicas is 0: the control plane is stopped, and its data kept."
)  # fmt: skip


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


Step = Hold | MakeAuthorities | WriteEndpoint | BindStore | Provision | WriteKubeconfig
Judged = tuple[Verdict, tuple[Step, ...]]
"""How it stands with a phase, and what to do for it now."""


def certificates(seen: Seen) -> Judged:
    """The authorities of the cluster, and what is signed by them."""
    planned = seen.authorities_plan
    steps = (MakeAuthorities(),) if planned.make or planned.adopt else ()
    return _certificates(seen), steps


def _certificates(seen: Seen) -> Verdict:
    planned = seen.authorities_plan
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
    held = map(seen.authorities.get, (Purpose.CLUSTER_AUTHORITY, Purpose.FRONT_PROXY_AUTHORITY))
    end = min(each.certificates[0].not_valid_after_utc for each in held if each is not None)
    if end <= seen.now:
        return Verdict(False, Reason.CERTIFICATE_EXPIRED, f"An authority of the cluster expired on {end:%Y-%m-%d}.")
    if seen.known.files_problem:
        return Verdict(False, Reason.CERTIFICATE_UNUSABLE, seen.known.files_problem)
    return Verdict(True, Reason.AVAILABLE)


def endpoint(is_written: bool) -> Judged:
    """Where the API is reached, once nothing stands in the way."""
    if is_written:
        return Verdict(True, Reason.ENDPOINT_READY), ()
    return Verdict(False, Reason.WAITING_FOR_ENDPOINT, "The endpoint is being written down."), (WriteEndpoint(),)


def data_store(seen: Seen) -> Judged:
    """Its place in the data store."""
    plane, store, known = seen.plane, seen.store, seen.known
    name = store_name(seen)
    if store is None:
        message = f"There is no DataStore {name}. Create it, or name another in spec.dataStoreRef."
        if plane.status.data_store is not None:
            message = (
                f"There is no DataStore {name}, which has the data of this control plane. Restore it from a backup: a "
                "new one begins without data, unless its endpoints are those of the store that has them."
            )
        return Verdict(False, Reason.DATA_STORE_NOT_FOUND, message), ()
    if not plane.store_name and store.metadata.deleting:
        message = f"DataStore {name} is being deleted. Name another in spec.dataStoreRef."
        return Verdict(False, Reason.DATA_STORE_DELETING, message), ()
    if plane.status.data_store is None:
        message = f"A place in DataStore {name} is being reserved."
        return Verdict(False, Reason.WAITING_FOR_DATA_STORE, message), (BindStore(_use(store, seen.uid)),)
    if known.store is None and not seen.store_reached:
        return Verdict(False, Reason.DATA_STORE_NOT_READY, f"Waiting for DataStore {name}: {_said(store)}"), ()
    if known.store is None and known.store_problem:
        return Verdict(False, Reason.PROVISIONING_FAILED, known.store_problem), (Provision(),)
    if known.store is None:
        message = f"A place in DataStore {name} is being made."
        return Verdict(False, Reason.WAITING_FOR_DATA_STORE, message), (Provision(),)
    is_due = seen.store_reached and known.store_due is not None and known.store_due <= seen.now
    steps = (Provision(),) if is_due else ()
    if store.status.ready is False:
        return Verdict(False, Reason.DATA_STORE_NOT_READY, f"DataStore {name}: {_said(store)}"), steps
    return Verdict(True, Reason.DATA_STORE_READY, known.store_problem), steps


def store_name(seen: Seen) -> str:
    """The DataStore that has its data, or shall have it."""
    used = seen.plane.status.data_store
    return seen.plane.spec.data_store_ref.name if used is None else used.name


def _said(store: DataStore) -> str:
    message = next((each.message for each in store.status.conditions if each.type == "Ready"), "")
    return message or "it has not said anything yet."


def _use(store: DataStore, uid: str) -> DataStoreUse:
    tenant, driver = Tenant(uid), store.spec.driver
    prefix = tenant.prefix if driver == ETCD else ""
    schema = tenant.database if driver == POSTGRESQL else ""
    return DataStoreUse(name=store.metadata.name, driver=driver, prefix=prefix, schema=schema)


def kubeconfig(seen: Seen) -> tuple[Step, ...]:
    """What to do for the administrator's kubeconfig."""
    planned = seen.kubeconfig_plan
    return (WriteKubeconfig(),) if planned.write or planned.owners is not None else ()


def missing(needed: Iterable[Verdict]) -> Verdict | None:
    """What API servers wait for, of certificates, endpoint and data store in this order."""
    for reason, each in zip(_WAITS, needed, strict=True):
        if not each.done:
            return Verdict(False, reason, each.message)
    return None


def left_out(plane: HostedControlPlane) -> str:
    """Which settings have no effect because admission would have refused them; empty if none."""
    problems = [*check_untrusted(msgspec.to_builtins(plane.spec), "spec")]
    return f"Settings that are not accepted have no effect: {listed(problems, _SHOWN)}." if problems else ""


def without_api(api: Verdict) -> Verdict:
    """How it stands with what needs an API server, while there is none."""
    reason = Reason.SLEEPING if api.reason is Reason.SLEEPING else Reason.WAITING_FOR_API_SERVER
    return Verdict(False, reason, api.message)


def tenant(seen: Seen, api: Verdict) -> Verdict:
    """What is to be in the tenant itself."""
    if not api.done:
        return without_api(api)
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


def look_again(seen: Seen, files_due: datetime | None, *troubles: object) -> float | None:
    """When time alone brings something to do. `troubles`: what else is tried again if there is something in it."""
    known = seen.known
    moments = [seen.kubeconfig_plan.look_again, files_due]
    if known.store_due is not None and known.store_due > seen.now:
        moments.append(known.store_due)
    waits = [max((each - seen.now).total_seconds(), _RENEW_SOON) for each in moments if each is not None]
    failed = known.setup is not None and known.setup.problems
    if known.store_problem or known.files_problem or failed or any(troubles):
        waits.append(TRY_AGAIN)
    return min(waits, default=None)
