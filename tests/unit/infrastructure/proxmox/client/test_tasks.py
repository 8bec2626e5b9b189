"""Tasks are asked about on their host, as often as documented and no more, and whoever waits learns how they ended."""

from __future__ import annotations

import asyncio

import pytest

from nagaya.infrastructure.proxmox.client import Phase, TaskState, Upload, upid
from nagaya.infrastructure.proxmox.client.errors import Forbidden, HostUnreachable, Locked, TaskFailed, TaskVanished
from nagaya.infrastructure.proxmox.client.tasks import LONGEST, SHORTEST
from nagaya.simulators.proxmox.faults.fault import Calls as FaultyCalls
from nagaya.simulators.proxmox.faults.fault import Fault, Kind
from nagaya.simulators.proxmox.faults.faults import Faults
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.tasks.runner import Task
from support.proxmox_transport import DataCenter, data_center
from support.virtual_run import run

UNKNOWN = "UPID:pve2:00002540:000AA5FC:6AFA37E4:qmshutdown:600:root@pam:"


def begin(center: DataCenter, seconds: float, *, node: str = "pve2", user: str = "root@pam!demo") -> str:
    async def work(task: Task) -> None:
        task.say("hello")
        await asyncio.sleep(seconds)

    return str(center.emulator.tasks.start(node, "qmstart", "100", user, work).upid)


def test_a_upid_says_where_its_task_runs() -> None:
    named = upid("UPID:pve-2:00002540:100AA5FC0:6AFA37E4:qmclone:9000:nagaya@pve!main:")
    assert (named.node, named.type, named.id, named.user) == ("pve-2", "qmclone", "9000", "nagaya@pve!main")
    with pytest.raises(ValueError, match="is no UPID"):
        upid("UPID:pve2")


def test_a_task_is_waited_for_on_its_own_host() -> None:
    async def main() -> None:
        async with data_center() as center:
            task = begin(center, 3.0)
            state = await center.client.tasks.wait(task)
            assert state.phase is Phase.SUCCEEDED
            assert state.exitstatus == "OK"
            assert set(center.transport.asked()) == {f"GET /nodes/pve2/tasks/{task}/status"}

    run(main())


@pytest.mark.parametrize("seconds", [0.1, 3.0, 20.0, 120.0])
def test_nothing_is_asked_more_often_than_documented_and_the_end_is_noticed_soon(seconds: float) -> None:
    async def main() -> None:
        async with data_center() as center:
            loop = asyncio.get_running_loop()
            times: list[float] = []
            send = center.transport.send

            async def counted(*given: object) -> object:
                times.append(loop.time())
                return await send(*given)  # type: ignore[arg-type]  # passed on as they came

            center.transport.send = counted  # type: ignore[method-assign, assignment]  # a spy
            began = loop.time()
            await center.client.tasks.wait(begin(center, seconds))
            took = loop.time() - began
            gaps = [later - earlier for earlier, later in zip([began, *times], times, strict=False)]
            assert min(gaps) >= SHORTEST - 1e-6
            assert max(gaps) <= LONGEST + 1e-6
            assert took <= max(seconds * 1.2 + 0.01, seconds + SHORTEST)

    run(main())


def test_many_tasks_of_a_host_share_one_question() -> None:
    async def main() -> None:
        async with data_center() as center:
            tasks = [begin(center, 10.0) for _ in range(30)]
            await asyncio.gather(*(center.client.tasks.wait(task) for task in tasks))
            asked = center.transport.asked()
            assert asked.count("GET /nodes/pve2/tasks") <= 14
            assert len([each for each in asked if each.endswith("/status")]) == 30

    run(main())


def test_tasks_that_began_one_after_another_share_questions_too() -> None:
    async def main() -> None:
        async with data_center() as center:
            waiting: list[asyncio.Task[TaskState]] = []
            loop = asyncio.get_running_loop()
            for _ in range(40):
                waiting.append(loop.create_task(center.client.tasks.wait(begin(center, 10.0))))
                await asyncio.sleep(0.1)
            await asyncio.gather(*waiting)
            asked = center.transport.asked()
            assert asked.count("GET /nodes/pve2/tasks") <= 14 / SHORTEST
            assert len([each for each in asked if each.endswith("/status")]) <= 41

    run(main())


def test_however_many_wait_a_task_is_asked_about_once() -> None:
    async def main() -> None:
        async with data_center() as center:
            task = begin(center, 0.2)
            told: list[TaskState] = []
            center.client.tasks.listen(task, told.append)
            await asyncio.gather(*(center.client.tasks.wait(task) for _ in range(50)))
            assert len(center.transport.sent) == 1
            center.client.tasks.listen(task, told.append)
            assert [state.phase for state in told] == [Phase.SUCCEEDED] * 2
            assert center.client.tasks.look(task).phase is Phase.SUCCEEDED
            assert len(center.transport.sent) == 1

    run(main())


