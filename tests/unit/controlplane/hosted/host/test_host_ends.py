from __future__ import annotations

import asyncio
from pathlib import Path

from nagaya.controlplane.hosted.host.host import Host
from nagaya.controlplane.hosted.host.roll import Roll
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.supervision.status import ProcessStatus, State
from nagaya.supervision.supervisor import Supervisor
from nagaya.world import World

UID = "355ba8b8-c8fd-40d6-92d6-8e90aaaf6302"
NAMES = [f"{UID}.{program}" for program in ("kine", "kube-apiserver-0", "kube-scheduler")]


class Slow(Supervisor):
    """Takes a moment to end each process, and notes when it began and ended."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, World())
        self.noted: list[str] = []

    def list(self) -> list[ProcessStatus]:
        return [ProcessStatus(name, State.READY, 1, 0, "", "") for name in NAMES]

    async def forget(self, name: str) -> None:
        program = name.partition(".")[2]
        self.noted.append(f"{program} is asked")
        await asyncio.sleep(0)
        self.noted.append(f"{program} is gone")


def host(folder: Path) -> tuple[Host, Slow]:
    made, supervisor = Host(HostSettings(folder), World()), Slow(folder / "processes")
    made._supervisor = supervisor
    return made, supervisor


async def test_kine_ends_when_nothing_is_left_that_writes_to_it(tmp_path: Path) -> None:
    made, supervisor = host(tmp_path)

    await made.remove(UID)

    assert supervisor.noted[-2:] == ["kine is asked", "kine is gone"]
    assert {*supervisor.noted[:2]} == {"kube-apiserver-0 is asked", "kube-scheduler is asked"}


async def test_kine_is_the_last_also_where_a_control_plane_only_sleeps(tmp_path: Path) -> None:
    made, supervisor = host(tmp_path)

    await made.carry_out(UID, Roll(stop=tuple(NAMES)))

    assert supervisor.noted[-2:] == ["kine is asked", "kine is gone"]
    assert len(supervisor.noted) == 2 * len(NAMES)
