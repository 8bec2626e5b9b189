"""A Cluster that is deleted at any moment of its creation leaves nothing behind.

The creation is played once for every write of the controllers, and the user deletes the Cluster right after that write.
By default only some writes are played; `make test-all` plays each.
"""

from __future__ import annotations

import asyncio

import pytest

from support.end_state import remains
from support.manifests.simulated import Simulated
from support.simulation import WRITES, Stage, chosen, replay, shares, stage
from support.virtual_run import run

pytestmark = pytest.mark.long("plays a cluster's life once for each of many moments")

DEMO = Simulated("demo", workers=2)
LONGEST = 140
"""More writes than a creation has; that is checked."""
SHARE = 70
STEP = 5
CREATION = 30.0
"""Seconds after which a creation that nobody disturbs has ended."""


@pytest.mark.parametrize("writes", shares(chosen(WRITES, range(1, LONGEST, STEP), range(1, LONGEST)), SHARE))
def test_a_cluster_that_is_deleted_at_any_moment_of_its_creation_leaves_nothing_behind(writes: list[int]) -> None:
    async def main() -> None:
        async with stage() as played:
            longest = await _play(played, LONGEST)
            assert longest < LONGEST
            for write in writes:
                if write < longest:
                    await _play(played, write)

    run(main())


async def _play(played: Stage, write: int) -> int:
    """Create a cluster and delete it right after a write, or after the last. Returns how many there were until then."""
    deleted = asyncio.Event()

    async def delete() -> None:
        await lab.delete("Cluster", DEMO.name)
        deleted.set()

    async def nothing_left() -> bool:
        return not await remains(lab, DEMO.name)

    async with played.lab(*DEMO.manifests()) as lab:
        await lab.start()
        lab.mortal.interrupt_at(write, delete)
        await asyncio.sleep(CREATION)
        writes = len(lab.mortal.writes)
        if not deleted.is_set():
            await delete()
        try:
            await lab.until("nothing is left", nothing_left)
            await lab.rest()
            assert await nothing_left(), "something came back"
        except AssertionError as error:
            again = replay(WRITES, write, "tests/simulation/test_deletion_at_any_moment.py")
            found = await remains(lab, DEMO.name)
            raise AssertionError(f"deleted after write {write}. {again}\n{found}\n{error}") from None
        await lab.delete("SimulatedMachineTemplate", f"{DEMO.name}-worker")
    return writes
