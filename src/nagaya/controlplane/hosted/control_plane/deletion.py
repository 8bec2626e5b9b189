"""How a control plane ends: its processes, then its data, then its files, then it may go.

Data is removed only when nothing writes any more, and files only when they are not needed for that. A data store that
is away holds it up, and the control plane says so; only a user can decide to leave the data behind.
"""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.api.controlplane.data_store import DataStore
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.controlplane.hosted.control_plane.names import ABANDON_DATA
from nagaya.controlplane.hosted.control_plane.seen import Observer
from nagaya.controlplane.hosted.data_store.errors import StoreError
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.data_store_controller.stores import Stores
from nagaya.supervision.errors import SupervisionError


@dataclass(frozen=True, slots=True)
class End:
    """How far it is."""

    done: bool
    reason: Reason
    message: str


async def end(observer: Observer, plane: HostedControlPlane) -> End:
    """Go as far as possible. Again: what is done is not there any more."""
    uid = plane.tenant_id
    try:
        await observer.host.remove(uid)
    except SupervisionError as error:
        return End(False, Reason.STOPPING_COMPONENTS, str(error))
    waits, left = await remove_data(plane, observer.store_of(plane), observer.stores)
    if waits is not None:
        return waits
    try:
        await observer.host.remove_files(uid)
    except OSError as error:
        return End(False, Reason.REMOVING_DATA, f"{error.filename}: {error.strerror or error}.")
    return End(True, Reason.DELETION_COMPLETED, left)


async def remove_data(plane: HostedControlPlane, store: DataStore | None, stores: Stores) -> tuple[End | None, str]:
    """Remove all that a control plane has in its data store. Returns why it has to wait, if it has to, and else what is
    left behind because its user said so."""
    problem = await _deprovisioned(plane, store, stores)
    if problem and ABANDON_DATA not in plane.metadata.annotations:
        remedy = f"To let it go and leave its data behind, give it the annotation {ABANDON_DATA}."
        return End(False, Reason.REMOVING_DATA, f"{problem} {remedy}"), ""
    return None, problem


async def _deprovisioned(plane: HostedControlPlane, store: DataStore | None, stores: Stores) -> str:
    name = plane.store_name
    if not name:
        return ""
    if store is None:
        return f"Its data cannot be removed: DataStore {name} does not exist."
    driver = stores.get(store.metadata.uid)
    if driver is None:
        return f"Its data cannot be removed: DataStore {name} has not been reached yet."
    try:
        await driver.deprovision(Tenant(plane.tenant_id))
    except StoreError as error:
        return f"Its data cannot be removed from DataStore {name}: {error}"
    return ""
