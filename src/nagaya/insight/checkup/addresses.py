"""How many addresses pools have left. Pure."""

from __future__ import annotations

from typing import Final

from nagaya.api.ipam import in_cluster_ip_pool as words
from nagaya.insight.checkup.finding import Finding, Subject
from nagaya.insight.picture.member import Member
from nagaya.insight.picture.message import one_line

SUBJECT: Final = Subject("Addresses")
KINDS: Final = ("InClusterIPPool", "GlobalInClusterIPPool")
FEW: Final = 3
"""Addresses with which a rollout may stand still: new machines come before old ones go."""


def check(pool: Member) -> Finding:
    """One pool."""
    where = f"-n {pool.namespace} " if pool.namespace else ""
    named = f"{pool.kind} {pool.namespace}/{pool.name}" if pool.namespace else pool.title
    edit = f"kubectl edit {where}{pool.kind.lower()} {pool.name}   # add a range to spec.addresses"
    ready, disjoint = pool.condition(words.READY), pool.condition(words.DISJOINT)
    free, total = (pool.number("status", "ipAddresses", each) for each in ("free", "total"))
    if free is None or total is None:
        return SUBJECT.unchecked(named, "No controller has counted its addresses yet.")
    if ready is not None and ready.status == "False" and ready.reason != words.DELETING:
        return SUBJECT.problem(named, one_line(ready.message) or "It gives no addresses.", edit)
    if disjoint is not None and disjoint.status == "False":
        return SUBJECT.warning(named, one_line(disjoint.message), edit)
    if not free:
        return SUBJECT.problem(named, f"None of {total} addresses is free.", edit)
    if free <= FEW:
        return SUBJECT.warning(named, f"Only {free} of {total} addresses are free.", edit)
    return SUBJECT.ok(named, f"{free} of {total} addresses are free.")
