"""Stories that ended badly once, in their shortest form. They stay what they are, whatever seeds tell one day."""

from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.faults.fault import TaskKind
from support.plane.accidents import RightMissing, StorageFull, TakeNumber, TasksFail
from support.plane.act import Act
from support.plane.play import play
from support.plane.story import Story
from support.plane.user import Create, Pause
from support.plane.wish import Wish

pytestmark = pytest.mark.long("plays whole histories of the plane")

HISTORIES: dict[str, tuple[int, tuple[Act, ...]]] = {
    "a cloud-init drive on a storage that cannot be reached is taken out": (
        553,
        (
            Create(0.0, "amber", Wish("amber", 1, 1)),
            Pause(9.9, "amber", 16.8),
            StorageFull(12.6, "local-lvm", 112.9, unreachable=True),
        ),
    ),
    "somebody takes the VMID of a machine that may not be cloned yet": (
        816,
        (
            Create(0.0, "amber", Wish("amber", 1, 1)),
            RightMissing(5.55, "/pool/nagaya", "VM.Allocate", 100.8),
            TakeNumber(67.0),
        ),
    ),
    "somebody takes the VMID of a machine whose clone has failed": (
        971,
        (
            Create(0.0, "amber", Wish("amber", 1, 1)),
            TasksFail(8.1, "qmclone", TaskKind.DIE, 2, 92.1),
            TakeNumber(25.8),
        ),
    ),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_what_ended_badly_once_ends_well(name: str) -> None:
    seed, acts = HISTORIES[name]
    outcome = play(Story(seed, acts))
    assert outcome.well, "\n".join([*outcome.problems, *outcome.told, outcome.said])
