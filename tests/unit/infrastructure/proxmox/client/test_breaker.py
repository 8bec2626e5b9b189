from __future__ import annotations

from contextlib import ExitStack

import pytest

from nagaya.infrastructure.proxmox.client.breaker import FAILURES, FIRST_REST, LONGEST_REST, Breaker, Shut, State
from nagaya.infrastructure.proxmox.client.hosts import Hosts
from support.standing_clock import StandingClock


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


def fail(breaker: Breaker, *, to_connect: bool) -> None:
    with breaker.passage() as passage:
        passage.failed("No route to host", to_connect=to_connect)


def test_one_failure_to_connect_opens_it(clock: StandingClock) -> None:
    breaker = Breaker(clock)
    fail(breaker, to_connect=True)
    assert breaker.state is State.OPEN
    with pytest.raises(Shut) as raised, breaker.passage():
        pass
    assert raised.value.dead.why == "No route to host"
    assert raised.value.dead.since == clock.now()


def test_other_failures_open_it_when_there_are_several_in_a_row(clock: StandingClock) -> None:
    breaker = Breaker(clock)
    for _ in range(FAILURES - 1):
        fail(breaker, to_connect=False)
    with breaker.passage() as passage:
        passage.succeeded()
    for _ in range(FAILURES - 1):
        fail(breaker, to_connect=False)
        assert breaker.state is State.CLOSED
    fail(breaker, to_connect=False)
    assert breaker.state is State.OPEN


def test_after_a_rest_one_call_may_try(clock: StandingClock) -> None:
    breaker = Breaker(clock)
    fail(breaker, to_connect=True)
    clock.seconds += FIRST_REST
    assert breaker.state is State.HALF_OPEN
    with breaker.passage() as passage:
        with pytest.raises(Shut), breaker.passage():
            pass
        passage.succeeded()
    assert breaker.state is State.CLOSED
    assert breaker.dead is None


def test_a_try_that_fails_rests_longer_up_to_a_limit(clock: StandingClock) -> None:
    breaker = Breaker(clock)
    fail(breaker, to_connect=True)
    rests = []
    for _ in range(6):
        rest = 0.0
        while breaker.state is State.OPEN:
            clock.seconds += 1
            rest += 1
        rests.append(rest)
        fail(breaker, to_connect=True)
    assert rests == [2, 4, 8, 16, LONGEST_REST, LONGEST_REST]


def test_a_try_that_says_nothing_leaves_the_next_one_free_to_try(clock: StandingClock) -> None:
    breaker = Breaker(clock)
    fail(breaker, to_connect=True)
    clock.seconds += FIRST_REST
    with pytest.raises(KeyError), breaker.passage():
        raise KeyError
    assert breaker.state is State.HALF_OPEN


def test_many_calls_that_were_under_way_count_as_one_failure(clock: StandingClock) -> None:
    breaker = Breaker(clock)
    with ExitStack() as stack:
        for passage in [stack.enter_context(breaker.passage()) for _ in range(5)]:
            passage.failed("gone", to_connect=True)
    clock.seconds += FIRST_REST
    assert breaker.state is State.HALF_OPEN


def test_who_the_cluster_says_is_off_is_not_asked_and_who_is_back_is_tried_at_once(clock: StandingClock) -> None:
    hosts = Hosts(clock)
    hosts.told({"pve1": True, "pve2": False})
    assert hosts.dead() == {"pve2": "the cluster says that it is offline"}
    assert hosts.breaker("pve2").state is State.OPEN
    hosts.told({"pve1": True, "pve2": True})
    assert hosts.breaker("pve2").state is State.HALF_OPEN
    assert hosts.breaker("pve1").state is State.CLOSED
