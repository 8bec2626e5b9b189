"""Whatever goes wrong with a change: it is made once at most, and the error says whether it may have happened."""

from __future__ import annotations

import pytest

from nagaya.infrastructure.proxmox.client.errors import HostUnreachable, Refused, TaskFailed
from nagaya.simulators.proxmox.faults.fault import Calls, Fault, Kind, Steps, TaskFault, TaskKind, When
from nagaya.simulators.proxmox.faults.faults import Faults
from support.proxmox_transport import data_center
from support.virtual_run import run

CLONE = Calls("POST", "/nodes/*/clone")


@pytest.mark.parametrize(
    ("kind", "happened"),
    [(Kind.HANG, False), (Kind.LOST, True), (Kind.CLOSED, True)],
)
def test_a_clone_without_an_answer_is_not_made_again(kind: Kind, happened: bool) -> None:
    async def main() -> None:
        async with data_center() as center:
            Faults(center.emulator).set(Fault(kind, CLONE))
            with pytest.raises(HostUnreachable) as raised:
                await center.client.machines.clone("pve1", 9001, 101, name="one")
            assert raised.value.may_have_happened
            assert center.transport.asked() == ["POST /nodes/pve1/qemu/9001/clone"]
            assert (101 in center.emulator.datacenter.guests) is happened
            assert await center.client.cluster.is_free(101) is not happened

    run(main())


def test_a_clone_that_took_no_host_is_made_by_the_next() -> None:
    async def main() -> None:
        async with data_center() as center:
            Faults(center.emulator).set(Fault(Kind.REFUSED, CLONE, When(times=1)))
            await center.client.tasks.wait(await center.client.machines.clone("pve1", 9001, 101, name="one"))
            assert [node for node, _ in center.transport.sent[:2]] == ["pve1", "pve2"]

    run(main())


@pytest.mark.parametrize("kind", [Kind.SLOW, Kind.LATE])
def test_a_slow_answer_is_waited_for(kind: Kind) -> None:
    async def main() -> None:
        async with data_center() as center:
            Faults(center.emulator).set(Fault(kind, CLONE, seconds=20.0))
            await center.client.tasks.wait(await center.client.machines.clone("pve1", 9001, 101, name="one"))

    run(main())


def test_a_refusal_is_told_as_it_was_said() -> None:
    async def main() -> None:
        async with data_center() as center:
            Faults(center.emulator).set(Fault(Kind.FAIL, CLONE, reason="out of luck"))
            with pytest.raises(Refused, match="out of luck"):
                await center.client.machines.clone("pve1", 9001, 101, name="one")

    run(main())


@pytest.mark.parametrize(("kind", "said"), [(TaskKind.FAIL, "no space left"), (TaskKind.DIE, "unable to read tail")])
def test_a_task_that_goes_wrong_after_it_was_accepted_is_told(kind: TaskKind, said: str) -> None:
    async def main() -> None:
        async with data_center() as center:
            Faults(center.emulator).set(TaskFault(kind, Steps("qmclone"), text="no space left"))
            task = await center.client.machines.clone("pve1", 9001, 101, name="one")
            with pytest.raises(TaskFailed, match=said):
                await center.client.tasks.wait(task)

    run(main())


def test_reads_go_on_elsewhere_when_one_host_loses_every_answer() -> None:
    async def main() -> None:
        async with data_center() as center:
            Faults(center.emulator).set(Fault(Kind.CLOSED, Calls("GET", node="pve1")))
            for _ in range(5):
                assert len((await center.client.inventory.get(max_age=0)).hosts) == 3
            assert {node for node, _ in center.transport.sent[2:]} == {"pve2"}

    run(main())
