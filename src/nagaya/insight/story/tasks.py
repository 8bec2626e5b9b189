"""Tasks of Proxmox VE that objects tell of: by their names, which say where they ran, what for, and since when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from nagaya.api.proxmox.proxmox_machine import TASK_BEGUN
from nagaya.infrastructure.proxmox.client.upid import Upid, upid
from nagaya.insight.picture.event import Event
from nagaya.insight.picture.member import Member
from nagaya.insight.picture.picture import Picture

_NAMES: Final = re.compile(r"UPID:[A-Za-z0-9-]+(?::[^:\s/]*){6}:")


@dataclass(frozen=True, slots=True)
class Task:
    """A task, and the object that tells of it."""

    upid: Upid
    kind: str
    namespace: str
    name: str
    uid: str
    purpose: str = ""
    """What it is for, in a sentence without its end, if that was told."""

    @property
    def began(self) -> datetime:
        """When it was handed in."""
        return datetime.fromtimestamp(self.upid.started, UTC)

    @property
    def what(self) -> str:
        """A sentence without its end."""
        # The id of a task is that of a VM, or the name of a storage: of a CD with boot data that is deleted.
        of = f" of {'VM' if self.upid.id.isdigit() else 'storage'} {self.upid.id}" if self.upid.id else ""
        why = f"{self.purpose}; " if self.purpose else ""
        return f"{why}task {self.upid.type}{of} began on host {self.upid.node}"


def tasks(picture: Picture) -> tuple[Task, ...]:
    """Each task once, the oldest first; it is the machine's rather than the reservation's."""
    found: dict[str, Task] = {}
    purposes = {name: _purpose(each) for each in picture.events if tells_of_task(each) for name in _names(each.note)}
    for name, owner in _told(picture):
        try:
            found.setdefault(name, Task(upid(name), *owner, purposes.get(name, "")))
        except ValueError:
            continue  # only looks like one: it was cut off, or is an example in a sentence
    return tuple(sorted(found.values(), key=lambda each: (each.upid.started, each.upid.text)))


def named_in(text: str) -> tuple[Upid, ...]:
    """The tasks that a text names, in its order."""
    found = []
    for name in _names(text):
        try:
            found.append(upid(name))
        except ValueError:
            continue  # only looks like one: it was cut off, or is an example in a sentence
    return tuple(found)


def tells_of_task(event: Event) -> bool:
    """Whether an Event says no more than that a task was begun."""
    return event.reason == TASK_BEGUN and bool(_names(event.note))


def _purpose(event: Event) -> str:
    return event.note.partition(" (UPID:")[0].rstrip(".")


def _names(text: str) -> list[str]:
    return _NAMES.findall(text)


def _told(picture: Picture) -> Iterator[tuple[str, tuple[str, str, str, str]]]:
    for member in picture.members:
        for text in _texts(member):
            for name in _names(text):
                yield name, (member.kind, member.namespace, member.name, member.uid)
    for event in picture.events:
        for name in _names(event.note):
            yield name, (event.kind, event.namespace, event.name, event.uid)


def _texts(member: Member) -> Iterator[str]:
    yield member.text("status", "taskRef")
    yield member.text("status", "task")
    yield member.text("status", "message")
    for condition in member.conditions:
        yield condition.message
