"""No address is ever given twice: not by processes that die at any call, lag, or work at the same time, and not by
pools that came to overlap. And nothing is lost: what was given back is given again.

`NAGAYA_IPAM_EXAMPLES` says how many histories are played.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from support.ipam import Manifest, claim, global_pool, pool
from support.ipam_town import Town
from support.passing_time import PassingLoop

pytestmark = pytest.mark.long("draws random histories of many processes")

EXAMPLES = int(os.environ.get("NAGAYA_IPAM_EXAMPLES", "8"))
GLOBAL = "GlobalInClusterIPPool"
EVERY = {10: "p", 11: "p", 12: "g1", 13: "q", 14: "g1", 15: "g1"}
"""All addresses of all pools together, each with a pool that has it."""
WHICH = st.integers(0, 20)
"""Which claim or process it is about. How many there are is not drawn from: that differs from run to run."""
MOST_PROCESSES = 3
PAUSES = st.sampled_from([0.0, 0.15, 0.3, 1.0, 5.0])
"""Seconds for which the processes work before the next thing happens: some are too short to come to an end."""
STRAYS = 700.0
"""Seconds after which addresses that lost their claim have been taken back, and have rested."""


@dataclass(slots=True)
class Stage:
    """One server for all histories, each of which has namespaces and addresses of its own."""

    runner: asyncio.Runner
    town: Town
    played: int = 0


@pytest.fixture(scope="module", autouse=True)
def stage() -> Iterator[None]:
    """The server, for as long as histories are played."""
    with asyncio.Runner(loop_factory=PassingLoop) as runner:

        async def open() -> Town:
            town = Town()
            await town.open()
            return town

        Histories.stage = Stage(runner, runner.run(open()))
        yield
        runner.run(Histories.stage.town.close())


class Histories(RuleBasedStateMachine):
    """Two namespaces, of which the first has two pools that overlap; and a global pool that overlaps both."""

    stage: ClassVar[Stage]

    @initialize()
    def begin(self) -> None:
        self.stage.played += 1
        number = self.stage.played
        self.town = self.stage.town
        self.net = f"10.{number // 250}.{number % 250}"
        self.shared = f"g-{number}"
        self.names = (f"one-{number}", f"two-{number}")
        self.claims: set[tuple[str, str]] = set()
        self.made = 0
        self.run(self._begin())

    def run(self, main: Coroutine[Any, Any, Any]) -> Any:
        return self.stage.runner.run(main)

    def at(self, last: int) -> str:
        return f"{self.net}.{last}"

    def range(self, first: int, last: int) -> str:
        return f"{self.at(first)}-{self.at(last)}"

    async def _begin(self) -> None:
        one, two = self.names
        await self.town.namespace(one)
        await self.town.namespace(two)
        await self.town.create(
            pool("p", self.range(10, 12), namespace=one),
            pool("q", self.range(11, 13), namespace=one),
            pool("r", self.range(11, 12), namespace=two),
            global_pool(self.shared, self.range(12, 15)),
        )
        await self.town.process()

    def claim(self, where: str, wants: int = 0, name: str = "") -> Manifest:
        """A claim for a pool of the first namespace, or with another name of the second."""
        self.made += 1
        namespace = self.names[where in ("r", "g2")]
        name = name or f"c{self.made}"
        self.claims.add((namespace, name))
        target, kind = (self.shared, GLOBAL) if where[0] == "g" else (where, "InClusterIPPool")
        return claim(name, target, namespace=namespace, kind=kind, wants=self.at(wants) if wants else "")

    @rule(
        asked=st.lists(
            st.tuples(st.sampled_from(["p", "p", "q", "q", "r", "g1", "g2"]), st.sampled_from([0, 0, 0, 0, 11, 12])),
            min_size=1,
            max_size=8,
        ),
        pause=PAUSES,
    )
    def ask(self, asked: list[tuple[str, int]], pause: float) -> None:
        """Several claims are made at once."""
        self.run(self.town.create(*(self.claim(where, wants) for where, wants in asked)))
        self.run(asyncio.sleep(pause))

    @precondition(lambda self: self.claims)
    @rule(which=WHICH, pause=PAUSES)
    def give_back(self, which: int, pause: float) -> None:
        """Somebody needs an address no longer."""
        namespace, name = sorted(self.claims)[which % len(self.claims)]
        self.claims.remove((namespace, name))
        self.run(self.town.delete("IPAddressClaim", namespace, name))
        self.run(asyncio.sleep(pause))

    @precondition(lambda self: self.claims)
    @rule(which=WHICH, kind=st.sampled_from(["IPAddressClaim", "IPAddress"]))
    def vanish(self, which: int, kind: str) -> None:
        """Somebody deletes a claim or an address by force."""
        namespace, name = sorted(self.claims)[which % len(self.claims)]
        if kind == "IPAddressClaim":
            self.claims.remove((namespace, name))
        self.run(self.town.vanish(kind, namespace, name))

    @rule(seconds=st.sampled_from([0.0, 0.05, 1.0, 1.0, 20.0, 61.0, 130.0]))
    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.run(asyncio.sleep(seconds))

    @rule(which=WHICH, write=st.integers(1, 8), takes_effect=st.booleans())
    def will_die(self, which: int, write: int, takes_effect: bool) -> None:
        """A process will die at one of its next writes."""
        process = self.town.processes[which % len(self.town.processes)]
        process.mortal.die_at(write, takes_effect=takes_effect)

    @rule(seed=st.one_of(st.none(), st.integers(0, 1000)))
    def start(self, seed: int | None) -> None:
        """Another process starts, beside those there are, unless they are many. With a seed, its connection is bad."""
        if len(self.town.processes) < MOST_PROCESSES:
            self.run(self.town.process(seed))

    @rule(last=st.sampled_from([11, 12, 14]))
    def change(self, last: int) -> None:
        """Somebody changes the range of a pool."""
        self.run(self._set_range(last))

    async def _set_range(self, last: int) -> None:
        content = {"spec": {"addresses": [self.range(10, last)]}}
        await self.town.merge("InClusterIPPool", self.names[0], "p", content)

    @invariant()
    def nobody_shares_an_address(self) -> None:
        """And if nobody lives any more, somebody is started."""
        self.run(self._look_after_processes())
        assert self.town.census.complaints == []

    async def _look_after_processes(self) -> None:
        await self.town.bury()
        if not self.town.processes:
            await self.town.process()

    def teardown(self) -> None:
        if not hasattr(self, "town"):
            return
        try:
            self.run(self._end())
        finally:
            self.run(self._clear())

    async def _end(self) -> None:
        """When no more goes wrong, all addresses come back, and each can be given again."""
        town = self.town
        if town.census.complaints:
            return  # it is told already
        await town.end()
        await town.process()
        await asyncio.sleep(STRAYS)
        await self._give_all_back()
        await self._set_range(12)
        await asyncio.sleep(2 * town.grace)
        await town.create(*(self.claim(where, last, f"last-{last}") for last, where in EVERY.items()))

        async def all_given() -> bool:
            return {each.spec.address for each in await town.all("IPAddress")} == {self.at(last) for last in EVERY}

        await town.until("every address is given again", all_given)
        assert town.census.complaints == []
        await self._give_all_back()

    async def _give_all_back(self) -> None:
        for namespace, name in self.claims:
            await self.town.delete("IPAddressClaim", namespace, name)
        self.claims.clear()

        async def all_gone() -> bool:
            return not await self.town.all("IPAddressClaim") and not await self.town.all("IPAddress")

        await self.town.until("all claims and addresses are gone", all_gone)

    async def _clear(self) -> None:
        """Leave nothing for the next history."""
        town = self.town
        await town.end()
        for kind in ("IPAddressClaim", "IPAddress", "InClusterIPPool", GLOBAL):
            for each in await town.all(kind):
                await town.vanish(kind, each.metadata.namespace, each.metadata.name)
        await asyncio.sleep(1)
        town.census.complaints.clear()


Histories.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=25,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # a history that went wrong is told as it was, and at once
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestNoAddressIsEverGivenTwice = Histories.TestCase
