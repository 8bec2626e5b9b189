"""Pods and nodes as the simulated components see them: small values, with the indexes they ask for.

The view is always as new as the store: it reads the store's log up to the end before it answers. So a component that
has just written sees what it wrote, and none of them needs to remember what it has done until an event confirms it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec

from nagaya.apiserver.meta import quantity
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.storage import Compacted, Event, Record, Store, Watch

RESOURCES: Final = ("cpu", "memory")  # what the scheduler counts, besides the pods themselves

Amounts = tuple[int, ...]
"""Thousandths, in the order of RESOURCES."""


Seen = TypeVar("Seen")


class Owner(msgspec.Struct, frozen=True, gc=False):
    """The controller of an object."""

    kind: str
    name: str
    uid: str


class PodSeen(msgspec.Struct, frozen=True, gc=False):
    """What matters of a pod."""

    key: str
    uid: str
    node: str
    owner: Owner | None
    labels: Mapping[str, str]
    phase: str
    ready: bool
    deleting: bool
    created: str
    requests: Amounts
    claims: tuple[str, ...]
    pinned: str  # the only node that a DaemonSet's pod may go to

    @property
    def namespace(self) -> str:
        """Where the pod is."""
        return self.key.partition("/")[0]

    @property
    def name(self) -> str:
        """Its name there."""
        return self.key.partition("/")[2]

    @property
    def ended(self) -> bool:
        """Whether it has done its work, or failed to."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def active(self) -> bool:
        """Whether it counts as a replica."""
        return not self.deleting and not self.ended


class NodeSeen(msgspec.Struct, frozen=True, gc=False):
    """What matters of a node."""

    name: str
    uid: str
    labels: Mapping[str, str]
    taints: tuple[JsonObject, ...]
    unschedulable: bool
    ready: str  # "True", "False", "Unknown", or nothing at all
    conditions: tuple[tuple[str, str], ...]  # type and status
    allocatable: Amounts
    most_pods: int
    volumes: frozenset[str]  # attached, by their unique names


def pod_seen(record: Record) -> PodSeen:
    """The pod in a record."""
    pod = record.object()
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    return PodSeen(
        record.key,
        metadata["uid"],
        spec.get("nodeName") or "",
        owner_of(metadata),
        record.labels,
        status.get("phase") or "Pending",
        condition_of(status, "Ready") == "True",
        bool(metadata.get("deletionTimestamp")),
        metadata["creationTimestamp"],
        _requests(spec),
        tuple(_claims(spec)),
        _pinned(spec),
    )


def node_seen(record: Record) -> NodeSeen:
    """The node in a record."""
    node = record.object()
    spec, status = node.get("spec") or {}, node.get("status") or {}
    allocatable = status.get("allocatable") or {}
    conditions = status.get("conditions") or ()
    return NodeSeen(
        record.key,
        node["metadata"]["uid"],
        record.labels,
        tuple(spec.get("taints") or ()),
        bool(spec.get("unschedulable")),
        condition_of(status, "Ready"),
        tuple((each["type"], each["status"]) for each in conditions),
        tuple(_amount(allocatable, name) for name in RESOURCES),
        _amount(allocatable, "pods") // 1000,
        frozenset(each["name"] for each in status.get("volumesAttached") or ()),
    )


def owner_of(metadata: JsonObject) -> Owner | None:
    """The controller in an object's owner references."""
    for each in metadata.get("ownerReferences") or ():
        if each.get("controller"):
            return Owner(each["kind"], each["name"], each["uid"])
    return None


def condition_of(status: JsonObject, kind: str) -> str:
    """The status of a condition, or nothing."""
    return next((str(each["status"]) for each in status.get("conditions") or () if each.get("type") == kind), "")


def _amount(amounts: Mapping[str, Any], name: str) -> int:
    given = amounts.get(name)
    return 0 if given is None else quantity.parse(str(given)).milli_value


def _requests(spec: JsonObject) -> Amounts:
    """The sum over the containers; init containers run before them and count by the largest."""

    def of(containers: Collection[JsonObject], name: str) -> list[int]:
        return [_amount((each.get("resources") or {}).get("requests") or {}, name) for each in containers]

    total = []
    for name in RESOURCES:
        running = sum(of(spec["containers"], name))
        total.append(max([running, *of(spec.get("initContainers") or (), name)]))
    return tuple(total)


