"""Whether a cluster is there, still on its way, or asleep: what is wrong with one is how another is meant. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES
from nagaya.insight.checkup.finding import Finding, Subject
from nagaya.insight.picture.member import Member
from nagaya.insight.picture.message import one_line

PATIENCE: Final = timedelta(minutes=15)
"""How long a new cluster may take: images are copied, machines boot, programs are downloaded."""


def comes(cluster: Member, now: datetime) -> bool:
    """Whether it is new, and was never there yet."""
    born = cluster.metadata.creation_timestamp
    return born is not None and now - born < PATIENCE


def asleep(subject: Subject, plane: Member | None) -> Finding | None:
    """What there is to say of a cluster whose control plane is declared to be stopped, its data kept: nobody answers,
    and nobody is to. None of any other."""
    if plane is None or plane.kind != HOSTED_CONTROL_PLANES.kind or plane.number("spec", "replicas") != 0:
        return None
    wake = f"kubectl scale hostedcontrolplane {plane.name} -n {plane.namespace} --replicas 1"
    return subject.ok("available", f"It sleeps, as declared: spec.replicas of {plane.title} is 0 (wake it: {wake}).")


def available(subject: Subject, cluster: Member, now: datetime) -> Finding:
    """What the Cluster says of itself."""
    explain = f"nagaya why cluster/{cluster.name} -n {cluster.namespace}"
    if cluster.metadata.deleting:
        return subject.warning("available", "It is being deleted.", explain)
    condition = cluster.condition("Available")
    if condition is None:
        return subject.unchecked("available", "No controller has said anything of it yet.")
    if condition.status == "True":
        return subject.ok("available", "It is available.")
    told = one_line(condition.message) or condition.reason
    if comes(cluster, now):
        return subject.warning("available", f"It is new, and not available at the moment: {told}", explain)
    return subject.problem("available", f"It is not available: {told}", explain)
