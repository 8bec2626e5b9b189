"""From an object down to every cause that is known of its state. Pure.

An object is asked aspect by aspect: what stands behind it is asked first, and only if nothing there is wrong the object
itself is the cause. Each object is asked once, however many ways lead to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from nagaya.api.meta import Condition
from nagaya.insight.cause import etcd, leaf
from nagaya.insight.cause.aspects import ASPECTS, Aspect
from nagaya.insight.cause.attention import unattended
from nagaya.insight.cause.cause import Cause, Weight
from nagaya.insight.cause.condition import BLOCKED, MIRRORS, others, weight_of, worst
from nagaya.insight.cause.deletion import in_the_way
from nagaya.insight.cause.leads import whom
from nagaya.insight.cause.statements import statement
from nagaya.insight.cause.step import step
from nagaya.insight.cause.surroundings import Surroundings
from nagaya.insight.picture.member import Member

_NOT_SEEN: Final = "InspectionFailed"
"""Why a machine does not know how it is; so it is with every new one, too."""
STARTING: Final = timedelta(minutes=10)
"""How long a new machine has for its Node to be ready, as for MachineHealthChecks that say nothing else."""


def causes(around: Surroundings, member: Member) -> tuple[Cause, ...]:
    """Every cause, in the order in which they were found."""
    cluster = around.cluster
    paused = None if cluster is None or cluster is member else leaf.paused(cluster)
    above = () if paused is None else (paused.below(step(member, "is left alone")),)
    return (*above, *(_with_caution(around, member, cause) for cause in _Walk(around).of(member)))


def _with_caution(around: Surroundings, subject: Member, cause: Cause) -> Cause:
    deepest = around.picture.with_uid(cause.deepest.uid) or subject
    remedy = etcd.with_caution(around, deepest, cause.remedy)
    return cause if remedy == cause.remedy else replace(cause, remedy=remedy)


class _Walk:
    """Asks every object once."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._known: dict[str, tuple[Cause, ...]] = {}

    def of(self, member: Member) -> tuple[Cause, ...]:
        """The causes of an object's state, nothing if it is as it should be."""
        if member.uid not in self._known:
            self._known[member.uid] = ()  # whoever leads back here finds nothing new
            self._known[member.uid] = tuple(self._causes(member))
        return self._known[member.uid]

    def _causes(self, member: Member) -> Iterator[Cause]:
        if (paused := leaf.paused(member)) is not None:
            yield paused
        if (uneven := etcd.uneven(member)) is not None:
            yield uneven
        if (silent := unattended(self._around, member)) is not None:
            yield silent
        if member.metadata.deleting:
            yield from self._deletion(member) if silent is None else ()
        elif silent is not None and not member.conditions:
            yield from leaf.missing(self._around, member)
        else:
            yield from self._state(member)

    def _state(self, member: Member) -> Iterator[Cause]:
        told = list(leaf.missing(self._around, member))
        asked: list[str] = []
        for aspect in ASPECTS.get(member.kind, ()):
            asked += aspect.conditions
            told += self._aspect(member, aspect, tuple(told))
        yield from told
        if not told:
            yield from self._own(member, worst(member, others(member, asked)))
        if member.unreadable:
            yield leaf.unreadable(member)
        elif not member.conditions:
            yield from leaf.by_contract(member)

    def _aspect(self, member: Member, aspect: Aspect, before: Sequence[Cause]) -> Iterator[Cause]:
        """What is wrong with one aspect. `before` are the causes of those that lead to it."""
        below = [each for each in aspect.below(self._around, member) if each is not None]
        bad = worst(member, aspect.conditions)
        found = list(self._through(member, below, bad))
        yield from found
        if bad is None:
            return
        # Machines that are on their way do not explain why others cannot be made.
        known = any(BLOCKED in each.headline for each in before)
        if BLOCKED in bad.message and not known:
            yield from self._own(member, bad)
        elif not found and not before:
            if below and bad.type in MIRRORS:
                yield leaf.repeated(self._around, member, bad, below)
            else:
                yield from self._own(member, bad)

    def _through(self, member: Member, below: Iterable[Member], bad: Condition | None) -> Iterator[Cause]:
        above = statement(member, bad)
        for each in below:
            for cause in self.of(each):
                yield cause.below(above)

    def _own(self, member: Member, bad: Condition | None) -> Iterator[Cause]:
        """The object itself says what is wrong; whom it waits for comes first."""
        if bad is None:
            return
        awaited = list(self._through(member, whom(self._around, member, bad), bad))
        if awaited:
            yield from awaited
            return
        weight = Weight.WORKING if self._starts(member, bad) else weight_of(bad)
        if bad.reason == _NOT_SEEN and self._has_been_seen(member):
            weight = Weight.UNKNOWN
        yield leaf.of_condition(self._around, member, bad, weight)

    def _starts(self, member: Member, bad: Condition) -> bool:
        """Whether a Node that is not ready belongs to a machine that is new: it takes a while."""
        born = member.metadata.creation_timestamp
        return bad.type in ("NodeReady", "NodeHealthy") and born is not None and self._around.now - born < STARTING

    def _has_been_seen(self, machine: Member) -> bool:
        """Whether a machine has had its Node for long: what cannot be looked at there now is not on its way."""
        born = machine.metadata.creation_timestamp
        joined = bool(machine.text("status", "nodeRef", "name"))
        return joined and born is not None and self._around.now - born >= STARTING

    def _deletion(self, member: Member) -> Iterator[Cause]:
        above = step(member, "is being deleted", since=member.metadata.deletion_timestamp)
        found = [
            cause.below(above)
            for each in in_the_way(self._around, member)
            for cause in (self.of(each) if each.metadata.deleting else (leaf.first_to_go(each),))
        ]
        yield from found or [leaf.held(self._around, member)]
