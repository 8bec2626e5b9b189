"""Each call to Proxmox VE fails once, hangs, loses its reply, or fails for a while: it takes longer, and ends the same.

Each phase of a cluster's life meets the fault again. In `make test` each call that changes something fails for a while
and loses its reply, some go wrong in one more way; each call that only reads goes wrong in one way; and a case plays
the creation, the deletion and one of the phases between them. `make test-all` plays all combinations.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest

from support.proxmox_town import Town, play, town
from support.proxmox_town_calls import CALLS, CHANGES, CONFIGURE, READS
from support.proxmox_town_life import (
    CREATE,
    DELETE,
    HEAL,
    LIFE,
    ROLL,
    SCALE_DOWN,
    SCALE_UP,
    UPGRADE,
    Phase,
    live,
    nobody_writes,
)
from support.proxmox_town_manifests import Shop
from support.proxmox_town_mishaps import FAILURE, Mishap, Mode
from support.proxmox_town_ways import short
from support.thoroughness import choose

pytestmark = pytest.mark.long("plays a cluster's whole life")

Case = tuple[str, Mode, int]
"""A call, how it goes wrong, and how many of these calls go well before."""
BETWEEN = ((SCALE_UP, SCALE_DOWN), (HEAL,), (ROLL,), (UPGRADE,))
UNNOTICED = 120.0
"""Seconds until a lost worker is replaced. A call that fails for a while has to fail after them, too."""
UNTOLD = frozenset(
    {
        # What is asked of the guest is only to know that it is up; of a host's network, only where a bridge may be.
        "GET /nodes/{node}/qemu/{vmid}/agent/file-read",
        "GET /nodes/{node}/network",
        # Whether one stands still: the list of all machines tells whether it runs.
        "GET /nodes/{node}/qemu",
        "GET /nodes/{node}/certificates/info",
        "GET /nodes/{node}/tasks/{upid}/status",
        "GET /nodes/{node}/storage",
        "GET /nodes/{node}/storage/{storage}/content",
    }
)
"""Calls whose failure keeps nobody from anything at first, so that nothing has to be said of it."""
INSTEAD = {"GET /nodes/{node}/qemu/{vmid}/config": "could not be read"}
"""Calls whose failure is told in words of their own: why each host cannot have the machine."""
EVERY = [(call, mode, 0) for call in CALLS for mode in Mode] + [
    (CONFIGURE, mode, skip) for skip in (1, 2) for mode in (Mode.FAILS, Mode.REPLY_LOST)
]
ONCE = (Mode.FAILS, Mode.HANGS, Mode.CLOSED, Mode.REPLY_LOST)
SAMPLE = [
    # Messages are asserted only of a call that fails for a while, so each read that has one fails that way.
    *((call, Mode.FAILS_FOR_A_WHILE, 0) for call in READS if call not in UNTOLD),
    *zip((call for call in READS if call in UNTOLD), itertools.cycle(ONCE), itertools.repeat(0)),
    *((call, mode, 0) for call in CHANGES for mode in (Mode.FAILS_FOR_A_WHILE, Mode.REPLY_LOST)),
    *((call, mode, 0) for call, mode in zip(CHANGES[::3], (Mode.FAILS, Mode.HANGS, Mode.CLOSED), strict=True)),
    (CONFIGURE, Mode.REPLY_LOST, 1),
    (CONFIGURE, Mode.FAILS, 2),
]


def _with_phases(cases: Iterable[Case]) -> Iterator[tuple[str, Mode, int, tuple[Phase, ...]]]:
    """Each mode meets the phases between creation and deletion in turn, by a count of its own.

    With one count for all modes, the order of the cases would decide which phases a mode never meets. In this order,
    the two usual modes of a call also meet different phases, and each of them one that makes the call.
    """
    met = Counter[Mode]()
    for call, mode, skip in cases:
        between = BETWEEN[met[mode] % len(BETWEEN)]
        met[mode] += 1
        yield call, mode, skip, choose((CREATE, *between, DELETE), LIFE)


@pytest.mark.parametrize(
    ("call", "mode", "skip", "phases"),
    [
        pytest.param(call, mode, skip, phases, id=f"{short(call)}{f'-{skip + 1}' if skip else ''}-{mode}")
        for call, mode, skip, phases in _with_phases(choose(SAMPLE, EVERY))
    ],
)
def test_a_call_that_goes_wrong_costs_time_and_nothing_else(
    call: str, mode: Mode, skip: int, phases: tuple[Phase, ...]
) -> None:
    mishap = Mishap(call, mode, skip, told=_told if call not in UNTOLD else lambda _, __, ___: None)
    met = set()

    async def during(here: Town, phase: Phase) -> None:
        if phase is HEAL:
            await asyncio.sleep(UNNOTICED)  # of virtual time
        await mishap.during(here, phase)

    async def after(here: Town, phase: Phase) -> None:
        happened = mishap.happened
        await mishap.after(here, phase)
        if mishap.happened > happened:
            met.add(phase.name)
        if phase is CREATE:
            await nobody_writes(here, phase)

    async def main() -> None:
        async with town(Shop(1, 1)) as here:
            await here.begin()
            await live(here, phases, mishap.before, during, after)

    play(main())
    assert met, f"{call} was never made"
    assert call not in CHANGES or met - {CREATE.name, DELETE.name}, f"{call} was made in {met} only"


def _told(here: Town, phase: Phase, call: str) -> None:
    """Whoever waits reads why: what was asked for, and what the host said."""
    if call not in CHANGES and phase is not CREATE:
        return  # nobody needs it before it goes well again
    found = here.witness.heard(INSTEAD.get(call, FAILURE))
    assert found, f"{phase.name}: nobody said that {call} fails"
    if call in CHANGES:
        assert any(_names_a_host(str(each)) for each in found), f"{phase.name}: no host is named: {found[0]}"


def _names_a_host(text: str) -> bool:
    return any(f"pve{number}" in text for number in (1, 2, 3))
