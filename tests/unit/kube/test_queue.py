from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.kube.key import Key
from nagaya.kube.queue import RETRY_JITTER, RETRY_MAXIMUM, Priority, Queue, QueueClosed
from support.virtual_run import run
from support.virtual_time import LoopClock

A, B, C = Key("n", "a"), Key("n", "b"), Key("n", "c")


def queue() -> Queue:
    return Queue(LoopClock())


async def drain(work: Queue) -> list[Key]:
    found = []
    while work.depth:
        key = await work.get()
        work.done(key)
        found.append(key)
    return found


def test_a_key_that_is_queued_is_not_queued_twice() -> None:
    async def main() -> None:
        work = queue()
        for key in (A, B, A, A):
            work.add(key)
        assert work.depth == work.adds == 2
        assert await drain(work) == [A, B]

    run(main())


def test_a_key_in_work_comes_back_only_when_that_is_done() -> None:
    async def main() -> None:
        work = queue()
        work.add(A)
        assert await work.get() == A
        work.add(A)
        work.add(A)
        assert work.depth == 0
        work.done(A)
        assert await drain(work) == [A]

    run(main())


def test_fresh_events_go_before_resyncs_and_take_waiting_keys_along() -> None:
    async def main() -> None:
        work = queue()
        work.add(A, Priority.RESYNC)
        work.add(B, Priority.RESYNC)
        work.add(C)
        work.add(B)
        assert work.adds == 3
        assert await drain(work) == [C, B, A]

    run(main())


def test_an_event_during_the_work_on_a_key_outranks_a_resync_of_it() -> None:
    async def main() -> None:
        work = queue()
        work.add(A)
        await work.get()
        work.add(A, Priority.RESYNC)
        work.add(A)
        work.add(B, Priority.RESYNC)
        work.done(A)
        assert await drain(work) == [A, B]

    run(main())


def test_of_several_delays_the_earliest_wins() -> None:
    async def main() -> None:
        work, loop = queue(), asyncio.get_running_loop()
        work.add_after(A, 30)
        work.add_after(A, 10)
        work.add_after(A, 20)
        assert await work.get() == A
        assert loop.time() == pytest.approx(10)
        work.done(A)
        await asyncio.sleep(100)
        assert work.depth == 0

    run(main())


def test_work_before_a_delay_is_over_does_not_cancel_it() -> None:
    async def main() -> None:
        work, loop = queue(), asyncio.get_running_loop()
        work.add_after(A, 10)
        work.add(A)
        assert await drain(work) == [A]
        assert await work.get() == A
        assert loop.time() == pytest.approx(10)

    run(main())


def test_news_that_gather_lead_to_one_turn_at_the_time_of_the_first() -> None:
    async def main() -> None:
        work = queue()
        work.gather(A, 1.0)
        await asyncio.sleep(0.6)
        work.gather(A, 1.0)
        assert work.depth == 0
        assert work.busy
        await asyncio.sleep(0.5)
        assert await drain(work) == [A]
        await asyncio.sleep(2)
        assert work.adds == 1
        assert not work.busy

    run(main())


def test_news_that_wait_less_do_not_wait_for_those_that_wait_longer() -> None:
    async def main() -> None:
        work = queue()
        work.gather(A, 5.0)
        work.gather(A, 1.0)
        work.gather(A, 3.0)
        await asyncio.sleep(1.1)
        assert await drain(work) == [A]
        assert not work.busy
        await asyncio.sleep(10)
        assert work.adds == 1

    run(main())


def test_work_that_begins_before_sees_all_news_that_gathered() -> None:
    async def main() -> None:
        work = queue()
        work.gather(A, 1.0)
        work.add(A)
        assert await work.get() == A
        work.gather(A, 1.0)  # this one it may not have seen
        work.done(A)
        assert work.depth == 0
        await asyncio.sleep(0.5)
        assert work.depth == 0
        await asyncio.sleep(0.6)
        assert await drain(work) == [A]
        work.add(B)
        work.gather(B, 1.0)
        assert await drain(work) == [B]
        assert not work.busy

    run(main())


def test_a_key_that_fails_comes_back_later_each_time_until_it_is_forgotten() -> None:
    async def main() -> None:
        work = queue()
        delays = []
        for _ in range(25):
            delays.append(work.retry(A))
            assert await work.get() == A
            work.done(A)
        assert delays[:4] == [0.005, 0.01, 0.02, 0.04]
        assert delays[-1] == RETRY_MAXIMUM
        work.forget(A)
        assert work.retry(A) == 0.005

    run(main())