def _claims(spec: JsonObject) -> list[str]:
    sources = (volume.get("persistentVolumeClaim") for volume in spec.get("volumes") or ())
    return [source["claimName"] for source in sources if source]


def _pinned(spec: JsonObject) -> str:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == "metadata.name" and field["operator"] == "In":
                return str(field["values"][0])
    return ""


@dataclass(frozen=True, slots=True)
class Change(Generic[Seen]):
    """What an event changed."""

    event: Event
    before: Seen | None
    after: Seen | None

    @property
    def matters(self) -> bool:
        """Whether it changed anything that is seen at all."""
        return self.before != self.after


class View:
    """The pods and nodes of one server."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pods: dict[str, PodSeen] = {}
        self._on: dict[str, dict[str, PodSeen]] = {}  # by node, then key
        self._of: dict[str, dict[str, PodSeen]] = {}  # by the owner's uid, then key
        self._nodes: dict[str, NodeSeen] = {}
        self._last_pod: Change[PodSeen] | None = None
        self._last_node: Change[NodeSeen] | None = None
        self._pod_changes: Watch
        self._node_changes: Watch
        self._look_at_all()

    def _look_at_all(self) -> None:
        for table in (self._pods, self._on, self._of, self._nodes):
            table.clear()
        self._pod_changes = self._store.watch("pods", self._store.revision)
        self._node_changes = self._store.watch("nodes", self._store.revision)
        for record in self._store.list("pods").records:
            self._note_pod(pod_seen(record))
        for record in self._store.list("nodes").records:
            self._nodes[record.key] = node_seen(record)

    def _catch_up(self) -> None:
        try:
            while events := self._pod_changes.poll():
                for event in events:
                    self._drop_pod(event.key)
                    if event.record is not None:
                        self._note_pod(pod_seen(event.record))
            while events := self._node_changes.poll():
                for event in events:
                    if event.record is None:
                        self._nodes.pop(event.key, None)
                    else:
                        self._nodes[event.key] = node_seen(event.record)
        except Compacted:
            self._look_at_all()

    def _note_pod(self, pod: PodSeen) -> None:
        self._pods[pod.key] = pod
        if pod.node:
            self._on.setdefault(pod.node, {})[pod.key] = pod
        if pod.owner is not None:
            self._of.setdefault(pod.owner.uid, {})[pod.key] = pod

    def _drop_pod(self, key: str) -> None:
        pod = self._pods.pop(key, None)
        if pod is None:
            return
        for index, place in ((self._on, pod.node), (self._of, pod.owner.uid if pod.owner else "")):
            if place in index:
                index[place].pop(key, None)
                if not index[place]:
                    del index[place]

    def pod_change(self, event: Event) -> Change[PodSeen]:
        """What an event of the pods' table changed. Taken apart once, for everyone who is told of it in turn."""
        if self._last_pod is None or self._last_pod.event is not event:
            before, after = (pod_seen(each) if each else None for each in (event.previous, event.record))
            self._last_pod = Change(event, before, after)
        return self._last_pod

    def node_change(self, event: Event) -> Change[NodeSeen]:
        """What an event of the nodes' table changed."""
        if self._last_node is None or self._last_node.event is not event:
            before, after = (node_seen(each) if each else None for each in (event.previous, event.record))
            self._last_node = Change(event, before, after)
        return self._last_node

    def pods(self) -> Collection[PodSeen]:
        """All of them."""
        self._catch_up()
        return self._pods.values()

    def pod(self, key: str) -> PodSeen | None:
        """One of them, by namespace/name."""
        self._catch_up()
        return self._pods.get(key)

    def pods_on(self, node: str) -> Collection[PodSeen]:
        """Those bound to a node."""
        self._catch_up()
        return self._on.get(node, {}).values()

    def occupied_nodes(self) -> Collection[str]:
        """The names of nodes that pods are bound to, whether they exist or not."""
        self._catch_up()
        return self._on.keys()

    def pods_of(self, uid: str) -> Collection[PodSeen]:
        """Those that an object controls."""
        self._catch_up()
        return self._of.get(uid, {}).values()

    def nodes(self) -> Mapping[str, NodeSeen]:
        """All nodes by name."""
        self._catch_up()
        return self._nodes
