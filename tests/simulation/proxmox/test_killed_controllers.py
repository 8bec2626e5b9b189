"""Controllers that are killed at calls to Proxmox VE, and at writes to the API: the next ones find what was begun.

`make test` plays every call that changes something, and a sample of the other calls and of the writes; `make test-all`
plays each.
"""

from __future__ import annotations

import itertools

import pytest

from support.proxmox_town import Town, play, town
from support.proxmox_town_calls import CHANGES, READS
from support.proxmox_town_life import CREATE, DELETE, HEAL, ROLL, Phase, live, nobody_writes
from support.proxmox_town_manifests import Shop
from support.proxmox_town_ways import short
from support.simulation import WRITES, chosen, replay
from support.thoroughness import spread

pytestmark = pytest.mark.long("plays a cluster's whole life")

LIVES = ((CREATE, DELETE), (CREATE, HEAL, DELETE), (CREATE, ROLL, DELETE))
DEATHS = [
    *((call, False) for call in CHANGES),
    *((call, True) for call in CHANGES),
    *((call, True) for call in spread(READS, 5)),
]
LONGEST = 200
"""More writes than a phase has."""
REACHED = 140
"""Writes that the creation, the longest phase here, always makes. It makes 152."""
SAMPLE = range(5, REACHED, 33)
"""Odd and even numbers in turn: only the latter take effect."""


@pytest.mark.parametrize(
    ("call", "takes_effect", "phases"),
    [
        pytest.param(call, effect, phases, id=f"{short(call)}-{'answer' if effect else 'request'}")
        for (call, effect), phases in zip(DEATHS, itertools.cycle(LIVES), strict=False)
    ],
)
def test_controllers_that_die_at_a_call_leave_nothing_behind(
    call: str, takes_effect: bool, phases: tuple[Phase, ...]
) -> None:
    async def before(here: Town, _: Phase) -> None:
        here.ledger.die_at(call, takes_effect=takes_effect)

    async def main() -> None:
        async with town(Shop(1, 1)) as here:
            await here.begin()
            await live(here, phases, before, after=nobody_writes)
            assert here.deaths, f"{call} was never made"

    play(main())


@pytest.mark.parametrize("write", chosen(WRITES, SAMPLE, range(1, LONGEST)))
def test_controllers_that_die_at_a_write_leave_nothing_behind(write: int) -> None:
    async def before(here: Town, _: Phase) -> None:
        here.mortal.die_at(write, takes_effect=write % 2 == 0)

    async def main() -> None:
        async with town(Shop(1, 1)) as here:
            await here.begin()
            await live(here, (CREATE, HEAL, DELETE), before)
            assert here.deaths or write > REACHED, "no phase made so many writes"

    try:
        play(main())
    except AssertionError as error:
        again = replay(WRITES, write, "tests/simulation/proxmox/test_killed_controllers.py")
        raise AssertionError(f"killed at write {write}. {again}\n{error}") from None
