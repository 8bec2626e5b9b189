from __future__ import annotations

import asyncio
import gzip
from typing import Any
from urllib.parse import quote

import orjson

from nagaya.simulators.proxmox.tasks.runner import Task
from support.proxmox_lab import ProxmoxLab, proxmox_lab, token
from support.virtual_run import run

TASKS = "/nodes/pve1/tasks"


def working(lab: ProxmoxLab, user: str = "root@pam", lines: int = 3) -> Task:
    async def work(task: Task) -> None:
        for number in range(lines):
            task.say(f"line {number}")
        await asyncio.sleep(10)

    return lab.emulator.tasks.start("pve1", "qmclone", "9000", user, work)


async def lines(lab: ProxmoxLab, task: Task, **parameters: Any) -> tuple[list[str], int]:
    answer = await lab.ask("GET", f"{TASKS}/{quote(str(task.upid))}/log", parameters)
    body = orjson.loads(answer.body)
    return [row["t"] for row in body["data"]], body["total"]


def test_the_status_says_how_a_task_ended_once_it_has() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            task = working(lab)
            running = await lab.data("GET", f"{TASKS}/{task.upid}/status")
            assert running["status"] == "running"
            assert "exitstatus" not in running
            await asyncio.sleep(11)
            ended = await lab.data("GET", f"{TASKS}/{task.upid}/status")
            assert (ended["status"], ended["exitstatus"], ended["upid"]) == ("stopped", "OK", str(task.upid))

    run(main())


def test_a_log_is_read_in_pages() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            assert await lines(lab, working(lab, lines=0)) == (["no content"], 1)
            task = working(lab)
            await asyncio.sleep(11)
            assert await lines(lab, task) == (["line 0", "line 1", "line 2", "TASK OK"], 4)
            assert await lines(lab, task, start=1, limit=2) == (["line 1", "line 2"], 4)
            assert await lines(lab, task, start=2, limit=0) == (["line 2", "TASK OK"], 4)

    run(main())


def test_only_owners_and_auditors_look_and_only_owners_and_modifiers_stop() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            task, other = working(lab, "alice@pve!full"), token("ops@pve!k1")
            for method, path, right in (
                ("GET", "status", "Sys.Audit"),
                ("GET", "log", "Sys.Audit"),
                ("DELETE", "", "Sys.Modify"),
            ):
                where = f"{TASKS}/{task.upid}/{path}".rstrip("/")
                answer = await lab.ask(method, where, headers=other)
                assert answer.reason == f"Permission check failed (/nodes/pve1, {right})"
                if method == "GET":
                    for headers in (token("alice@pve!full"), lab.ticket("alice@pve"), lab.ticket()):
                        assert (await lab.ask(method, where, headers=headers)).status == 200
            assert (await lab.ask("DELETE", f"{TASKS}/{task.upid}", headers=token("alice@pve!full"))).status == 200
            assert task.exitstatus == "received interrupt"

    run(main())


def test_a_list_shows_what_the_caller_may_see() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            for user in ("root@pam", "alice@pve!full", "alice@pve"):
                working(lab, user)
            await asyncio.sleep(11)

            async def users(headers: dict[str, str]) -> list[str]:
                return [row["user"] for row in await lab.data("GET", TASKS, headers=headers)]

            assert await users(lab.ticket()) == ["alice@pve", "alice@pve", "root@pam"]
            assert await users(lab.ticket("alice@pve")) == ["alice@pve", "alice@pve"]
            assert await users(token("alice@pve!full")) == ["alice@pve"]
            assert await users(token("ops@pve!k1")) == []

    run(main())


def test_the_cluster_hears_of_tasks_too() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            task = working(lab, "alice@pve!full")
            (row,) = await lab.data("GET", "/cluster/tasks")
            assert (row["upid"], row["saved"]) == (str(task.upid), "0")
            await asyncio.sleep(11)
            (row,) = await lab.data("GET", "/cluster/tasks")
            assert (row["status"], row["saved"]) == ("OK", "1")
            assert await lab.data("GET", "/cluster/tasks", headers=token("alice@pve!full")) == []
            assert len(await lab.data("GET", "/cluster/tasks", headers=lab.ticket("alice@pve"))) == 1

    run(main())


def test_a_task_of_another_host_is_not_found_here() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:

            async def work(task: Task) -> None:
                task.say("there")

            task = lab.emulator.tasks.start("pve2", "qmstart", "777", "root@pam", work)
            assert (await lab.ask("GET", f"{TASKS}/{task.upid}/status")).status == 400
            assert (await lines(lab, task))[0] == ["unable to open file - No such file or directory"]

    run(main())


def test_a_log_can_be_had_as_a_file() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            task = working(lab)
            await lab.ended(str(task.upid))
            answer = await lab.ask("GET", f"{TASKS}/{task.upid}/log", {"download": 1})
            assert (answer.status, answer.content_type) == (200, "text/plain")
            assert answer.body == b"line 0\nline 1\nline 2\nTASK OK\n"
            name = answer.headers["content-disposition"]
            assert name.startswith('attachment; filename="task-pve1-qmclone-20')
            unknown = "UPID:pve1:00000786:000BB300:6AFA3A95:qmstop:802:root@pam:"
            missing = await lab.ask("GET", f"{TASKS}/{unknown}/log", {"download": 1})
            assert missing.reason.startswith(f"Could not open file '/var/log/pve/tasks/5/{unknown}'")

    run(main())


def test_a_long_log_is_sent_packed() -> None:
    async def main() -> None:
        async def talk(task: Task) -> None:
            task.say("x" * 1100)

        async with proxmox_lab() as lab:
            task = lab.emulator.tasks.start("pve1", "qmclone", "9000", "root@pam", talk)
            await lab.ended(str(task.upid))
            answer = await lab.ask("GET", f"{TASKS}/{task.upid}/log", {"download": 1})
            assert answer.headers["content-encoding"] == "gzip"
            assert gzip.decompress(answer.body) == b"x" * 1100 + b"\nTASK OK\n"

    run(main())


def test_rights_are_asked_for_by_the_name_that_the_caller_gave_the_host() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            task = working(lab)
            lab.datacenter.access.acl["/nodes/pve1", "user", "ops@pve", "PVEAuditor"] = True
            auditor = token("ops@pve!k1")
            assert (await lab.ask("GET", f"{TASKS}/{task.upid}/status", headers=auditor)).status == 200
            answer = await lab.ask("GET", f"/nodes/localhost/tasks/{task.upid}/status", headers=auditor)
            assert answer.reason == "Permission check failed (/nodes/localhost, Sys.Audit)"

    run(main())


def test_a_filter_that_names_no_end_wants_none_and_one_without_a_type_wants_all() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", "/nodes/pve1/qemu", {"vmid": 101})
            assert await lab.data("GET", "/nodes/pve1/tasks", {"statusfilter": ""}) == []
            assert len(await lab.data("GET", "/nodes/pve1/tasks", {"typefilter": ""})) == 1
            both = {"statusfilter": "", "errors": 1}
            assert await lab.data("GET", "/nodes/pve1/tasks", both) == []

    run(main())
