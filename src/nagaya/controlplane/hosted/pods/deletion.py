"""How a control plane of pods ends: its pods, then its data, then it may go, and all other objects go with it.

Data is removed only when nothing writes any more. A data store that is away holds it up, and the control plane says so;
only a user can decide to leave the data behind.
"""

from __future__ import annotations

from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.controlplane.hosted.control_plane.deletion import End
from nagaya.controlplane.hosted.control_plane.names import ABANDON_DATA
from nagaya.controlplane.hosted.data_store.errors import StoreError
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.kubernetes import kinds
from nagaya.controlplane.hosted.pods.seen import Observer
from nagaya.kube.api import Api


async def end(observer: Observer, api: Api, plane: HostedControlPlane) -> End:
    """Go as far as possible. Again: what is done is not there any more."""
    deployments = observer.rt.cache.owned(kinds.DEPLOYMENTS, plane.metadata.uid)
    for each in deployments:
        if not each.metadata.deleting:
            # In the foreground: it is gone when its last pod is.
            await api.delete(kinds.DEPLOYMENTS, each, propagation="Foreground")
    left = observer.rt.cache.owned(kinds.DEPLOYMENTS, plane.metadata.uid)
    if left:
        message = f"Waiting for the pods of Deployments {', '.join(each.metadata.name for each in left)} to end."
        return End(False, Reason.STOPPING_COMPONENTS, message)
    problem = await _remove_data(observer, plane)
    if problem and ABANDON_DATA not in plane.metadata.annotations:
        remedy = f"To let it go and leave its data behind, give it the annotation {ABANDON_DATA}."
        return End(False, Reason.REMOVING_DATA, f"{problem} {remedy}")
    return End(True, Reason.DELETION_COMPLETED, problem)


async def _remove_data(observer: Observer, plane: HostedControlPlane) -> str:
    """Remove all that it has in its data store. Returns what is in the way."""
    used = plane.status.data_store
    if used is None:
        return ""
    store = observer.store_of(plane)
    if store is None:
        return f"Its data cannot be removed: DataStore {used.name} does not exist."
    driver = observer.stores.get(store.metadata.uid)
    if driver is None:
        return f"Its data cannot be removed: DataStore {used.name} has not been reached yet."
    try:
        await driver.deprovision(Tenant(plane.metadata.uid))
    except StoreError as error:
        return f"Its data cannot be removed from DataStore {used.name}: {error}"
    return ""
