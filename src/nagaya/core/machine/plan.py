"""What to do about a machine, decided from what is seen and nothing else.

The three things that a machine consists of are looked at in the order in which they come into being. Each tells how far
it is; what follows for the Machine, for the objects of providers and for the Node is put together here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec

from nagaya.api.cluster import labels
from nagaya.api.cluster.annotations import CERTIFICATES_EXPIRY
from nagaya.api.cluster.machine import FINALIZER
from nagaya.api.cluster.machine_status import NodeInfo, NodeReference
from nagaya.api.contract.provider import Broken
from nagaya.api.kind import Kind
from nagaya.api.meta import OwnerReference
from nagaya.api.untyped import Untyped
from nagaya.clusters.node import Node
from nagaya.core.machine.bootstrap import BootstrapProgress, bootstrap_progress
from nagaya.core.machine.infrastructure import InfrastructureProgress, infrastructure_progress
from nagaya.core.machine.node import node_of, node_problem
from nagaya.core.machine.node_sync import node_change
from nagaya.core.machine.ownership import owners_of_machine, owners_of_provider
from nagaya.core.machine.seen import Seen
from nagaya.kube.recorder import EventType

V = TypeVar("V")

SET_NODE_REF: Final = "SuccessfulSetNodeRef"
SET_INTERRUPTIBLE: Final = "SuccessfulSetInterruptibleNodeLabel"
NODE_LOOKUP_FAILED: Final = "Failed to retrieve Node by ProviderID"


@dataclass(frozen=True, slots=True)
class MachineChange:
    """A merge patch for the Machine, and what it is for."""

    content: Mapping[str, Any]
    locked: bool
    """Whether it holds lists that others write to."""
    sentence: str


@dataclass(frozen=True, slots=True)
class Adoption:
    """An object of a provider that the Machine takes over."""

    kind: Kind[Untyped]
    object: Untyped
    owners: tuple[OwnerReference, ...]
    labels: Mapping[str, str]
    sentence: str


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A merge patch for the Node."""

    node: Node
    content: Mapping[str, Any]
    locked: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class Event:
    """What is told to whoever looks at the Machine."""

    type: EventType
    reason: str
    note: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and what will then be true."""

    bootstrap: BootstrapProgress
    infrastructure: InfrastructureProgress
    node_ref: NodeReference | None
    node_info: NodeInfo | None
    certificates_expiry: datetime | None
    machine: MachineChange | None = None
    adoptions: tuple[Adoption, ...] = ()
    node: NodeChange | None = None
    events: tuple[Event, ...] = ()
    problems: tuple[str, ...] = ()
    """What keeps the machine from being what it is to be: a sentence each."""

    @property
    def waits(self) -> tuple[str, ...]:
        """What is news or waited for, a sentence each."""
        return tuple(each for each in (self.bootstrap.sentence, self.infrastructure.sentence) if each)


def plan(seen: Seen) -> Plan:
    """Bootstrap data, then the host, then the Node."""
    bootstrap = bootstrap_progress(seen)
    infrastructure = infrastructure_progress(seen)
    problems = [bootstrap.problem, infrastructure.problem]
    status = seen.machine.status
    provider_id = infrastructure.provider_id
    problems.append(node_problem(seen, provider_id, status.node_ref))
    node = node_of(seen, provider_id)
    expiry = _read(lambda: certificates_expiry(seen), status.certificates_expiry_date, problems)
    interruptible = _read(lambda: _is_interruptible(seen), False, problems)
    node_ref = status.node_ref
    if node_ref is None and node is not None:
        node_ref = NodeReference(name=node.metadata.name)
    return Plan(
        bootstrap=bootstrap,
        infrastructure=infrastructure,
        node_ref=node_ref,
        node_info=status.node_info if node is None else node.status.info,
        certificates_expiry=expiry,
        machine=_machine_change(seen, bootstrap, infrastructure),
        adoptions=_adoptions(seen),
        node=None if node is None else _node_change(seen, node, interruptible),
        events=_events(seen, node, interruptible, provider_id),
        problems=tuple(each for each in problems if each),
    )


def _read(look: Callable[[], V], known: V, problems: list[str]) -> V:
    """What somebody's object says, or what was known before if it cannot be read."""
    try:
        return look()
    except Broken as error:
        problems.append(str(error))
        return known


def certificates_expiry(seen: Seen) -> datetime | None:
    """When the certificates of a control plane machine run out, as the Machine or its bootstrap object says.

    Raises Broken if that is no date.
    """
    if not seen.control_plane_machine:
        return seen.machine.status.certificates_expiry_date
    told = [(f"Machine {seen.machine.metadata.name}", seen.machine.metadata)]
    if seen.bootstrap is not None and seen.bootstrap.provider is not None:
        told.append((seen.bootstrap.provider.title, seen.bootstrap.provider.metadata))
    for title, metadata in told:
        text = metadata.annotations.get(CERTIFICATES_EXPIRY)
        if text is not None:
            return _date(title, text)
    return None


