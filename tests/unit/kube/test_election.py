from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from nagaya.kube.election import LEASES, LostLeadership, Terms
from nagaya.kube.patches import Merge
from nagaya.world import World
from support.candidates import Stage, play
from support.virtual_time import LoopClock


def test_the_first_replica_leads_and_others_wait() -> None:
    async def scene(here: Stage) -> None:
        first, second = here.replica("first"), here.replica("second")
        first.start()
        await asyncio.sleep(0.1)
        second.start()
        await asyncio.sleep(60)
        assert first.election.leading
        assert not second.election.leading
        assert second.leaders == ["first"]
        with pytest.raises(LostLeadership, match="second does not lead"):
            second.election.guard()
        first.election.guard()
        lease = await first.client.get(LEASES, "kube-system", "nagaya")
        assert lease.spec.holder_identity == "first"
        assert lease.spec.lease_duration_seconds == 15
        assert lease.spec.lease_transitions == 0
        assert lease.spec.renew_time != lease.spec.acquire_time

    play(scene)


def test_a_leader_renews_with_one_write_every_two_seconds() -> None:
    async def scene(here: Stage) -> None:
        leader = here.replica("leader")
        leader.start()
        await asyncio.sleep(1)
        leader.way.calls.clear()
        await asyncio.sleep(60)
        assert len(leader.way.calls) == len(leader.way.writes()) == 30

    play(scene)


def test_a_stopped_leader_hands_over_at_once_after_its_work_has_ended() -> None:
    async def scene(here: Stage) -> None:
        ended: list[float] = []

        async def work() -> None:
            try:
                await asyncio.sleep(1e9)
            finally:
                await asyncio.sleep(30)  # a slow end; the lease is kept meanwhile
                ended.append(here.world.clock.monotonic())
                assert first.election.leading

        first, second = here.replica("first"), here.replica("second")
        task = first.start(work)
        await asyncio.sleep(1)
        second.start()
        await asyncio.sleep(20)
        task.cancel()
        await asyncio.wait([task])
        assert not first.election.leading
        assert not second.election.leading
        await asyncio.sleep(5)
        assert second.election.leading
        assert len(ended) == 1
        lease = await second.client.get(LEASES, "kube-system", "nagaya")
        assert lease.spec.lease_transitions == 1

    play(scene)


def test_a_leader_that_is_cut_off_stops_before_anyone_else_starts() -> None:
    async def scene(here: Stage) -> None:
        first, second = here.replica("first"), here.replica("second")
        task = first.start()
        await asyncio.sleep(1)
        second.start()
        await asyncio.sleep(10)
        first.way.refuse = True
        cut = here.world.clock.monotonic()
        with pytest.raises(LostLeadership, match="could not be renewed for 10 s"):
            await task
        stopped = here.world.clock.monotonic()
        assert stopped - cut <= 10
        while not second.election.leading:
            assert not first.election.leading
            await asyncio.sleep(0.1)
        assert here.world.clock.monotonic() - stopped >= 3

    play(scene)


@pytest.mark.parametrize("fault", ["refuse", "hang", "lose_answers"])
def test_a_short_fault_does_not_cost_the_leadership(fault: str) -> None:
    async def scene(here: Stage) -> None:
        leader = here.replica("leader")
        task = leader.start()
        await asyncio.sleep(5)
        setattr(leader.way, fault, True)
        await asyncio.sleep(4)
        setattr(leader.way, fault, False)
        await asyncio.sleep(60)
        assert leader.election.leading
        assert not task.done()

    play(scene)


def test_renewals_whose_answers_are_lost_count_for_nothing() -> None:
    async def scene(here: Stage) -> None:
        leader = here.replica("leader")
        task = leader.start()
        await asyncio.sleep(5)
        leader.way.lose_answers = True
        with pytest.raises(LostLeadership):
            await task
        with pytest.raises(LostLeadership):
            leader.election.guard()

    play(scene)


def test_trust_is_counted_from_before_the_renewal_was_sent() -> None:
    async def scene(here: Stage) -> None:
        leader = here.replica("leader")
        inner = leader.way._inner
        send = inner.send

        async def slowly(call: Any) -> Any:
            answer = await send(call)
            await asyncio.sleep(4)
            return answer

        inner.send = slowly  # type: ignore[method-assign]  # a slow network
        leader.start()
        await asyncio.sleep(8.01)  # a read and a write
        assert leader.election.leading
        leader.way.hang = True
        await asyncio.sleep(5.9)
        assert leader.election.leading
        await asyncio.sleep(0.1)
        assert not leader.election.leading

    play(scene)


def test_a_machine_that_slept_does_not_lead_when_it_wakes() -> None:
    class Sleeper(LoopClock):
        slept = 0.0

        def now(self) -> Any:
            return super().now() + timedelta(seconds=self.slept)

    async def scene(here: Stage) -> None:
        clock = Sleeper()
        leader = here.replica("leader", World(clock=clock, random=here.world.random))
        leader.start()
        await asyncio.sleep(5)
        leader.election.guard()
        clock.slept = 3600
        with pytest.raises(LostLeadership):
            leader.election.guard()

    play(scene)


def test_a_lease_that_another_took_ends_the_leadership() -> None:
    async def scene(here: Stage) -> None:
        leader, thief = here.replica("leader"), here.replica("thief")
        task = leader.start()
        await asyncio.sleep(5)
        await thief.client.patch(LEASES, "kube-system", "nagaya", Merge({"spec": {"holderIdentity": "thief"}}))
        with pytest.raises(LostLeadership, match="thief holds it now"):
            await task

    play(scene)


def test_a_lease_that_was_deleted_is_made_again() -> None:
    async def scene(here: Stage) -> None:
        leader = here.replica("leader")
        leader.start()
        await asyncio.sleep(5)
        await leader.client.delete(LEASES, "kube-system", "nagaya")
        await asyncio.sleep(5)
        assert leader.election.leading
        assert (await leader.client.get(LEASES, "kube-system", "nagaya")).spec.holder_identity == "leader"

    play(scene)


def test_what_the_work_raises_is_passed_on_and_the_lease_given_back() -> None:
    async def scene(here: Stage) -> None:
        async def work() -> None:
            await asyncio.sleep(3)
            raise RuntimeError("broken")

        leader = here.replica("leader")
        with pytest.raises(RuntimeError, match="broken"):
            await leader.start(work)
        lease = await leader.client.get(LEASES, "kube-system", "nagaya")
        assert lease.spec.holder_identity == ""
        assert lease.spec.lease_duration_seconds == 1

    play(scene)


@pytest.mark.parametrize(
    ("duration", "trusted", "pause"),
    [
        (10, 10.0, 2.0),  # another may lead while the holder still trusts in its lease
        (15, 12.0, 10.0),  # trust ends with the longest pause
        (15, 10.0, 0.0),  # attempts without a pause
    ],
)
def test_terms_that_cannot_work_are_refused(duration: int, trusted: float, pause: float) -> None:
    with pytest.raises(ValueError, match="must outlast"):
        Terms(duration, trusted, pause)


@pytest.mark.parametrize(
    ("duration", "trusted", "pause"), [(10, 9.99, 2.0), (15, 12.01, 10.0), (15, 10.0, 0.01), (15, 10.0, 2.0)]
)
def test_terms_that_barely_work_are_taken(duration: int, trusted: float, pause: float) -> None:
    taken = Terms(duration, trusted, pause)
    assert (taken.duration, taken.trusted, taken.pause) == (duration, trusted, pause)
