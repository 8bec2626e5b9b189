"""From a picture to a story: every line that its objects tell, in order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from nagaya.insight.picture.event import Event
from nagaya.insight.picture.member import Member
from nagaya.insight.picture.picture import Picture
from nagaya.insight.picture.references import references
from nagaya.insight.story.line import Line, Source
from nagaya.insight.story.sentences import sentence, step
from nagaya.insight.story.tasks import Task, tasks, tells_of_task
from nagaya.insight.story.told import Told
from nagaya.insight.tree.branch import NEGATIVE

BIRTH: Final = timedelta(seconds=5)
"""Conditions that say at an object's birth that nothing is the matter are no news."""
_OF_NOTHING: Final = "NoReplicas"
"""Why all machines are ready, or up to date, when there are none."""
_NOTHING: Final[Mapping[str, Told]] = {}


def story(
    picture: Picture,
    *,
    machine: str = "",
    since: datetime | None = None,
    told: Mapping[str, Told] = _NOTHING,
) -> tuple[Line, ...]:
    """The story of a Cluster, or of one of its Machines. `told`: what Proxmox VE says of tasks, by their UPID."""
    members = _of_machine(picture, machine) if machine else picture.members
    uids = frozenset(each.uid for each in members)
    lines = [line for each in members for line in _member(each)]
    told_by_events = (each for each in picture.events if not tells_of_task(each))
    lines += [_event(each) for each in told_by_events if not machine or each.uid in uids]
    lines += [_task(each, told.get(each.upid.text)) for each in tasks(picture) if not machine or each.uid in uids]
    wanted = (each for each in lines if since is None or each.at >= since)
    return tuple(sorted(wanted, key=lambda each: (each.at, each.source, each.step, each.kind, each.name, each.what)))


def _of_machine(picture: Picture, name: str) -> tuple[Member, ...]:
    """A Machine, what it names, and what those own."""
    machine = picture.named("Machine", name)
    found: dict[str, Member] = {}
    waiting = [] if machine is None else [machine]
    while waiting:
        each = waiting.pop()
        if each.uid in found:
            continue
        found[each.uid] = each
        waiting += picture.owned(each)
        waiting += _reserved(picture.of_kind("ProxmoxVirtualMachine"), each)
        if each is machine:
            named = (picture.referred(each, *path) for path, _ in references(each))
            waiting += [part for part in named if part is not None]
    return tuple(found.values())


def _reserved(reservations: Collection[Member], machine: Member) -> list[Member]:
    return [each for each in reservations if each.text("spec", "machineRef", "uid") == machine.uid]


def _member(member: Member) -> Iterator[Line]:
    born, leaves = member.metadata.creation_timestamp, member.metadata.deletion_timestamp
    if born is not None:
        yield _line(member, born, Source.LIFE, "it was created", ("created", member.uid))
    if leaves is not None:
        held = ", ".join(member.metadata.finalizers)
        waits = f" and waits for: {held}" if held else ""
        yield _line(member, leaves, Source.LIFE, f"it is being deleted{waits}", ("deleted", member.uid))
    for each in member.conditions:
        at = each.last_transition_time
        negative = each.type in NEGATIVE
        good = (each.status == "True") != negative
        at_birth = born is not None and at - born <= BIRTH
        if at.year == 1 or (negative and good and at_birth) or each.reason == _OF_NOTHING:
            continue
        yield Line(
            at,
            Source.CONDITION,
            member.kind,
            member.namespace,
            member.name,
            sentence(member, each),
            each.reason,
            warning=each.status == "False" and not negative,
            step=step(member.kind, each.type),
            identity=("condition", member.uid, each.type, each.status, each.reason, at),
        )


def _line(member: Member, at: datetime, source: Source, what: str, identity: tuple[str, str]) -> Line:
    return Line(at, source, member.kind, member.namespace, member.name, what, identity=identity)


def _event(event: Event) -> Line:
    often = f" ({event.count} times since {event.first:%H:%M:%S})" if event.count > 1 else ""
    return Line(
        event.at,
        Source.EVENT,
        event.kind,
        event.namespace,
        event.name,
        f"{_note(event)}{often}",
        event.reason,
        event.warning,
        event.count,
        identity=("event", event.identity, event.count),
    )


def _note(event: Event) -> str:
    """The note, or what it is about if it is no sentence: some are only a name."""
    words = event.note.split()
    if len(words) > 1:
        return " ".join(words)
    return f"{event.reason}: {words[0]}" if words else event.reason


def _task(task: Task, told: Told | None) -> Line:
    what = task.what if told is None else f"{task.what} and {told.outcome}"
    return Line(
        task.began,
        Source.TASK,
        task.kind,
        task.namespace,
        task.name,
        what,
        warning=told is not None and told.failed,
        log=() if told is None else told.log,
        task=task.upid.text,
        identity=("task", task.upid.text, None if told is None else told.outcome),
    )
