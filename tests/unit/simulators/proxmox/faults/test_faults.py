from __future__ import annotations

import asyncio

import pytest

from nagaya.simulators.proxmox.failure import Unanswered, Unconnected
from nagaya.simulators.proxmox.faults.fault import Calls, Fault, Kind, Steps, TaskFault, TaskKind, When
from nagaya.simulators.proxmox.faults.faults import Faults
from support.proxmox_lab import ProxmoxLab, proxmox_lab, token
from support.virtual_run import run, virtual_world

CREATE = Calls("POST", "/nodes/*/qemu")


async def _create(lab: ProxmoxLab, vmid: int) -> int:
    return (await lab.ask("POST", "/nodes/pve1/qemu", {"vmid": vmid})).status


def test_a_call_that_fails_does_nothing() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            faults = Faults(lab.emulator)
            faults.set(Fault(Kind.FAIL, CREATE, status=500, reason="got timeout"))
            answer = await lab.ask("POST", "/nodes/pve1/qemu", {"vmid": 300})
            assert (answer.status, answer.reason) == (500, "got timeout")
            assert answer.body == b'{"data":null,"message":"got timeout\\n"}'
            assert 300 not in lab.datacenter.guests
            assert (await lab.ask("GET", "/nodes/pve1/qemu")).status == 200

    run(main())


@pytest.mark.parametrize("kind", [Kind.LOST, Kind.CLOSED])
def test_a_call_whose_answer_is_lost_is_done(kind: Kind) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            Faults(lab.emulator).set(Fault(kind, CREATE))
            if kind is Kind.LOST:
                answer = await lab.ask("POST", "/nodes/pve1/qemu", {"vmid": 300})
                assert (answer.status, answer.reason, answer.body) == (596, "Broken pipe", b"")
            else:
                with pytest.raises(Unanswered):
                    await lab.ask("POST", "/nodes/pve1/qemu", {"vmid": 300})
            await asyncio.sleep(10)
            assert 300 in lab.datacenter.guests

    run(main())


@pytest.mark.parametrize(("kind", "done_at_once"), [(Kind.SLOW, False), (Kind.LATE, True)])
def test_slow_calls_are_done_late_and_late_ones_at_once(kind: Kind, done_at_once: bool) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            Faults(lab.emulator).set(Fault(kind, CREATE, seconds=60))
            asking = asyncio.create_task(_create(lab, 300))
            await asyncio.sleep(30)
            assert (300 in lab.datacenter.guests) is done_at_once
            assert await asking == 200
            await asyncio.sleep(10)
            assert 300 in lab.datacenter.guests

    run(main())


def test_a_path_is_meant_whether_its_characters_are_escaped_or_not() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            Faults(lab.emulator).set(Fault(Kind.FAIL, Calls("GET", "/nodes/pve1/tasks/UPID:pve1:*"), status=500))
            assert (await lab.ask("GET", "/nodes/pve1/tasks/UPID%3Apve1%3A0/status")).status == 500
            assert (await lab.ask("GET", "/nodes/pve1/tasks/UPID:pve1:0/status")).status == 500

    run(main())


def test_a_call_that_hangs_is_never_answered() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            Faults(lab.emulator).set(Fault(Kind.HANG, Calls(path="/version")))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(3600):
                    await lab.ask("GET", "/version")

    run(main())


def test_a_host_can_refuse_one_caller() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            Faults(lab.emulator).set(Fault(Kind.REFUSED, Calls(caller="alice@pve!*")))
            with pytest.raises(Unconnected):
                await lab.ask("GET", "/version", headers=token("alice@pve!full"))
            assert (await lab.ask("GET", "/version")).status == 200

    run(main())


def test_only_the_nth_goes_wrong_and_it_is_counted() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            faults = Faults(lab.emulator)
            fault = Fault(Kind.FAIL, Calls(path="/version"), When(after=1, times=2))
            number = faults.set(fault)
            statuses = [(await lab.ask("GET", "/version")).status for _ in range(5)]
            assert statuses == [200, 500, 500, 200, 200]
            assert (fault.met, fault.happened) == (5, 2)
            assert [each.fault for each in faults.happened] == [number, number]
            assert faults.remove(number)
            assert not faults.remove(number)
            assert faults.listed == []

    run(main())


def test_chance_is_the_same_from_the_same_seed() -> None:
    async def statuses(seed: int) -> list[int]:
        async with proxmox_lab(world=virtual_world(seed)) as lab:
            Faults(lab.emulator).set(Fault(Kind.FAIL, when=When(probability=0.5)))
            return [(await lab.ask("GET", "/version")).status for _ in range(40)]

    first, again, other = run(statuses(1)), run(statuses(1)), run(statuses(2))
    assert first == again != other
    assert {*first} == {200, 500}


def test_a_task_fails_at_a_step_and_leaves_what_it_had_done() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            Faults(lab.emulator).set(TaskFault(TaskKind.FAIL, Steps("qmclone", step="clone"), text="no space"))
            task = await lab.task("POST", "/nodes/pve1/qemu/9000/clone", {"newid": 300})
            assert task.exitstatus is not None
            assert "no space" in task.exitstatus
            assert 300 not in lab.datacenter.guests

    run(main())


def test_a_task_that_hangs_can_be_stopped() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            Faults(lab.emulator).set(TaskFault(TaskKind.HANG, Steps("qmclone", step="clone")))
            upid = await lab.data("POST", "/nodes/pve1/qemu/9000/clone", {"newid": 300})
            await asyncio.sleep(3600)
            assert lab.emulator.tasks.known[upid].running
            await lab.data("DELETE", f"/nodes/pve1/tasks/{upid}")
            assert not lab.emulator.tasks.known[upid].running

    run(main())


def test_a_worker_that_dies_says_nothing_and_cleans_nothing_up() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            Faults(lab.emulator).set(TaskFault(TaskKind.DIE, Steps("qmclone", step="clone")))
            task = await lab.task("POST", "/nodes/pve1/qemu/9000/clone", {"newid": 300})
            assert task.exitstatus == "unexpected status"
            assert lab.datacenter.guests[300].lock == "clone"

    run(main())
