"""The programs of a tenant as its Deployments tell of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.api.cluster.status_version import StatusVersion
from nagaya.api.controlplane.hosted_arguments import (
    KINE,
    KONNECTIVITY_SERVER,
    KUBE_APISERVER,
    KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
)
from nagaya.api.controlplane.hosted_status import RUNNING, STARTING, STOPPED, ComponentStatus
from nagaya.controlplane.hosted.data_store.tenant_store import KineTenantStore
from nagaya.controlplane.hosted.kubernetes.rollout import DeploymentSeen
from nagaya.controlplane.hosted.pods.seen import Seen

_OF_KUBERNETES: Final = (KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER)


def components(seen: Seen) -> tuple[ComponentStatus, ...]:
    """Every program, by name. Programs of one pod are ready together."""
    before = {each.name: each.version for each in seen.plane.status.components}
    found = []
    for deployment, programs in (
        (seen.api_servers, (*_beside_api_servers(seen),)),
        (seen.controllers, (KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER)),
    ):
        if deployment is not None:
            found += [_component(name, deployment, before.get(name, ""), seen.pods) for name in programs]
    return tuple(sorted(found, key=lambda each: each.name))


def versions(seen: Seen) -> tuple[StatusVersion, ...]:
    """What API servers run: those that are not replaced yet have the version of before."""
    servers, present = seen.api_servers, seen.plane.status.versions
    if servers is None or not servers.total:
        return ()
    if present and not servers.current:
        return present  # nothing has been told of the last change
    new, old = _tag(servers), servers.total - servers.updated
    before = next((each.version for each in present if each.version != new), "")
    found = [StatusVersion(version=before, replicas=old)] if old > 0 and before else []
    if servers.updated or not found:
        found.append(StatusVersion(version=new, replicas=servers.updated or servers.total))
    return tuple(found)


def is_rolling(deployment: DeploymentSeen) -> bool:
    """Whether there are pods, or may be, that are not as they shall be."""
    return deployment.total > (deployment.updated if deployment.current else 0)


def _beside_api_servers(seen: Seen) -> Iterator[str]:
    yield KUBE_APISERVER
    if isinstance(seen.known.store, KineTenantStore):
        yield KINE
    if seen.tunnelled:
        yield KONNECTIVITY_SERVER


def _component(name: str, deployment: DeploymentSeen, before: str, pods: int) -> ComponentStatus:
    if not deployment.replicas and not deployment.total and not pods:
        state = STOPPED
    elif deployment.available >= deployment.replicas and deployment.replicas:
        state = RUNNING
    else:
        state = STARTING
    message = ""
    if state == STARTING:
        message = f"{deployment.available} of {deployment.replicas} pods are available."
        if not deployment.replicas:
            message = f"{pods} pods of the control plane are still ending."
    return ComponentStatus(
        name=name,
        state=state,
        version=_oldest(deployment, before) if name in _OF_KUBERNETES else "",
        replicas=deployment.total,
        ready_replicas=deployment.available,
        message=message,
    )


def _oldest(deployment: DeploymentSeen, before: str) -> str:
    """The lowest version that a pod has; `before` is what was told of it last."""
    return before or _tag(deployment) if is_rolling(deployment) else _tag(deployment)


def _tag(deployment: DeploymentSeen) -> str:
    """A version from the label of pods, where a plus sign cannot stand."""
    return deployment.version.replace("_", "+")
