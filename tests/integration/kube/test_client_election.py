"""Leader election under faults: replicas are cut off, lose answers, hang and restart, and never do two of them lead."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.kube.election import LostLeadership
from support.candidates import Replica, Stage, forever, play


@settings(deadline=None, max_examples=15)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from(["refuse", "lose_answers", "hang", "heal", "restart"]),
            st.floats(0.5, 25),
        ),
        max_size=8,
    ),
    st.integers(0, 1000),
)
def test_there_are_never_two_leaders(faults: list[tuple[int, str, float]], seed: int) -> None:
    async def scene(here: Stage) -> None:
        here.world.random.seed(seed)
        replicas = [here.replica(f"replica-{number}") for number in range(3)]

        async def watch() -> None:
            while True:
                leading = [each.election.identity for each in replicas if each.election.leading]
                assert len(leading) <= 1, leading
                await asyncio.sleep(0.05)

        async def stand(replica: Replica) -> None:
            while True:
                try:
                    await replica.election.run(forever)
                except LostLeadership:
                    await asyncio.sleep(0.5)

        observer = asyncio.create_task(watch())
        tasks = [asyncio.create_task(stand(each)) for each in replicas]
        for number, fault, pause in faults:
            replica = replicas[number]
            if fault == "restart":
                tasks[number].cancel()
                await asyncio.wait([tasks[number]])
                tasks[number] = asyncio.create_task(stand(replica))
            elif fault == "heal":
                replica.way.refuse = replica.way.lose_answers = replica.way.hang = False
            else:
                setattr(replica.way, fault, True)
            await asyncio.sleep(pause)
        for replica in replicas:
            replica.way.refuse = replica.way.lose_answers = replica.way.hang = False
        await asyncio.sleep(60)
        assert sum(each.election.leading for each in replicas) == 1
        assert not observer.done(), observer.exception()

    play(scene)
