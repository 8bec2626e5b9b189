from __future__ import annotations

import asyncio

from nagaya.simulators.proxmox.failure import Failure, Forbidden, ParameterFailure
from nagaya.simulators.proxmox.tasks.runner import PATIENCE, UNREADABLE, Task, Tasks, Work, interruptible
from nagaya.simulators.proxmox.tasks.upid import parse
from support.virtual_run import run, virtual_world


async def ended(tasks: Tasks, work: Work) -> Task:
    task = tasks.start("pve1", "qmstart", "100", "root@pam", work)
    assert task.worker is not None
    await asyncio.wait([task.worker])
    return task


def failing(failure: Failure) -> Work:
    async def work(task: Task) -> None:
        raise failure

    return work


def test_a_task_is_named_at_once_and_ends_later() -> None:
    async def main() -> None:
        tasks = Tasks(virtual_world())

        async def work(task: Task) -> None:
            await asyncio.sleep(5)
            task.say("done")

        task = tasks.start("pve1", "qmclone", "9000", "ops@pve!k1", work)
        assert parse(str(task.upid)) == task.upid
        assert task.running
        await asyncio.sleep(6)
        assert (task.exitstatus, task.log) == ("OK", ["done", "TASK OK"])
        assert task.endtime == task.upid.starttime + 5

    run(main())


def test_an_error_is_told_on_one_line_with_its_number() -> None:
    async def main() -> None:
        tasks = Tasks(virtual_world())
        plain = await ended(tasks, failing(Failure("first\nsecond\n")))
        assert plain.exitstatus == "first second"
        assert plain.log == ["TASK ERROR: first second"]
        forbidden = await ended(tasks, failing(Forbidden("/vms/100", "VM.Clone")))
        assert forbidden.exitstatus == "403 Permission check failed (/vms/100, VM.Clone)"
        wrong = await ended(tasks, failing(ParameterFailure({"scsi1": "hotplug problem - no"})))
        assert wrong.exitstatus == "400 Parameter verification failed. scsi1: hotplug problem - no"

    run(main())


def test_warnings_count_and_do_not_fail() -> None:
    async def main() -> None:
        async def work(task: Task) -> None:
            task.warn("one\n")
            task.warn("two")

        task = await ended(Tasks(virtual_world()), work)
        assert (task.exitstatus, task.log) == ("WARNINGS: 2", ["WARN: one", "WARN: two", "TASK WARNINGS: 2"])

    run(main())


def test_a_stopped_task_cleans_up_and_a_killed_one_does_not() -> None:
    async def main() -> None:
        tasks = Tasks(virtual_world())
        cleaned: list[str] = []

        async def work(task: Task) -> None:
            task.say("working")
            try:
                with interruptible(task):
                    await asyncio.sleep(100)
            except Failure:
                cleaned.append(task.upid.id)
                raise

        stopped = tasks.start("pve1", "qmclone", "1", "root@pam", work)
        killed = tasks.start("pve1", "qmclone", "2", "root@pam", work)
        await asyncio.sleep(1)
        await tasks.stop(stopped)
        tasks.kill(killed)
        await asyncio.sleep(1)
        assert cleaned == ["1"]
        assert (stopped.exitstatus, stopped.log[-1]) == ("received interrupt", "TASK ERROR: received interrupt")
        assert (killed.exitstatus, killed.log) == ("unexpected status", ["working"])

    run(main())


def test_a_worker_that_does_not_end_is_killed_after_a_while() -> None:
    async def main() -> None:
        tasks = Tasks(virtual_world())

        async def work(task: Task) -> None:
            try:
                await asyncio.sleep(100)
            finally:
                await asyncio.sleep(100)

        task = tasks.start("pve1", "qmclone", "1", "root@pam", work)
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        await tasks.stop(task)
        assert asyncio.get_running_loop().time() - began == PATIENCE
        assert task.exitstatus == UNREADABLE

    run(main())


def test_the_tasks_of_a_host_die_with_it() -> None:
    async def main() -> None:
        tasks = Tasks(virtual_world())

        async def work(task: Task) -> None:
            await asyncio.sleep(100)

        here = tasks.start("pve1", "qmclone", "1", "root@pam", work)
        there = tasks.start("pve2", "qmclone", "1", "root@pam", work)
        await asyncio.sleep(1)
        tasks.kill_all("pve1")
        assert not here.running
        assert there.running
        await tasks.close()

    run(main())


def test_a_mishap_can_wait_at_every_step() -> None:
    async def main() -> None:
        tasks = Tasks(virtual_world())
        seen: list[str] = []

        async def mishap(task: Task, step: str) -> None:
            seen.append(step)
            if step == "copy":
                raise Failure("disk on fire\n")

        async def work(task: Task) -> None:
            await task.step("copy")

        tasks.before_step = mishap
        task = await ended(tasks, work)
        assert seen == ["begin", "copy"]
        assert task.exitstatus == "disk on fire"

    run(main())
