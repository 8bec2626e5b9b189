"""A cluster on Proxmox VE from its creation to its end, while all goes well."""

from __future__ import annotations

import pytest

from support.proxmox_town import Town, play, town
from support.proxmox_town_calls import CALLS, SOMETIMES
from support.proxmox_town_life import CREATE, DELETE, LIFE, Phase, live, nobody_writes
from support.proxmox_town_manifests import Shop

pytestmark = pytest.mark.long("plays a cluster's whole life, some of them twice")


@pytest.mark.parametrize("control_planes", [1, 3])
def test_a_cluster_lives_and_leaves_nothing_behind(control_planes: int) -> None:
    async def main() -> None:
        async with town(Shop(control_planes, 2)) as here:
            await here.begin()
            await live(here, LIFE, after=nobody_writes)
            if control_planes == 1:
                assert {*here.ledger.calls} - {*SOMETIMES} == {*CALLS}

    play(main())


def test_two_lives_from_one_seed_are_the_same() -> None:
    def played() -> list[str]:
        async def main() -> list[str]:
            async with town(Shop(1, 1), seed=7) as here:
                await here.begin()
                await live(here, (CREATE, DELETE))
                return here.ledger.calls

        return play(main())

    first = played()
    assert first == played()


def test_a_plain_life_says_nothing_of_rights_or_hosts() -> None:
    """What goes by itself in a moment worries nobody: pools of machines that are just made or unmade are such."""

    async def main() -> None:
        async with town(Shop(1, 1)) as here:
            await here.begin()
            await live(here, (CREATE, DELETE), after=_nothing_bad_was_said)

    play(main())


async def _nothing_bad_was_said(here: Town, phase: Phase) -> None:
    for words in ("HTTP 403", "HTTP 5", "is off since", "DeletionFailed", "TaskFailed"):
        found = here.witness.heard(words)
        assert not found, f"{phase.name}: {found[0]}"
