"""Tasks: what runs on a host, what has run there, what each said, and how to stop one."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, File, Handlers, Total
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.tasks import listing
from nagaya.simulators.proxmox.tasks.runner import Task
from nagaya.simulators.proxmox.tasks.upid import Upid, parse
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()

LARGEST_PLAIN = 1024
"""Bytes of a log that is sent as it is; a longer one is packed, whether or not the client said that it can unpack."""

RECENT = 25
"""How many tasks of each host the others hear of."""


def _named(call: Call) -> Upid:
    if (upid := parse(call["upid"])) is None:
        raise ParameterFailure({"upid": "unable to parse worker upid"})
    return upid


def _known(call: Call) -> Task:
    _named(call)
    task = call.emulator.tasks.known.get(call["upid"])
    if task is None or task.upid.node != call.node.name:
        raise ParameterFailure({"upid": "no such task"})
    return task


def _check(call: Call, upid: Upid, privilege: str) -> None:
    if not listing.owned(upid, call.caller.id):
        call.rights.check(f"/nodes/{call['node']}", [privilege])


@handlers("GET", "/nodes/{node}/tasks")
async def tasks_of_node(call: Call) -> list[dict[str, Any]]:
    """A page of the tasks of a host."""
    auditor = call.rights.may(f"/nodes/{call['node']}", ["Sys.Audit"])
    vmid, statuses = call.get("vmid"), call.get("statusfilter")
    page, count = listing.listed(
        call.emulator.tasks,
        call.node.name,
        None if auditor else call.caller.id,
        listing.Filter(
            start=call.get("start") or 0,
            limit=call.get("limit", listing.PAGE),
            user=call.get("userfilter") or "",
            type=call.get("typefilter") or "",
            vmid=None if vmid is None else str(vmid),
            since=call.get("since"),
            until=call.get("until"),
            errors=bool(call.get("errors")),
            statuses=None if statuses is None else frozenset(split_list(statuses.lower())),
            source=call.get("source", "archive"),
        ),
    )
    # A total of nothing is not told.
    return Total(page, count) if count else page


@handlers("GET", "/cluster/tasks")
async def tasks_of_cluster(call: Call) -> list[dict[str, Any]]:
    """What the hosts last told each other of their tasks: the running ones and a few that have ended.

    A token does not even see its own here, for they count as those of its user.
    """
    auditor = call.rights.may("/", ["Sys.Audit"])
    rows: list[dict[str, Any]] = []
    for node in call.emulator.datacenter.nodes.values():
        if node.online:
            told = call.emulator.tasks.of(node.name)[:RECENT]
            rows += [_told(task) for task in told if auditor or task.upid.user.partition("!")[0] == call.caller.id]
    return rows


def _told(task: Task) -> dict[str, Any]:
    described = listing.described(task.upid, str(task.upid))
    row = {name: value for name, value in described.items() if name not in ("pid", "pstart")}
    row["saved"] = "0" if task.running else "1"
    return row if task.running else row | {"endtime": task.endtime, "status": task.exitstatus}


@handlers("GET", "/nodes/{node}/tasks/{upid}")
async def index(call: Call) -> list[dict[str, str]]:
    """What there is to know of any task."""
    return [{"name": "log"}, {"name": "status"}]


@handlers("DELETE", "/nodes/{node}/tasks/{upid}")
async def stop(call: Call) -> None:
    """Stop a task, and return when it has ended."""
    task = _known(call)
    _check(call, task.upid, "Sys.Modify")
    await call.emulator.tasks.stop(task)


@handlers("GET", "/nodes/{node}/tasks/{upid}/status")
async def status(call: Call) -> dict[str, Any]:
    """Whether a task runs, and how it ended."""
    task = _known(call)
    _check(call, task.upid, "Sys.Audit")
    shown = listing.described(task.upid, call["upid"])
    if task.running:
        return shown | {"status": "running"}
    return shown | {"status": "stopped", "exitstatus": task.exitstatus}


def _file(text: str, upid: Upid, task: Task | None) -> File:
    if task is None:
        path = f"/var/log/pve/tasks/{upid.starttime & 0xF:X}/{text}"
        raise Failure(f"Could not open file '{path}' - No such file or directory\n")
    began = datetime.fromtimestamp(upid.starttime, UTC)
    content = "".join(f"{line}\n" for line in task.log).encode()
    name = f"task-{upid.node}-{upid.type}-{began:%FT%TZ}.log"
    if len(content) > LARGEST_PLAIN:
        return File(name, gzip.compress(content, mtime=0), compressed=True)
    return File(name, content)


@handlers("GET", "/nodes/{node}/tasks/{upid}/log")
async def log(call: Call) -> Any:
    """What a task said. That there is no such task is told as its only line."""
    upid = _named(call)
    _check(call, upid, "Sys.Audit")
    task = call.emulator.tasks.known.get(call["upid"])
    if task is not None and task.upid.node != call.node.name:
        task = None
    if call.get("download"):
        if call.get("start") is not None or call.get("limit") is not None:
            raise Failure("'download' cannot be used together with 'start' or 'limit' parameters\n")
        return _file(call["upid"], upid, task)
    if task is None:
        return Total([{"n": 1, "t": "unable to open file - No such file or directory"}], 1)
    if not task.log:
        return Total([{"n": 1, "t": "no content"}], 1)
    start = call.get("start") or 0
    limit = call.get("limit", listing.PAGE) or len(task.log)
    lines = [{"n": number, "t": line} for number, line in enumerate(task.log, 1)]
    return Total(lines[start : start + limit], len(lines))
