"""Whether a machine is what its control plane declares, and if not, why: the reasons for a rollout.

Version, KubeadmConfig and infrastructure template are compared. All else about a machine is either changed in place,
decided by others, or of no consequence once the machine runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from nagaya.api.bootstrap.kubeadm_config import KubeadmConfig
from nagaya.api.cluster.annotations import CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME
from nagaya.api.cluster.machine import Machine
from nagaya.api.controlplane.kubeadm_control_plane import KubeadmControlPlane
from nagaya.api.untyped import Untyped
from nagaya.controlplane.kubeadm.kubeadm_config_diff import outdated_fields


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with a machine; nothing, if both are empty."""

    details: tuple[str, ...] = ()
    """For the log."""
    messages: tuple[str, ...] = ()
    """For the condition UpToDate. The condition RollingOut takes its lines from there."""

    @property
    def up_to_date(self) -> bool:
        """Whether the machine is as declared."""
        return not self.messages


def verdict(
    kcp: KubeadmControlPlane,
    machine: Machine,
    config: KubeadmConfig | None,
    host: Untyped | None,
    now: datetime,
) -> Verdict:
    """Judge a machine. Objects of providers that are not there are not held against it: they may be unreadable."""
    found: list[tuple[str, str]] = []
    if _expires_soon(kcp, machine, now):
        found.append(("certificates will expire soon, rolloutBefore expired", "Certificates will expire soon"))
    if _was_made_before_rollout(kcp, machine, now):
        found.append(("rolloutAfter expired", "KubeadmControlPlane spec.rolloutAfter expired"))
    version, wanted = machine.spec.version, kcp.spec.version
    if version != wanted:
        detail = f'Machine version "{version}" is not equal to KCP version "{wanted}"'
        found.append((detail, f"Version {version}, {wanted} required"))
    if (
        config is not None
        and machine.spec.bootstrap.config_ref is not None
        and (fields := outdated_fields(kcp, config))
    ):
        found.append((f"Machine KubeadmConfig is outdated: {', '.join(fields)}", "KubeadmConfig is not up-to-date"))
    if host is not None and (rotated := _rotated(kcp, host)):
        found.append((rotated, f"{machine.spec.infrastructure_ref.kind} is not up-to-date"))
    return Verdict(tuple(detail for detail, _ in found), tuple(message for _, message in found))


def next_verdict(kcp: KubeadmControlPlane, machine: Machine, now: datetime) -> datetime | None:
    """When time alone will make a machine outdated."""
    moments = []
    days, expiry = kcp.spec.rollout.before.certificates_expiry_days, machine.status.certificates_expiry_date
    if days and expiry is not None:
        moments.append(expiry - timedelta(days=days))
    after, created = kcp.spec.rollout.after, machine.metadata.creation_timestamp
    if after is not None and created is not None and created < after:
        moments.append(after)
    return min((each for each in moments if each >= now), default=None)


def _expires_soon(kcp: KubeadmControlPlane, machine: Machine, now: datetime) -> bool:
    days, expiry = kcp.spec.rollout.before.certificates_expiry_days, machine.status.certificates_expiry_date
    return bool(days) and expiry is not None and now + timedelta(days=days) > expiry


def _was_made_before_rollout(kcp: KubeadmControlPlane, machine: Machine, now: datetime) -> bool:
    after, created = kcp.spec.rollout.after, machine.metadata.creation_timestamp
    return after is not None and created is not None and created < after < now


def _rotated(kcp: KubeadmControlPlane, host: Untyped) -> str:
    """How the template changed. Hosts without a note of their template are adopted or old, and left alone."""
    annotations = host.metadata.annotations
    name, kind = annotations.get(CLONED_FROM_NAME), annotations.get(CLONED_FROM_GROUP_KIND)
    reference = kcp.spec.machine_template.spec.infrastructure_ref
    wanted = f"{reference.kind}.{reference.api_group}"
    if name is None or kind is None or (name, kind) == (reference.name, wanted):
        return ""
    return f"Infrastructure template on KCP rotated from {kind} {name} to {wanted} {reference.name}"
