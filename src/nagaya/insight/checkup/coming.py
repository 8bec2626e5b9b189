"""Whether a cluster is there, or still on its way: what is wrong with one is how the other begins. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from nagaya.insight.checkup.finding import Finding, Subject
from nagaya.insight.picture.member import Member

PATIENCE: Final = timedelta(minutes=15)
"""How long a new cluster may take: images are copied, machines boot, programs are downloaded."""


def comes(cluster: Member, now: datetime) -> bool:
    """Whether it is new, and was never there yet."""
    born = cluster.metadata.creation_timestamp
    return born is not None and now - born < PATIENCE


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
    told = " ".join(condition.message.split()) or condition.reason
    if comes(cluster, now):
        return subject.warning("available", f"It is new, and not available at the moment: {told}", explain)
    return subject.problem("available", f"It is not available: {told}", explain)
