from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.tasks.listing import Filter, listed, owned, status_type
from nagaya.simulators.proxmox.tasks.runner import Task, Tasks
from nagaya.simulators.proxmox.tasks.upid import Upid
from support.virtual_run import virtual_world


def upid(**facts: object) -> Upid:
    given = {
        "node": "pve1",
        "pid": 1,
        "pstart": 2,
        "starttime": 1000,
        "type": "qmstart",
        "id": "100",
        "user": "root@pam",
    }
    return Upid(**{**given, **facts})  # type: ignore[arg-type]  # each test gives facts of the right type


def tasks_with(*tasks: Task) -> Tasks:
    tasks_ = Tasks(virtual_world())
    for task in tasks:
        tasks_.known[str(task.upid)] = task
        if not task.running:
            tasks_.ended.append(task)
    return tasks_


@pytest.mark.parametrize(
    ("user", "caller", "mine"),
    [
        ("ops@pve!k1", "ops@pve!k1", True),
        ("ops@pve!k1", "ops@pve", True),
        ("ops@pve!k1", "ops@pve!k2", False),
        ("ops@pve", "ops@pve!k1", False),
        ("ops@pve", "bob@pve", False),
    ],
)
def test_a_user_owns_the_tasks_of_its_tokens_and_a_token_only_its_own(user: str, caller: str, mine: bool) -> None:
    assert owned(upid(user=user), caller) is mine


@pytest.mark.parametrize(
    ("status", "kind"),
    [("OK", "ok"), ("WARNINGS: 3", "warning"), ("unexpected status", "unknown"), (None, "unknown"), ("no", "error")],
)
def test_ends_are_of_four_kinds(status: str | None, kind: str) -> None:
    assert status_type(status) == kind


def test_the_archive_is_in_the_order_of_ends_and_running_tasks_come_first() -> None:
    first = Task(upid(pid=1), exitstatus="OK", endtime=1010)
    second = Task(upid(pid=2), exitstatus="no", endtime=1005)
    running = Task(upid(pid=3))
    tasks = tasks_with(second, first, running)
    tasks.ended = [second, first]

    def pids(source: str) -> list[int]:
        return [row["pid"] for row in listed(tasks, "pve1", None, Filter(source=source))[0]]

    assert pids("archive") == [1, 2]
    assert pids("active") == [3]
    assert pids("all") == [3, 1, 2]


def test_filters_narrow_and_pages_cut() -> None:
    rows = [
        Task(upid(pid=pid, starttime=pid, id=str(100 + pid % 2)), exitstatus="OK", endtime=9) for pid in range(1, 9)
    ]
    tasks = tasks_with(*rows)
    page, count = listed(tasks, "pve1", None, Filter(start=1, limit=2))
    assert ([row["pid"] for row in page], count) == ([7, 6], 8)
    assert listed(tasks, "pve1", None, Filter(vmid="101"))[1] == 4
    assert listed(tasks, "pve1", None, Filter(since=3, until=5))[1] == 3
    assert listed(tasks, "pve1", None, Filter(errors=True)) == ([], 0)
    assert listed(tasks, "pve1", None, Filter(type="qmclone")) == ([], 0)
    assert listed(tasks, "pve1", None, Filter(user="ROOT"))[1] == 8
    assert listed(tasks, "pve2", None, Filter())[1] == 0
    assert listed(tasks, "pve1", "bob@pve", Filter())[1] == 0


def test_the_token_of_a_task_is_shown_apart_from_its_user() -> None:
    task = Task(upid(user="ops@pve!k1"), exitstatus="OK", endtime=1001)
    (row,), _ = listed(tasks_with(task), "pve1", None, Filter())
    assert (row["user"], row["tokenid"], row["status"], row["endtime"]) == ("ops@pve", "k1", "OK", 1001)


def test_a_running_task_of_a_token_is_not_yet_its_users() -> None:
    tasks = tasks_with(Task(upid(user="ops@pve!k1")))
    assert listed(tasks, "pve1", "ops@pve", Filter(source="all"))[1] == 0
    (row,), _ = listed(tasks, "pve1", "ops@pve!k1", Filter(source="all"))
    assert (row["user"], "tokenid" in row) == ("ops@pve!k1", False)


def test_asking_for_errors_overrules_the_wanted_kinds() -> None:
    rows = [Task(upid(pid=pid), exitstatus=end, endtime=9) for pid, end in enumerate(["OK", "WARNINGS: 1", "no"])]
    kinds = frozenset({"ok"})
    assert listed(tasks_with(*rows), "pve1", None, Filter(statuses=kinds))[1] == 1
    assert listed(tasks_with(*rows), "pve1", None, Filter(errors=True, statuses=kinds))[1] == 2
