from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.kube.rate import RateLimit
from support.virtual_run import run
from support.virtual_time import LoopClock


def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    async def main() -> list[float]:
        clock = LoopClock()
        limit = RateLimit(10, 3, clock)
        moments = []
        for _ in range(6):
            await limit.wait()
            moments.append(round(clock.monotonic(), 6))
        return moments

    assert run(main()) == [0, 0, 0, 0.1, 0.2, 0.3]


def test_callers_go_in_the_order_in_which_they_came() -> None:
    async def main() -> list[int]:
        limit = RateLimit(5, 1, LoopClock())
        order: list[int] = []

        async def caller(number: int) -> None:
            await limit.wait()
            order.append(number)

        await asyncio.gather(*(caller(number) for number in range(10)))
        return order

    assert run(main()) == list(range(10))


def test_a_bucket_fills_up_again_but_no_further() -> None:
    async def main() -> list[float]:
        limit = RateLimit(10, 2, LoopClock())
        await asyncio.sleep(100)
        return [await limit.wait() for _ in range(3)]

    assert run(main()) == [0, 0, pytest.approx(0.1)]


def test_whoever_gives_up_last_in_line_leaves_the_moment_to_the_next() -> None:
    async def main() -> float:
        limit = RateLimit(1, 1, LoopClock())
        await limit.wait()
        waiting = asyncio.ensure_future(limit.wait())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        return await limit.wait()

    assert run(main()) == pytest.approx(1)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 5), st.lists(st.tuples(st.floats(0, 2), st.booleans()), max_size=20))
def test_no_span_sees_more_than_its_share(burst: int, arrivals: list[tuple[float, bool]]) -> None:
    qps = 4.0

    async def main() -> list[float]:
        clock = LoopClock()
        limit = RateLimit(qps, burst, clock)
        passed: list[float] = []

        async def caller(at: float, impatient: bool) -> None:
            await asyncio.sleep(at)
            try:
                async with asyncio.timeout(0.3 if impatient else None):
                    await limit.wait()
            except TimeoutError:
                return
            passed.append(clock.monotonic())

        await asyncio.gather(*(caller(*each) for each in arrivals))
        return passed

    passed = run(main())
    for first in range(len(passed)):
        for last in range(first, len(passed)):
            assert last - first + 1 <= burst + qps * (passed[last] - passed[first]) + 1e-6


def test_a_limit_that_lets_nothing_through_is_refused() -> None:
    with pytest.raises(ValueError, match="positive rate"):
        RateLimit(0, 1, LoopClock())
