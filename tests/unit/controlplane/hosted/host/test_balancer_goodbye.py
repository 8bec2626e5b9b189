from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nagaya.controlplane.hosted.host.balancer.goodbye import GREETINGS, IDLE, INTERIM, SILENCE, YOUNG, Talk

LONG = INTERIM + 1


def greeted(now: float = 0.0) -> Talk:
    """A connection whose client and API server know each other."""
    talk = Talk(now)
    for _ in range(GREETINGS):
        talk.client_spoke(now)
        talk.server_spoke(LONG, now)
    return talk


def test_greetings_are_no_answer() -> None:
    assert not greeted().is_answer


def test_an_answer_is_over_when_the_server_has_been_silent() -> None:
    talk = greeted()
    talk.client_spoke(100.0)
    talk.server_spoke(LONG, 101.0)

    assert talk.is_answer
    assert talk.ends_at(holding=True) == 101.0 + SILENCE


def test_who_waits_for_an_answer_is_not_interrupted() -> None:
    talk = greeted()
    talk.client_spoke(100.0)

    assert not talk.is_answer
    assert talk.ends_at(holding=False) is None


def test_100_continue_is_no_answer() -> None:
    talk = greeted()
    talk.client_spoke(100.0)
    talk.server_spoke(47, 100.1)
    assert talk.ends_at(holding=False) is None
    assert not talk.is_answer
    talk.client_spoke(100.2)
    talk.server_spoke(LONG, 100.3)

    assert talk.is_answer


def test_the_end_of_a_long_answer_may_be_short() -> None:
    talk = greeted()
    talk.client_spoke(100.0)
    talk.server_spoke(LONG, 100.1)
    talk.server_spoke(27, 100.2)

    assert talk.ends_at(holding=True) == 100.2 + SILENCE


def test_a_young_connection_may_still_be_greeting() -> None:
    talk = greeted(100.0)
    talk.client_spoke(100.1)
    talk.server_spoke(LONG, 100.2)

    assert talk.ends_at(holding=True) == 100.2 + YOUNG


def test_a_connection_on_which_nothing_happens_ends_at_last() -> None:
    assert greeted(100.0).ends_at(holding=False) == 100.0 + IDLE


@given(st.lists(st.tuples(st.sampled_from(["client", "short", "long"]), st.floats(0, 5)), max_size=20))
def test_there_is_no_end_between_a_request_and_its_answer(said: list[tuple[str, float]]) -> None:
    talk, now, asked = greeted(), 100.0, False
    for who, pause in said:
        now += pause
        if who == "client":
            talk.client_spoke(now)
            asked = True
        else:
            talk.server_spoke(LONG if who == "long" else 1, now)
            asked = asked and who != "long"
        due = talk.ends_at(holding=talk.is_answer)
        assert due is None if asked else due is not None and due >= now + min(SILENCE, IDLE)
