"""What stands still on purpose or by mistake: clusters that are paused, and deletions that do not end. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from nagaya.api.cluster.annotations import PAUSED
from nagaya.insight.checkup.finding import Finding, Subject
from nagaya.insight.picture.member import Member
from nagaya.insight.picture.message import one_line

LONG: Final = timedelta(minutes=10)
"""A deletion that takes longer is worth a word: hosts are slow, drains wait for pods."""
TOO_LONG: Final = timedelta(hours=1)


def paused(subject: Subject, cluster: Member) -> Finding | None:
    """That a Cluster is paused: nothing happens to it until somebody lets it go on."""
    where = f"-n {cluster.namespace} cluster {cluster.name}"
    if cluster.object.at("spec", "paused") is True:
        fix = f'kubectl patch {where} --type merge -p \'{{"spec":{{"paused":false}}}}\''
        return subject.warning("paused", "spec.paused is true: the controllers leave it and its objects alone.", fix)
    if PAUSED in cluster.metadata.annotations:
        fix = f"kubectl annotate {where} {PAUSED}-"
        return subject.warning("paused", f"It has the annotation {PAUSED}: the controllers leave it alone.", fix)
    return None


def stuck(members: Iterable[Member], now: datetime) -> Iterator[Finding]:
    """Deletions that do not end: which finalizer holds the object, and what its controller says."""
    for each in members:
        since = each.metadata.deletion_timestamp
        if since is None or now - since < LONG:
            continue
        subject = Subject(f"{each.kind} {each.namespace}/{each.name}" if each.namespace else each.title)
        told = each.condition("Deleting") or each.condition("Ready")
        said = one_line(told.message).rstrip(".") if told is not None and told.message else ""
        held = ", ".join(each.metadata.finalizers) or "no finalizer"
        minutes = int((now - since).total_seconds() // 60)
        because = f" Its controller says: {said}." if said else " Its controller says nothing of it."
        evidence = f"It has been going for {minutes} minutes, held by {held}.{because}"
        where = f" -n {each.namespace}" if each.namespace else ""
        look = (
            f"kubectl get{where} {each.kind.lower()} {each.name} -o yaml   # never remove the finalizer: VMs would stay"
        )
        make = subject.problem if now - since >= TOO_LONG else subject.warning
        yield make("deletion", evidence, look)
