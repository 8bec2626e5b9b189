"""Nodes as the core sees them: the part of a tenant's Nodes that machines, drains and health checks depend on.

All that look at the Nodes of a tenant do so through this kind, so that each tenant's Nodes are kept once. Unlike most
models it takes whatever a tenant says: a Node with an odd field must not hide itself. Heartbeats are left out, which is
why a Node that only says "still here" looks unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from nagaya.api.cluster.machine_status import NodeInfo
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model
from nagaya.kube.cache.cache import Cache

BY_PROVIDER_ID: Final = "provider id"
READY: Final = "Ready"
_NO_INFO: Final[Mapping[str, object]] = {}
_EMPTY_INFO: Final[Mapping[str, object]] = dict.fromkeys(
    (
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeletVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    ),
    "",
)


class NodeTaint(Model):
    """A taint as a Node has it. Two with the same key and effect are the same taint."""

    key: str
    value: str = ""
    effect: str = ""
    time_added: datetime | None = None

    @property
    def identity(self) -> tuple[str, str]:
        """What tells taints apart."""
        return self.key, self.effect


class NodeCondition(Model):
    """One aspect of a Node's state."""

    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class AttachedVolume(Model):
    """A volume that is attached to a Node."""

    name: str
    device_path: str = ""


class NodeSpec(Model):
    """What is wanted of a Node."""

    provider_id: str = msgspec.field(default="", name="providerID")
    unschedulable: bool = False
    taints: tuple[NodeTaint, ...] = ()


class NodeStatus(Model):
    """What a Node tells of itself."""

    conditions: tuple[NodeCondition, ...] = ()
    node_info: Mapping[str, object] = _NO_INFO
    volumes_attached: tuple[AttachedVolume, ...] = ()

    @property
    def info(self) -> NodeInfo:
        """What the Node says about its system, with empty texts for what it does not say."""
        return msgspec.convert({**_EMPTY_INFO, **self.node_info}, NodeInfo)


class Node(Resource):
    """A Node of a tenant."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    def condition(self, type: str) -> NodeCondition | None:
        """The condition of a type; the last, should there be several."""
        return next((each for each in reversed(self.status.conditions) if each.type == type), None)

    @property
    def unreachable(self) -> bool:
        """Whether its kubelet has not been heard of for a while: Ready is Unknown."""
        ready = self.condition(READY)
        return ready is not None and ready.status == "Unknown"


NODES: Final = Kind("", "v1", "Node", "nodes", Node, namespaced=False)


def provider_ids(node: Node) -> Iterable[str]:
    """What the index BY_PROVIDER_ID has a Node under."""
    return (node.spec.provider_id,) if node.spec.provider_id else ()


def nodes_of(cache: Cache, provider_id: str) -> tuple[Node, ...]:
    """The Nodes of a tenant with a provider id: one, unless something is wrong."""
    return tuple(cache.by(NODES, BY_PROVIDER_ID, provider_id))
