"""How a control plane of pods ends: its pods, then its data, then it may go, and all other objects go with it.

Data is removed only when nothing writes any more. A data store that is away holds it up, and the control plane says so;
only a user can decide to leave the data behind.
"""

from __future__ import annotations

from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.controlplane.hosted.control_plane.deletion import End, remove_data
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
    waits, abandoned = await remove_data(plane, observer.store_of(plane), observer.stores)
    return waits or End(True, Reason.DELETION_COMPLETED, abandoned)