def test_jitter_makes_a_backoff_longer_but_not_much() -> None:
    async def main() -> None:
        work = Queue(LoopClock(), random.Random(1))
        delays = [work.retry(Key("n", str(number))) for number in range(100)]
        assert all(0.005 <= delay <= 0.005 * (1 + RETRY_JITTER) for delay in delays)
        assert len(set(delays)) > 50

    run(main())


def test_a_success_cancels_the_retry_that_was_still_to_come() -> None:
    async def main() -> None:
        work = queue()
        work.retry(A)
        work.forget(A)
        await asyncio.sleep(10)
        assert work.depth == 0

    run(main())


def test_a_cancelled_worker_passes_its_key_on() -> None:
    async def main() -> None:
        work = queue()
        first, second = asyncio.create_task(work.get()), asyncio.create_task(work.get())
        await asyncio.sleep(0)
        work.add(A)
        first.cancel()
        assert await second == A
        with pytest.raises(asyncio.CancelledError):
            await first

    run(main())


def test_idle_waits_for_work_and_for_short_retries_but_not_for_long_ones() -> None:
    async def main() -> None:
        work = queue()
        work.add(A)
        key = await work.get()
        waiting = asyncio.create_task(work.idle())
        await asyncio.sleep(1)
        assert not waiting.done()
        work.retry(key)
        work.done(key)
        await asyncio.sleep(0.001)
        assert not waiting.done()
        assert await work.get() == key
        work.forget(key)
        work.done(key)
        await waiting
        for _ in range(10):
            work.retry(A)
        assert not work.busy

    run(main())


def test_a_closed_queue_sends_its_workers_home_and_forgets_its_timers() -> None:
    async def main() -> None:
        work = queue()
        work.add(A)
        await work.get()
        waiting = asyncio.create_task(work.get())
        work.add_after(B, 5)
        work.retry(C)
        await asyncio.sleep(0)
        work.close()
        with pytest.raises(QueueClosed):
            await waiting
        work.add(B)
        work.done(A)
        await asyncio.sleep(10)
        assert work.depth == 0
        with pytest.raises(QueueClosed):
            await work.get()

    run(main())


def test_figures_tell_how_long_keys_wait_and_work_takes() -> None:
    async def main() -> None:
        work = queue()
        work.add(A)
        await asyncio.sleep(2)
        await work.get()
        assert work.last_latency == pytest.approx(2)
        await asyncio.sleep(3)
        assert work.longest_running == work.unfinished == pytest.approx(3)
        work.done(A)
        assert work.longest_running == work.running == 0

    run(main())


Step = tuple[str, int, float]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "resync", "after", "retry", "sleep"]),
        st.integers(0, 4),
        st.floats(0.001, 20, allow_nan=False),
    ),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.integers(1, 4))
def test_every_request_is_followed_by_work_and_no_key_is_in_two_hands(steps: list[Step], workers: int) -> None:
    """Whatever is asked for, in whatever order: each key is worked on after the moment it was asked for."""

    async def main() -> None:
        work, loop = queue(), asyncio.get_running_loop()
        due: dict[Key, float] = {}
        started: dict[Key, float] = {}
        in_work: set[Key] = set()

        async def worker() -> None:
            while True:
                try:
                    key = await work.get()
                except QueueClosed:
                    return
                assert key not in in_work
                in_work.add(key)
                started[key] = loop.time()
                await asyncio.sleep(0.7)
                in_work.remove(key)
                work.done(key)

        tasks = [asyncio.create_task(worker()) for _ in range(workers)]
        for action, number, seconds in steps:
            key = Key("n", str(number))
            if action == "sleep":
                await asyncio.sleep(seconds)
                continue
            if action == "after":
                work.add_after(key, seconds)
                due.setdefault(key, 0.0)
            elif action == "retry":
                work.retry(key)
                due.setdefault(key, 0.0)
            else:
                work.add(key, Priority.FRESH if action == "add" else Priority.RESYNC)
                due[key] = loop.time()
        await asyncio.sleep(RETRY_MAXIMUM + 100)
        await work.idle()
        for key, moment in due.items():
            assert started[key] >= moment
        assert not in_work
        assert work.depth == work.running == 0
        work.close()
        await asyncio.gather(*tasks)

    run(main())


def test_a_wait_too_short_for_the_clock_still_lets_time_pass() -> None:
    async def main() -> None:
        work, loop = queue(), asyncio.get_running_loop()
        await asyncio.sleep(4.5)
        begun = loop.time()
        work.add_after(A, 1e-17)
        assert await work.get() == A
        assert loop.time() > begun

    run(main())
