"""Who gets a place among the connections, and how many bytes a user may have in flight."""

from __future__ import annotations

import resource

import pytest

from nagaya.apiserver.authn.user import MASTERS, User
from nagaya.apiserver.web.gate import Gate, Seat
from nagaya.apiserver.web.limits import MIB, STRANGERS, Budget, Limits, account_of

SMALL = Limits(connections=10, unauthenticated=5, per_address=3, per_user=3)


def enter(gate: Gate, address: str, closed: list[Seat] | None = None) -> Seat:
    seat = gate.enter(address)
    assert seat is not None
    if closed is not None:
        seat.close = lambda: closed.append(seat)
    return seat


def test_an_address_with_too_many_connections_loses_its_oldest_idle_one() -> None:
    gate, closed = Gate(SMALL), list[Seat]()
    mine = [enter(gate, "10.0.0.1", closed) for _ in range(3)]
    other = enter(gate, "10.0.0.2", closed)
    mine[0].busy = True

    enter(gate, "10.0.0.1", closed)

    assert closed == [mine[1]]
    assert other not in closed
    assert (gate.total, gate.strangers, gate.displaced) == (4, 4, 1)


def test_nobody_gets_in_while_all_connections_of_the_address_are_busy() -> None:
    gate = Gate(SMALL)
    for _ in range(3):
        enter(gate, "10.0.0.1").busy = True

    assert gate.enter("10.0.0.1") is None
    assert gate.refused == 1
    enter(gate, "10.0.0.2")


def test_strangers_displace_each_other_and_the_largest_crowd_first() -> None:
    gate, closed = Gate(SMALL), list[Seat]()
    lonely = enter(gate, "10.0.0.9", closed)
    crowd = [enter(gate, "10.0.0.1", closed) for _ in range(3)]
    enter(gate, "10.0.0.2", closed)

    enter(gate, "10.0.0.3", closed)

    assert closed == [crowd[0]]
    assert lonely not in closed


def test_strangers_never_take_the_places_of_users() -> None:
    gate, closed = Gate(SMALL), list[Seat]()
    users = [enter(gate, "10.0.0.1", closed) for _ in range(3)]
    assert all(seat.claim(f"user-{number}") for number, seat in enumerate(users))

    for number in range(100):
        enter(gate, f"10.1.0.{number}", closed)

    assert gate.strangers == 5
    assert gate.total == 8
    assert not set(users) & set(closed)


def test_users_who_need_places_displace_idle_connections_of_the_largest_user() -> None:
    gate, closed = Gate(Limits(connections=10, unauthenticated=5, per_address=5, per_user=10)), list[Seat]()
    many = [enter(gate, "10.0.0.1", closed) for _ in range(3)]
    many[0].busy = True
    few = [enter(gate, "10.0.0.2", closed) for _ in range(2)]
    assert all(seat.claim("many") for seat in many)
    assert all(seat.claim("few") for seat in few)

    late = enter(gate, "10.0.0.4", closed)
    assert late.claim("late")

    assert closed == [many[1]]
    assert (gate.total, gate.strangers) == (5, 0)


def test_users_who_are_all_at_work_make_room_for_administrators_and_for_those_with_much_less() -> None:
    gate, closed = Gate(Limits(connections=10, unauthenticated=5, per_address=5, per_user=10)), list[Seat]()
    many = []
    for number in range(5):
        many.append(enter(gate, "10.0.0.1", closed))
        many[-1].busy = True
        assert many[-1].claim("many")
        assert gate.strangers == 0, number

    assert not enter(gate, "10.0.0.1").claim("many")
    late = enter(gate, "10.0.0.2", closed)
    assert late.claim("late")
    late.busy = True
    assert closed == [many[0]]
    assert enter(gate, "10.0.0.2", closed).claim("late"), "4 are more than twice 1"
    assert closed == [many[0], many[1]]
    for _ in range(3):
        administrator = enter(gate, "10.0.0.3", closed)
        administrator.busy = True
        assert administrator.claim(None)
    assert not set(closed) & {administrator}
    assert gate.total - gate.strangers == 5


def test_a_user_with_too_many_connections_is_refused_when_none_is_idle() -> None:
    gate, closed = Gate(SMALL), list[Seat]()
    mine = []
    for _ in range(3):
        mine.append(enter(gate, "10.0.0.1", closed))
        mine[-1].busy = True
        assert mine[-1].claim("me")

    late = enter(gate, "10.0.0.1", closed)
    assert not late.claim("me")
    assert late.claim(None), "a user without limit may always"
    assert not closed
    mine[2].busy = False
    assert enter(gate, "10.0.0.1", closed).claim("me")
    assert closed == [mine[2]]


def test_a_place_is_free_again_when_its_connection_is_gone() -> None:
    gate = Gate(SMALL)
    for claims in (False, True) * 20:
        seat = enter(gate, "10.0.0.1")
        if claims:
            assert seat.claim("me")
        seat.leave()
        seat.leave()

    assert (gate.total, gate.strangers, gate.displaced, gate.refused) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("10.0.0.1", "10.0.0.2", False),
    ],
)
def test_an_address_of_ipv6_stands_for_its_network(one: str, other: str, same: bool) -> None:
    gate, closed = Gate(SMALL), list[Seat]()
    for _ in range(3):
        enter(gate, one, closed)
    enter(gate, other, closed)
    assert bool(closed) is same


def test_there_are_never_more_connections_than_files_can_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, most in ((1024, 768), (100, 50), (100_000, 10_000), (resource.RLIM_INFINITY, 10_000)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert Limits().most_connections() == most


def test_each_user_has_a_share_of_the_bytes_in_flight() -> None:
    budget = Budget(Limits(bytes=100, user_bytes=40, stranger_bytes=20))
    assert budget.take("a", 30)
    assert not budget.take("a", 11)
    assert budget.take("a", 10)
    assert budget.take("b", 40)
    assert budget.take(STRANGERS, 15)
    assert not budget.take(STRANGERS, 6)
    budget.give("a", 40)
    assert budget.take("a", 39)
    for account, size in (("a", 39), ("b", 40), (STRANGERS, 15)):
        budget.give(account, size)
    assert budget.total == 0


def test_a_user_who_holds_nothing_gets_one_request_through_even_if_others_hold_all() -> None:
    budget = Budget(Limits(bytes=100, user_bytes=50))
    assert budget.take("a", 50)
    assert budget.take("b", 50)
    assert budget.take("c", 10)
    assert not budget.take("c", 10)
    assert not budget.take("d", 100), "twice the limit is the end for all"
    assert budget.take("d", 90)


def test_one_answer_larger_than_a_users_share_is_sent() -> None:
    assert Budget(Limits()).take("a", 500 * MIB)


def test_service_accounts_count_for_their_namespace_and_administrators_for_nobody() -> None:
    assert account_of(User("system:serviceaccount:team:one")) == account_of(User("system:serviceaccount:team:two"))
    assert account_of(User("system:serviceaccount:team:one")) != account_of(User("system:serviceaccount:team-b:one"))
    assert account_of(User("someone")) == "someone"
    assert account_of(User("someone", groups=(MASTERS,))) is None