def test_figures_tell_since_when_the_oldest_task_is_waited_for_and_nothing_when_none_is() -> None:
    async def main() -> None:
        async with data_center() as center:
            metrics, name = center.client.calls.metrics, {"connection": center.client.calls.facts.name}

            def told() -> float | None:
                return metrics.registry.get_sample_value("nagaya_proxmox_oldest_task_timestamp_seconds", name)

            first = begin(center, 30.0)
            center.client.tasks.look(first)
            await asyncio.sleep(10)
            second = begin(center, 60.0)
            center.client.tasks.look(second)
            assert told() == upid(first).started < upid(second).started
            await center.client.tasks.wait(first)
            assert told() == upid(second).started
            await center.client.tasks.wait(second)
            assert told() is None

    run(main())


def test_a_controller_looks_without_waiting_and_is_told() -> None:
    async def main() -> None:
        async with data_center() as center:
            task = begin(center, 2.0)
            told: list[TaskState] = []
            assert center.client.tasks.look(task).phase is Phase.RUNNING
            center.client.tasks.listen(task, told.append)
            assert center.client.tasks.count() == 1
            await asyncio.sleep(3)
            assert [state.phase for state in told] == [Phase.SUCCEEDED]
            assert center.client.tasks.count() == 0
            asked = len(center.transport.sent)
            await asyncio.sleep(600)
            assert len(center.transport.sent) == asked

    run(main())


def test_a_task_that_fails_tells_why_with_its_log() -> None:
    async def main() -> None:
        async with data_center() as center:
            await center.client.tasks.wait(await center.client.machines.clone("pve1", 9001, 101, name="one"))
            center.emulator.datacenter.guests[101].config["lock"] = "backup"
            task = await center.client.machines.start("pve1", 101)
            with pytest.raises(TaskFailed) as raised:
                await center.client.tasks.wait(task)
            error = raised.value
            assert "VM is locked (backup)" in error.exitstatus
            assert isinstance(error.because, Locked)
            assert error.because.lock == "backup"
            assert error.evidence.log[-1].startswith("TASK ERROR: ")
            assert error.evidence.host == "pve1"
            assert "qm unlock" in str(error)

    run(main())


def test_warnings_are_a_success_with_the_text() -> None:
    async def main() -> None:
        async with data_center() as center:

            async def work(task: Task) -> None:
                task.warn("disk was not removed")

            task = str(center.emulator.tasks.start("pve1", "qmdestroy", "100", "root@pam!demo", work).upid)
            state = await center.client.tasks.wait(task)
            assert state.warnings
            assert any("disk was not removed" in line for line in state.log)

    run(main())


def test_a_task_that_nobody_knows_has_vanished() -> None:
    async def main() -> None:
        async with data_center() as center:
            with pytest.raises(TaskVanished, match=f"pve2 knows no task {UNKNOWN}"):
                await center.client.tasks.wait(UNKNOWN)

    run(main())


def test_a_host_that_dies_meanwhile_is_told_and_the_task_is_watched_until_it_is_back() -> None:
    async def main() -> None:
        async with data_center() as center:
            node = center.emulator.datacenter.nodes["pve2"]
            task = begin(center, 20.0)
            told: list[TaskState] = []
            center.client.tasks.listen(task, told.append)
            await asyncio.sleep(1)
            node.online = False
            with pytest.raises(HostUnreachable, match="pve2 is unreachable"):
                await center.client.tasks.wait(task)
            state = center.client.tasks.look(task)
            assert state.phase is Phase.RUNNING
            assert "pve2 is unreachable" in state.trouble
            await asyncio.sleep(60)
            node.online = True
            await asyncio.sleep(60)
            assert len(told) == 1
            assert told[0].ended

    run(main())


def test_a_task_that_may_not_be_seen_does_not_stand_in_the_way_of_others() -> None:
    async def main() -> None:
        async with data_center() as center:
            hidden, seen = begin(center, 1.0), begin(center, 5.0)
            path = f"/nodes/pve2/tasks/*{hidden.split(':')[2]}*/status"
            denied = Fault(Kind.FAIL, FaultyCalls("GET", path), status=403, reason="Permission check failed")
            Faults(center.emulator).set(denied)
            results = await asyncio.gather(
                center.client.tasks.wait(hidden), center.client.tasks.wait(seen), return_exceptions=True
            )
            assert isinstance(results[0], Forbidden)
            assert isinstance(results[1], TaskState)

    run(main())


def test_an_upload_runs_on_the_host_that_took_it() -> None:
    async def main() -> None:
        async with data_center(pace=Pace(upload_per_mib=1.0)) as center:
            iso = b"\x00" * 32769 + b"CD001" + b"\x00" * 4096
            task = await center.client.storages.upload("pve2", "shared", "iso", Upload("a.iso", iso))
            assert task.node == "pve1"
            state = await center.client.tasks.wait(task)
            assert state.phase is Phase.SUCCEEDED
            volumes = await center.client.storages.content("pve2", "shared", content="iso")
            assert [volume.id for volume in volumes] == ["shared:iso/a.iso"]

    run(main())
