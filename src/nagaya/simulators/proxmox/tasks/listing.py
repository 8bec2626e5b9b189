"""Which tasks a list shows, and what of each.

PVE keeps two lists on each host: the running ones, and an archive in the order in which tasks ended. A token sees its
own tasks only, a user also those of all of its tokens, and who may audit the host sees all. Only in the archive is the
token told from its user: the running tasks of a token are not its user's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nagaya.simulators.proxmox.tasks.runner import Task, Tasks
from nagaya.simulators.proxmox.tasks.upid import Upid

PAGE = 50
"""How many entries an answer has when the caller does not say."""


def owned(upid: Upid, caller: str) -> bool:
    """Whether a task belongs to a caller, given as user@realm or user@realm!token."""
    return caller in (upid.user, upid.user.partition("!")[0])


def status_type(status: str | None) -> str:
    """PVE's four kinds of ends."""
    if not status or status == "unexpected status":
        return "unknown"
    if status == "OK":
        return "ok"
    return "warning" if status.startswith("WARNINGS: ") else "error"


def described(upid: Upid, text: str) -> dict[str, Any]:
    """What a UPID says, as PVE shows it: the token stands apart from the user."""
    user, _, token = upid.user.partition("!")
    shown: dict[str, Any] = {
        "upid": text,
        "node": upid.node,
        "pid": upid.pid,
        "pstart": upid.pstart,
        "starttime": upid.starttime,
        "type": upid.type,
        "id": upid.id,
        "user": user,
    }
    if token:
        shown["tokenid"] = token
    return shown


@dataclass(frozen=True, slots=True)
class Filter:
    """What a caller wants to see."""

    start: int = 0
    limit: int = PAGE
    user: str = ""
    type: str = ""
    vmid: str | None = None
    since: int | None = None
    until: int | None = None
    errors: bool = False
    statuses: frozenset[str] | None = None
    """Kinds of ends; None: all. An empty list of them wants none."""
    source: str = "archive"

    def takes(self, task: Task) -> bool:
        """Whether a task is among them."""
        upid, status = task.upid, task.exitstatus
        user = upid.user if task.running else upid.user.partition("!")[0]
        return not (
            (self.user and self.user.lower() not in user.lower())
            or (self.type and upid.type != self.type)
            or (self.vmid is not None and upid.id != self.vmid)
            or (self.since is not None and upid.starttime < self.since)
            or (self.until is not None and upid.starttime > self.until)
            or (self.errors and status == "OK")
            or (self.statuses is not None and not self.errors and status_type(status) not in self.statuses)
        )


def listed(tasks: Tasks, node: str, caller: str | None, wanted: Filter) -> tuple[list[dict[str, Any]], int]:
    """One page of the list of a host, and how many there are. A caller of None sees all."""
    page: list[dict[str, Any]] = []
    count = 0
    for task in _sources(tasks, node, wanted.source):
        mine = task.upid.user == caller if task.running else caller is not None and owned(task.upid, caller)
        if not wanted.takes(task) or not (caller is None or mine):
            continue
        count += 1
        if count > wanted.start and len(page) < wanted.limit:
            page.append(_row(task))
    return page, count


def _sources(tasks: Tasks, node: str, source: str) -> Iterator[Task]:
    if source != "archive":
        yield from (task for task in tasks.of(node) if task.running)
    if source != "active":
        yield from (task for task in reversed(tasks.ended) if task.upid.node == node)


def _row(task: Task) -> dict[str, Any]:
    row = described(task.upid, str(task.upid))
    if task.running:
        row.pop("tokenid", None)
        return row | {"user": task.upid.user, "status": "RUNNING", "saved": "0"}
    return row | {"status": task.exitstatus, "endtime": task.endtime}
