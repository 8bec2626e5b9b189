"""Machines that are equal become one line: ten that are ready are one piece of news, and so are ten that wait alike.

Machines that are not ready are equal only if they say the same: clusterctl puts them together by reason, and hides the
one sentence that was looked for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from nagaya.insight.picture.member import Member
from nagaya.insight.tree.branch import Branch, Counts, State

_ASPECTS = ("Available", "Ready", "UpToDate")
Likeness = tuple[object, ...]


def grouped(branches: Sequence[Branch], machines: Sequence[Member]) -> list[Branch]:
    """The branches of machines, in the same order, with one in place of those that are equal."""
    alike: defaultdict[Likeness, list[Branch]] = defaultdict(list)
    for branch, machine in zip(branches, machines, strict=True):
        alike[_likeness(branch, machine)].append(branch)
    return [each[0] if len(each) == 1 else _together(each) for each in alike.values()]


def _likeness(branch: Branch, machine: Member) -> Likeness:
    found = [machine.condition(each) for each in _ASPECTS]
    aspects = tuple((each.status, each.reason) if each is not None else None for each in found)
    message = "" if machine.holds("Ready") or branch.state is None else branch.state.message
    # Names of the machine's own objects are in what it says, without making it another case.
    message = re.sub(rf"(?<![\w-]){re.escape(machine.name)}(?![\w-])", "", message)
    return (branch.deleting is not None, branch.version, branch.simulated, aspects, message, bool(branch.conditions))


def _together(branches: Sequence[Branch]) -> Branch:
    first = branches[0]
    names = tuple(sorted(each.name for each in branches))
    shown = None
    if first.state is not None:
        since: list[datetime] = [each.state.since for each in branches if each.state and each.state.since]
        see = f"See {', '.join(names[:2])}{', ...' if len(names) > 2 else ''}"
        waits = first.state.status != "True" and first.state.message
        message = f"{see}: {first.state.message}" if waits else see
        shown = State(first.state.type, first.state.status, first.state.reason, min(since) if since else None, message)
    counts = Counts(
        available=sum(each.counts.available or 0 for each in branches),
        ready=sum(each.counts.ready or 0 for each in branches),
        up_to_date=sum(each.counts.up_to_date or 0 for each in branches),
    )
    return Branch(
        first.kind,
        first.namespace,
        version=first.version,
        counts=counts,
        state=shown,
        deleting=first.deleting,
        simulated=first.simulated,
        members=names,
    )
