"""Controllers that are killed at any write and started again: the cluster ends in the state in which it ends without.

A cluster is created, rolled to another version and deleted, once without trouble and then once for every write: at that
write of the creation, at that write of the rollout and at that write of the deletion the controllers die. By default
only some writes are played; `make test-all` plays each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import pytest

from support.census import Census
from support.crashes import MortalLab
from support.end_state import difference, end_state, orphans, remains
from support.lab import holds
from support.manifests.simulated import Simulated
from support.simulation import WRITES, Stage, chosen, replay, shares, stage
from support.virtual_run import run

pytestmark = pytest.mark.long("plays a cluster's life once for each of many writes")

WORKERS = 2
SURGE = 1
DEMO = Simulated("demo", workers=WORKERS)
NEXT_VERSION = "v1.36.4"
LONGEST = 140
"""More writes than any of the three phases has; that is checked."""
SHARE = 40
STEP = 16


@dataclass(slots=True)
class Life:
    """A cluster from its creation to its end: what it was like in between."""

    lengths: dict[str, int] = field(default_factory=dict)
    states: dict[str, list[str]] = field(default_factory=dict)


def _cases() -> list[object]:
    """Answers that get lost, and requests: other writes of each, so that few cover many."""
    found: list[object] = []
    for name, takes_effect, first in (("answer", True, 1), ("request", False, 1 + STEP // 2)):
        numbers = chosen(WRITES, range(first, LONGEST, STEP), range(1, LONGEST))
        for number, share in enumerate(shares(numbers, SHARE), 1):
            found.append(pytest.param(share, takes_effect, id=f"{name}-{number}"))
    return found


@pytest.mark.parametrize(("writes", "takes_effect"), _cases())
def test_controllers_that_are_killed_at_any_write_end_in_the_same_state(writes: list[int], takes_effect: bool) -> None:
    async def main() -> None:
        async with stage() as played:
            undisturbed = await live(played, None, takes_effect, None)
            assert max(undisturbed.lengths.values()) < LONGEST, undisturbed.lengths
            longest = max(undisturbed.lengths.values())
            for write in writes:
                if write <= longest:
                    try:
                        await live(played, write, takes_effect, undisturbed)
                    except AssertionError as error:
                        failures.append(str(error))

    failures: list[str] = []
    run(main())
    assert not failures, "\n\n".join(failures)


async def live(played: Stage, write: int | None, takes_effect: bool, expected: Life | None) -> Life:
    """Create, roll and delete a cluster, with a crash at a write of each."""
    life = Life()
    async with played.lab(*DEMO.manifests()) as lab, Census(lab) as census:
        await lab.start()
        for phase, begin, done in PHASES:
            census.reset()
            deaths = lab.deaths
            lab.mortal.die_at(write, takes_effect=takes_effect)
            try:
                await begin(lab)
                await lab.survive(f"the end of the {phase}", partial(done, lab))
                life.lengths[phase] = len(lab.mortal.writes)
                life.states[phase] = await end_state(lab)
                assert not await orphans(lab, DEMO.name)
                allowed = WORKERS + (SURGE if phase == "rollout" else 0)
                if expected is None:
                    assert census.most == allowed, "the census has missed some"
                    assert len(await lab.nodes(DEMO.name)) == (0 if phase == "deletion" else 1 + WORKERS)
                    continue
                assert census.most <= allowed, f"{census.most} workers at once, {allowed} are allowed"
                # The number of writes differs a little from run to run.
                if write is not None and write <= expected.lengths[phase] // 2:
                    assert lab.deaths > deaths, "the controllers have not died"
                different = difference(expected.states[phase], life.states[phase])
                assert not different, f"another end:\n{different}"
            except AssertionError as error:
                how = "its answer was lost" if takes_effect else "it was not sent"
                again = replay(WRITES, write or 0, "tests/simulation/test_crashes.py")
                raise AssertionError(f"killed at write {write} of the {phase}: {how}. {again}\n{error}") from None
        await lab.delete("SimulatedMachineTemplate", f"{DEMO.name}-worker")
    return life


async def _create(_: MortalLab) -> None:
    """The objects were there before the controllers."""


async def _created(lab: MortalLab) -> bool:
    cluster = await lab.get("Cluster", DEMO.name)
    return cluster is not None and holds(cluster, "Available") and holds(cluster, "WorkersAvailable")


async def _roll(lab: MortalLab) -> None:
    changed = {"spec": {"template": {"spec": {"version": NEXT_VERSION}}}}
    await lab.merge("MachineDeployment", f"{DEMO.name}-workers", changed)


async def _rolled(lab: MortalLab) -> bool:
    (deployment,) = await lab.all("MachineDeployment")
    machines = [each for each in await lab.all("Machine") if each.metadata.name.startswith(f"{DEMO.name}-workers")]
    new = len(machines) == WORKERS and all(each.spec.version == NEXT_VERSION for each in machines)
    return new and holds(deployment, "Available") and deployment.status.available_replicas == WORKERS


async def _delete(lab: MortalLab) -> None:
    await lab.delete("Cluster", DEMO.name)


async def _deleted(lab: MortalLab) -> bool:
    return not await remains(lab, DEMO.name)


PHASES = (("creation", _create, _created), ("rollout", _roll, _rolled), ("deletion", _delete, _deleted))
