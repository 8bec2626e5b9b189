"""What a MachineSet can do, one class each. A plan is a sequence of these; each says in a sentence why it is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nagaya.api.cluster.machine import Machine
from nagaya.api.meta import Condition, OwnerReference
from nagaya.core.machine_set.provider_objects import Made, Template


@dataclass(frozen=True, slots=True)
class Claim:
    """Change the set itself: finalizer, owner, and what ties it to its cluster."""

    content: Mapping[str, Any]
    why: str


@dataclass(frozen=True, slots=True)
class OwnTemplate:
    """Make a template go with the cluster."""

    template: Template
    owners: tuple[OwnerReference, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Adopt:
    """Become the controller of a machine."""

    machine: Machine
    owners: tuple[OwnerReference, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Tell on a machine what became of its remediation, or tell nothing any more."""

    machine: Machine
    condition: Condition | None
    why: str


@dataclass(frozen=True, slots=True)
class SyncMachine:
    """Apply what the set says to a machine."""

    machine: Machine
    content: Mapping[str, Any]
    why: str


@dataclass(frozen=True, slots=True)
class SyncDeleting:
    """Let a machine that is being deleted follow the set's time limits."""

    machine: Machine
    content: Mapping[str, Any]
    why: str


@dataclass(frozen=True, slots=True)
class SyncObject:
    """Apply labels and annotations to an object of a provider."""

    made: Made
    wanted: Mapping[str, Mapping[str, str]]
    why: str


@dataclass(frozen=True, slots=True)
class Discard:
    """Delete an object of a provider that no machine has."""

    made: Made
    why: str


@dataclass(frozen=True, slots=True)
class Create:
    """Make machines, each with its objects."""

    count: int
    why: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a machine."""

    machine: Machine
    why: str
    announced: bool = False
    """Whether an event tells of it."""


@dataclass(frozen=True, slots=True)
class Release:
    """Let the set go."""

    why: str


Step = (
    Claim | OwnTemplate | Adopt | Remark | SyncMachine | SyncDeleting | SyncObject | Discard | Create | Delete | Release
)
