"""A Cluster and its machines as one value that a rollout is played with.

Only what planners look at is here. It changes as the play goes on: it is the one thing in this room that does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from nagaya.api.bootstrap.kubeadm_config import KubeadmConfig
from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.machine_set import MachineSet
from nagaya.api.cluster.machine_status import NodeReference
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.template import SUFFIX
from nagaya.api.controlplane.kubeadm_control_plane import KubeadmControlPlane
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.clusters.machine_health import unhealthy
from nagaya.insight.foresight.move import Move
from nagaya.kube.conditions import condition, set_condition

STEP: Final = timedelta(seconds=30)
"""How much time passes between two looks."""
UP: Final = (
    MachineCondition.BOOTSTRAP_CONFIG_READY,
    MachineCondition.INFRASTRUCTURE_READY,
    MachineCondition.NODE_READY,
    MachineCondition.NODE_HEALTHY,
    MachineCondition.READY,
    MachineCondition.AVAILABLE,
)
"""What holds of a machine that has come up."""


@dataclass(frozen=True, slots=True)
class Template:
    """A template of a provider, with the kind that is made from it."""

    reference: ContractReference
    kind: Kind[Untyped] | None
    """None if nobody serves it."""
    made: Kind[Untyped] | None
    object: Untyped | None
    contract: str = "v1beta2"

    @property
    def problem(self) -> str:
        """Why it cannot be used; empty if it can, or if there is just none."""
        if self.kind is not None and self.made is not None:
            return ""
        kind = self.reference.kind if self.kind is None else self.reference.kind.removesuffix(SUFFIX)
        return f"Nobody serves the kind {kind} of {self.reference.api_group}."


@dataclass(slots=True)
class Fleet:
    """What is played with."""

    cluster: Cluster
    now: datetime
    deployments: dict[str, MachineDeployment] = field(default_factory=dict)
    sets: dict[str, MachineSet] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    kubeadm: KubeadmControlPlane | None = None
    plane: Untyped | None = None
    """The control plane object, whatever its kind."""
    configs: dict[str, KubeadmConfig] = field(default_factory=dict)
    hosts: dict[str, Untyped] = field(default_factory=dict)
    """Infrastructure of machines, by the machines' names, also of those that are gone."""
    known: dict[str, Machine] = field(default_factory=dict)
    """Machines that were there at some time, as they came."""
    templates: Mapping[tuple[str, str, str], Template] = field(default_factory=dict)
    """By group, kind and name."""
    moves: list[Move] = field(default_factory=list)
    made: int = 0
    blocked: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Why machines are not made that should be, by whom."""

    never: frozenset[str] = frozenset()
    """Machines that will not come up: no host can have them, or no address is left."""

    def copy(self, never: Iterable[str] = ()) -> Fleet:
        """The same fleet to play with, of which some machines never come up."""
        return replace(
            self,
            deployments=dict(self.deployments),
            sets=dict(self.sets),
            machines=dict(self.machines),
            configs=dict(self.configs),
            hosts=dict(self.hosts),
            known=dict(self.known),
            moves=list(self.moves),
            blocked=dict(self.blocked),
            never=frozenset(never),
        )

    def template(self, reference: ContractReference) -> Template:
        """The template that a reference means."""
        found = self.templates.get((reference.api_group, reference.kind, reference.name))
        return found or Template(reference, None, None, None)

    def of_set(self, machine_set: MachineSet) -> list[Machine]:
        """The machines that a set controls, by name."""
        return self._controlled(machine_set.metadata.uid)

    def of_plane(self) -> list[Machine]:
        """The machines that the kubeadm control plane controls, by name."""
        return [] if self.kubeadm is None else self._controlled(self.kubeadm.metadata.uid)

    def _controlled(self, uid: str) -> list[Machine]:
        owned = (
            each
            for each in self.machines.values()
            if (owner := each.metadata.controller) is not None and owner.uid == uid
        )
        return sorted(owned, key=lambda each: each.metadata.name)

    def add(self, content: Mapping[str, Any], owner: str, why: str) -> Machine:
        """A machine is made."""
        name = content["metadata"]["name"]
        metadata = {**content["metadata"], "uid": f"future-{name}", "creationTimestamp": _date(self.now)}
        machine = MACHINES.convert({**content, "metadata": metadata})
        self.machines[name] = self.known[name] = machine
        self.moves.append(Move(True, name, owner, machine.spec.version, why))
        return machine

    def remove(self, machine: Machine, owner: str, why: str) -> None:
        """Somebody asks for a machine's deletion."""
        metadata = msgspec.structs.replace(machine.metadata, deletion_timestamp=self.now)
        self.machines[machine.metadata.name] = msgspec.structs.replace(machine, metadata=metadata)
        self.moves.append(Move(False, machine.metadata.name, owner, machine.spec.version, why))

    def forget(self, name: str) -> None:
        """A machine is gone, with all that belongs to it."""
        self.machines.pop(name, None)
        self.configs.pop(name, None)

    def name(self, stem: str) -> str:
        """A name for a machine that is yet to come. Its real one will end at random."""
        self.made += 1
        return f"{stem}-new{self.made}"

    def expected(self, machine: Machine) -> bool:
        """Whether a machine that is not up will be: nobody has given it up, and nothing is in its way."""
        if machine.status.node_ref is not None or machine.metadata.deleting or machine.metadata.name in self.never:
            return False
        return not unhealthy(machine)

    def comes_up(self, machine: Machine) -> None:
        """A machine becomes a Node that works."""
        name = machine.metadata.name
        status = msgspec.structs.replace(machine.status, node_ref=machine.status.node_ref or NodeReference(name=name))
        spec = machine.spec
        if not spec.provider_id:
            spec = msgspec.structs.replace(spec, provider_id=f"future:///{name}")
        self.machines[name] = msgspec.structs.replace(machine, spec=spec, status=status)
        self.says(name, *UP)

    def says(self, name: str, *types: str, holds: bool = True, reason: str = "") -> None:
        """Conditions of a machine turn."""
        machine = self.machines[name]
        conditions = machine.status.conditions
        for each in types:
            said = condition(each, holds, reason or str(each))
            conditions = set_condition(conditions, said, now=self.now, generation=machine.metadata.generation)
        status = msgspec.structs.replace(machine.status, conditions=conditions)
        self.machines[name] = msgspec.structs.replace(machine, status=status)


def by_name(objects: Iterable[Any]) -> dict[str, Any]:
    """Objects by their names, in their order."""
    return {each.metadata.name: each for each in sorted(objects, key=lambda each: str(each.metadata.name))}


def _date(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
