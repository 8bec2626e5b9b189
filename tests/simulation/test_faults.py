"""Views that are stale, requests that are refused, watches that break, deaths: it takes longer, and ends the same.

What goes wrong comes from a seed. `make test` plays few seeds, `make test-all` a hundred.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from support.census import Census
from support.crashes import MortalLab
from support.end_state import difference, end_state, orphans, remains
from support.lab import holds
from support.manifests.simulated import Simulated
from support.simulation import SEEDS, Stage, chosen, replay, stage
from support.unruly import Unruly, Weather
from support.virtual_run import run

pytestmark = pytest.mark.long("plays a cluster's life once for each of several seeds")

DEMO = Simulated("demo", workers=2)
NEXT_VERSION = "v1.36.4"
SCALED = 3
SURGE = 1
STORM = 300.0
"""Seconds that a phase has while everything goes wrong; then it gets calm."""
LATEST_DEATH = 60
"""By this write the controllers have died, if a phase has so many."""
FEWEST_FAULTS = 30
DEFAULT_SEEDS = range(1, 5)


@pytest.mark.parametrize("seed", chosen(SEEDS, DEFAULT_SEEDS, range(1, 101)))
def test_whatever_goes_wrong_the_end_is_the_same(seed: int) -> None:
    async def main() -> None:
        async with stage(seed) as played:
            expected = await _play(played, None)
            await _play(played, seed, expected)

    try:
        run(main())
    except AssertionError as error:
        again = replay(SEEDS, seed, "tests/simulation/test_faults.py")
        raise AssertionError(f"seed {seed}. {again}\n{error}") from None


async def _play(played: Stage, seed: int | None, expected: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
    """Create a cluster, roll it, scale it up and delete it; with a seed, in a storm that ends when each is reached, and
    in which the controllers die once."""
    weather = Weather(played.server, seed or 0)
    weather.calm = seed is None
    states: dict[str, list[str]] = {}
    async with (
        played.lab(*DEMO.manifests(), around=lambda transport: Unruly(transport, weather)) as lab,
        Census(lab) as census,
    ):
        await lab.start()
        for phase, begin, done, most in _phases(lab):
            census.reset()
            weather.calm = seed is None
            if seed is not None:
                write = weather.random.randint(1, LATEST_DEATH)
                lab.mortal.die_at(write, takes_effect=weather.random.random() < 0.5)
            await begin()
            await lab.until(f"the end of the {phase} in the storm", lab.reviving(done), patience=STORM)
            weather.calm = True
            await lab.survive(f"the end of the {phase}", done)
            state = states[phase] = await end_state(lab)
            assert census.most <= most, f"{phase}: {census.most} workers at once, {most} are allowed"
            assert not (found := await orphans(lab, DEMO.name)), f"{phase}: {found}"
            if expected is not None:
                assert state == expected[phase], f"{phase}:\n{difference(expected[phase], state)}"
    if seed is not None:
        assert sum(weather.faults.values()) >= FEWEST_FAULTS, f"a quiet day: {weather.faults}"
    return states


Begin = Callable[[], Awaitable[None]]
Done = Callable[[], Awaitable[bool]]


def _phases(lab: MortalLab) -> list[tuple[str, Begin, Done, int]]:
    """What happens, how it begins, when it has ended, and how many workers there may be meanwhile."""
    workers = f"{DEMO.name}-workers"

    async def create() -> None:
        """The objects are there already."""

    async def created() -> bool:
        return holds(await lab.get("Cluster", DEMO.name), "Available") and await _all_up(lab, 2, DEMO.version)

    async def roll() -> None:
        await lab.merge("MachineDeployment", workers, {"spec": {"template": {"spec": {"version": NEXT_VERSION}}}})

    async def rolled() -> bool:
        return await _all_up(lab, 2, NEXT_VERSION)

    async def scale() -> None:
        await lab.merge("MachineDeployment", workers, {"spec": {"replicas": SCALED}})

    async def scaled() -> bool:
        return await _all_up(lab, SCALED, NEXT_VERSION)

    async def delete() -> None:
        await lab.delete("Cluster", DEMO.name)

    async def deleted() -> bool:
        return not await remains(lab, DEMO.name)

    return [
        ("creation", create, created, 2),
        ("rollout", roll, rolled, 2 + SURGE),
        ("scaling up", scale, scaled, SCALED),
        ("deletion", delete, deleted, SCALED),
    ]


async def _all_up(lab: MortalLab, count: int, version: str) -> bool:
    machines = [each for each in await lab.all("Machine") if each.metadata.name.startswith(f"{DEMO.name}-workers")]
    up = len(machines) == count and all(each.spec.version == version and holds(each, "Available") for each in machines)
    (deployment,) = await lab.all("MachineDeployment")
    return up and deployment.status.available_replicas == count
