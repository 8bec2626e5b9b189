"""The static pods of a kubeadm control plane, reduced to what their health is judged by.

kubeadm runs four of them on each machine. The mirror of each in the tenant's API is kept without its specification:
thousands of tenants have thousands of them. Whatever a tenant says is taken; a pod with an odd field must not hide
itself.
"""

from __future__ import annotations

from typing import Final, get_args

import msgspec

from nagaya.api.kind import Kind, Resource
from nagaya.api.meta import ObjectMeta
from nagaya.api.model import Model
from nagaya.controlplane.kubeadm.tenant_seen import ContainerSeen, Phase, PodSeen

NAMESPACE: Final = "kube-system"
SELECTOR: Final = "tier=control-plane"
"""The label that kubeadm gives to all of them, and to nothing else."""
_PHASES: Final = {each: each for each in get_args(Phase)}


class _Waiting(Model):
    reason: str = ""


class _Terminated(Model):
    reason: str = ""
    exit_code: int = 0


class _ContainerState(Model):
    waiting: _Waiting | None = None
    terminated: _Terminated | None = None


class _ContainerStatus(Model):
    state: _ContainerState = _ContainerState()
    last_state: _ContainerState = _ContainerState()


class _PodCondition(Model):
    type: str
    status: str = "Unknown"


class _PodStatus(Model):
    phase: str = ""
    conditions: tuple[_PodCondition, ...] = ()
    container_statuses: tuple[_ContainerStatus, ...] = ()


class StaticPod(Resource):
    """A pod with its status alone."""

    status: _PodStatus = _PodStatus()


STATIC_PODS: Final = Kind("", "v1", "Pod", "pods", StaticPod)


def trimmed(pod: StaticPod) -> StaticPod:
    """A pod without what nobody asks for."""
    metadata = pod.metadata
    kept = ObjectMeta(
        name=metadata.name,
        namespace=metadata.namespace,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        deletion_timestamp=metadata.deletion_timestamp,
    )
    return msgspec.structs.replace(pod, metadata=kept)


def pod_seen(pod: StaticPod) -> PodSeen:
    """What a pod says."""
    status = pod.status
    true = {each.type for each in status.conditions if each.status == "True"}
    return PodSeen(
        phase=_PHASES.get(status.phase, "Pending"),
        scheduled="PodScheduled" in true,
        initialized="Initialized" in true,
        ready="Ready" in true,
        containers=tuple(map(_container, status.container_statuses)),
    )


def _container(status: _ContainerStatus) -> ContainerSeen:
    waiting, terminated, before = status.state.waiting, status.state.terminated, status.last_state.terminated
    return ContainerSeen(
        waiting=None if waiting is None else waiting.reason,
        terminated=None if terminated is None else terminated.reason,
        failed_before=before is not None and before.exit_code != 0,
    )
