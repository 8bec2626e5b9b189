from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from nagaya.simulators.proxmox.access.tickets import Tickets
from nagaya.world import World


class Watch:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 16, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()


def tickets(seed: int = 1) -> tuple[Tickets, Watch]:
    watch = Watch()
    return Tickets(World(clock=watch, random=random.Random(seed))), watch


def test_a_ticket_is_accepted_for_two_hours() -> None:
    found, watch = tickets()
    ticket = found.ticket("alice@pve")
    assert found.user(ticket) == "alice@pve"
    watch.time += timedelta(minutes=119)
    assert found.user(ticket) == "alice@pve"
    watch.time += timedelta(minutes=2)
    assert found.user(ticket) is None


def test_a_ticket_from_the_future_is_refused_unless_clocks_merely_differ() -> None:
    found, _ = tickets()
    assert found.user(found.ticket("alice@pve", age=-200)) == "alice@pve"
    assert found.user(found.ticket("alice@pve", age=-3600)) is None


def test_a_changed_ticket_or_one_of_another_data_center_is_refused() -> None:
    found, _ = tickets()
    other, _ = tickets(seed=2)
    ticket = found.ticket("alice@pve")
    assert found.user(ticket.replace("alice", "root")) is None
    assert found.user(other.ticket("alice@pve")) is None
    assert found.user("garbage") is None


def test_a_ticket_looks_like_one_of_pve() -> None:
    found, _ = tickets()
    prefix, _, signature = found.ticket("alice@pve").partition("::")
    assert prefix == f"PVE:alice@pve:{int(datetime(2026, 11, 16, tzinfo=UTC).timestamp()):08X}"
    assert len(signature) == 344
    assert len(found.forgery_token("alice@pve")) == 8 + 1 + 43


def test_a_token_against_forgery_belongs_to_one_user_and_grows_old() -> None:
    found, watch = tickets()
    token = found.forgery_token("alice@pve")
    assert found.forgery_token_fits(token, "alice@pve")
    assert not found.forgery_token_fits(token, "root@pam")
    assert not found.forgery_token_fits("garbage", "alice@pve")
    assert not found.forgery_token_fits("ZZZZZZZZ:garbage", "alice@pve")
    watch.time += timedelta(hours=25)
    assert not found.forgery_token_fits(token, "alice@pve")
