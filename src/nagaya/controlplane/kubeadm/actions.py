"""What a control plane can do, one class each. A plan is a sequence of these; each says why it is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nagaya.api.bootstrap.kubeadm_config import KubeadmConfig
from nagaya.api.cluster.machine import Machine
from nagaya.api.meta import Condition, OwnerReference
from nagaya.controlplane.kubeadm.hosts import Host
from nagaya.controlplane.kubeadm.tenant_seen import MemberSeen
from nagaya.kube.tenant_secrets import TenantSecret


@dataclass(frozen=True, slots=True)
class Claim:
    """Hold the control plane until its machines are gone."""

    why: str


@dataclass(frozen=True, slots=True)
class OwnTemplate:
    """Make the infrastructure template go with the cluster."""

    owners: tuple[OwnerReference, ...]
    why: str


@dataclass(frozen=True, slots=True)
class MakeAuthorities:
    """Make the certificate authorities, or put right whose they are."""

    why: str


@dataclass(frozen=True, slots=True)
class MakeKubeconfig:
    """Make the kubeconfig for administrators, or renew it."""

    why: str


@dataclass(frozen=True, slots=True)
class AdoptSecret:
    """Take a Secret over from the KubeadmConfig that made it."""

    secret: TenantSecret
    owners: tuple[OwnerReference, ...]
    why: str


@dataclass(frozen=True, slots=True)
class AdoptMachine:
    """Become the controller of a machine that nobody manages."""

    machine: Machine
    owners: tuple[OwnerReference, ...]
    why: str


@dataclass(frozen=True, slots=True)
class SyncMachine:
    """Apply what the control plane says to a machine."""

    machine: Machine
    content: Mapping[str, Any]
    why: str


@dataclass(frozen=True, slots=True)
class SyncDeleting:
    """Let a machine that is being deleted follow the declared time limits."""

    machine: Machine
    content: Mapping[str, Any]
    why: str


@dataclass(frozen=True, slots=True)
class SyncHost:
    """Apply labels and annotations to the infrastructure of a machine."""

    host: Host
    wanted: Mapping[str, Mapping[str, str]]
    why: str


@dataclass(frozen=True, slots=True)
class SyncConfig:
    """Apply labels and annotations to the KubeadmConfig of a machine."""

    config: KubeadmConfig
    wanted: Mapping[str, Mapping[str, str]]
    why: str


@dataclass(frozen=True, slots=True)
class TellMachine:
    """Tell on a machine how its part of the control plane is."""

    machine: Machine
    conditions: tuple[Condition, ...]
    why: str


@dataclass(frozen=True, slots=True)
class TellRemediation:
    """Tell on a machine what becomes of its remediation; None: nothing any more."""

    machine: Machine
    condition: Condition | None
    why: str


@dataclass(frozen=True, slots=True)
class Discard:
    """Delete an object of a provider that no machine has."""

    made: Host | KubeadmConfig
    why: str


@dataclass(frozen=True, slots=True)
class RememberRemediation:
    """Note on the control plane that a replacement for a machine is to be made; None: that it is no longer."""

    record: str | None
    why: str


@dataclass(frozen=True, slots=True)
class CreateMachine:
    """Make a machine with its objects."""

    failure_domain: str
    join: bool
    """Whether it joins; else it starts the cluster."""
    why: str


@dataclass(frozen=True, slots=True)
class DeleteMachine:
    """Delete a machine. Its etcd member goes later, once its Node is drained."""

    machine: Machine
    why: str
    failure: str = "FailedScaleDown"
    """The reason of the event that tells if it cannot be deleted."""


@dataclass(frozen=True, slots=True)
class MoveLeader:
    """Have etcd's leader hand over, before its machine goes."""

    leader: str
    candidates: tuple[str, ...]
    """Names of members, the most reliable first."""
    why: str
    remediated: Machine | None = None
    """The machine to tell it on, if it fails and the move is a part of a remediation."""


@dataclass(frozen=True, slots=True)
class RemoveMember:
    """Take a member out of etcd."""

    member: MemberSeen
    through: tuple[str, ...]
    """Names of Nodes that etcd may be reached through."""
    why: str


@dataclass(frozen=True, slots=True)
class RemoveHook:
    """Let the infrastructure of a machine go that is being deleted."""

    machine: Machine
    why: str


@dataclass(frozen=True, slots=True)
class UpdateKubeadmConfig:
    """Bring what joining machines read in the tenant in line with what is declared."""

    why: str


@dataclass(frozen=True, slots=True)
class UpdateAddons:
    """Bring kube-proxy and CoreDNS in line with what is declared."""

    why: str


@dataclass(frozen=True, slots=True)
class NoteExpiry:
    """Note on a KubeadmConfig when the certificates of its machine end."""

    config: KubeadmConfig
    node: str
    port: int
    why: str


@dataclass(frozen=True, slots=True)
class Warn:
    """Tell of something in an event that a person has to do something about."""

    reason: str
    why: str


@dataclass(frozen=True, slots=True)
class Release:
    """Let the control plane go."""

    why: str


Action = (
    Claim
    | OwnTemplate
    | MakeAuthorities
    | MakeKubeconfig
    | AdoptSecret
    | AdoptMachine
    | SyncMachine
    | SyncDeleting
    | SyncHost
    | SyncConfig
    | TellMachine
    | TellRemediation
    | Discard
    | RememberRemediation
    | CreateMachine
    | DeleteMachine
    | MoveLeader
    | RemoveMember
    | RemoveHook
    | UpdateKubeadmConfig
    | UpdateAddons
    | NoteExpiry
    | Warn
    | Release
)