def _date(title: str, text: str) -> datetime:
    try:
        date = msgspec.convert(text, datetime)
    except msgspec.ValidationError:
        date = None
    if date is None or date.tzinfo is None:
        raise Broken(f"{title}: annotation {CERTIFICATES_EXPIRY} is not a date like 2030-01-31T00:00:00Z.")
    return date.astimezone(UTC).replace(microsecond=0)


def _machine_change(
    seen: Seen, bootstrap: BootstrapProgress, infrastructure: InfrastructureProgress
) -> MachineChange | None:
    machine = seen.machine
    before, spec = machine.metadata, machine.spec
    metadata: dict[str, Any] = {}
    changes: dict[str, Any] = {}
    sentences: list[str] = []
    locked = False
    if not before.deleting and FINALIZER not in before.finalizers:
        metadata["finalizers"] = [*before.finalizers, FINALIZER]
        sentences.append(f"It gets the finalizer {FINALIZER}.")
        locked = True
    owners = owners_of_machine(machine, seen.cluster)
    if owners != before.owner_references:
        metadata["ownerReferences"] = [*msgspec.to_builtins(owners)]
        sentences.append(f"Nobody else manages it: Cluster {spec.cluster_name} owns it.")
        locked = True
    if before.labels.get(labels.CLUSTER_NAME) != spec.cluster_name:
        metadata["labels"] = {labels.CLUSTER_NAME: spec.cluster_name}
        sentences.append("It gets the label with the name of its cluster.")
    if bootstrap.data_secret_name != spec.bootstrap.data_secret_name:
        changes["bootstrap"] = {"dataSecretName": bootstrap.data_secret_name}
        sentences.append(bootstrap.sentence)
    if infrastructure.provider_id != spec.provider_id:
        changes["providerID"] = infrastructure.provider_id
        sentences.append(infrastructure.sentence or f"Its providerID is {infrastructure.provider_id} now.")
    if infrastructure.wanted_failure_domain != spec.failure_domain:
        changes["failureDomain"] = infrastructure.wanted_failure_domain or None
        sentences.append(f"The infrastructure chose the failure domain {infrastructure.wanted_failure_domain}.")
    parts = {"metadata": metadata, "spec": changes}
    content = {name: part for name, part in parts.items() if part}
    return MachineChange(content, locked, " ".join(sentences)) if content else None


def _adoptions(seen: Seen) -> tuple[Adoption, ...]:
    found: list[Adoption] = []
    machine = seen.machine
    wanted = {labels.CLUSTER_NAME: machine.spec.cluster_name}
    for referenced in (seen.bootstrap, seen.infrastructure):
        if referenced is None or referenced.provider is None or referenced.kind is None:
            continue
        metadata = referenced.provider.metadata
        owners = owners_of_provider(machine, seen.cluster, metadata.owner_references)
        missing = {name: value for name, value in wanted.items() if metadata.labels.get(name) != value}
        if missing or owners != metadata.owner_references:
            sentence = f"It takes over {referenced.provider.title}."
            found.append(Adoption(referenced.kind, referenced.provider.object, owners, missing, sentence))
    return tuple(found)


def _node_change(seen: Seen, node: Node, interruptible: bool) -> NodeChange | None:
    content = node_change(seen, node, interruptible)
    if content is None:
        return None
    parts = [*content.get("metadata", {}), *content.get("spec", {})]
    sentence = f"Node {node.metadata.name} gets the {' and '.join(sorted(parts))} of its Machine."
    return NodeChange(node, content, "spec" in content, sentence)


def _is_interruptible(seen: Seen) -> bool:
    host = seen.infrastructure.provider
    return host is not None and host.interruptible


def _events(seen: Seen, node: Node | None, interruptible: bool, provider_id: str) -> tuple[Event, ...]:
    found: list[Event] = []
    if node is not None:
        name = node.metadata.name
        if seen.machine.status.node_ref is None:
            found.append(Event("Normal", SET_NODE_REF, name))
        if interruptible and labels.INTERRUPTIBLE not in node.metadata.labels:
            found.append(Event("Normal", SET_INTERRUPTIBLE, name))
    elif seen.nodes is not None and len(seen.nodes) > 1:
        found.append(Event("Warning", NODE_LOOKUP_FAILED, node_problem(seen, provider_id, None)))
    return tuple(found)
