from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

from nagaya.binaries.errors import BinariesUnavailable
from nagaya.binaries.installer import Binaries, Binary
from nagaya.binaries.progress import Reporter
from nagaya.binaries.releases import Release
from nagaya.controlplane.hosted.host.programs import TRY_AGAIN, Programs, Stock
from nagaya.world import World
from support.standing_clock import StandingClock


class Installer:
    """Says what it does, and then has the programs or not."""

    def __init__(self, reporter: Reporter, fails: bool) -> None:
        self._reporter = reporter
        self._fails = fails

    def ensure(self, version: str, programs: Collection[str]) -> Binaries:
        self._reporter.say(f"Building kube-apiserver {version} ...")
        if self._fails:
            raise BinariesUnavailable("kube-apiserver", [], ["install Go"])
        found = {name: Binary(name, version, Path("/bin") / name, "here") for name in programs}
        return Binaries(Release.parse(version), found)


class Waiter:
    """A stock of which it is heard when something changes."""

    def __init__(self, clock: StandingClock) -> None:
        self.fails = False
        self.told: list[Programs] = []
        self._changed = asyncio.Event()
        self.stock = Stock(World(clock), self._hear, lambda reporter: Installer(reporter, self.fails))

    def look(self) -> Programs:
        return self.stock.look("v1.36.3", ["kube-apiserver"])

    def _hear(self) -> None:
        self.told.append(self.look())
        self._changed.set()

    async def until_decided(self) -> Programs:
        while not (self.look().there or self.look().failed):
            self._changed.clear()
            await self._changed.wait()
        return self.look()


async def test_programs_are_provided_in_the_background_and_progress_is_told() -> None:
    waiter = Waiter(StandingClock())

    assert not waiter.look().there
    found = await waiter.until_decided()

    assert found.paths == {"kube-apiserver": Path("/bin/kube-apiserver")}
    assert [each.message for each in waiter.told] == ["Building kube-apiserver v1.36.3 ...", ""]
    await waiter.stock.close()


async def test_a_failure_says_what_to_do_and_is_tried_again() -> None:
    clock = StandingClock()
    waiter = Waiter(clock)
    waiter.fails = True

    assert "install Go" in (await waiter.until_decided()).message
    waiter.fails = False
    assert waiter.look().failed
    clock.seconds += TRY_AGAIN
    assert not waiter.look().failed
    assert (await waiter.until_decided()).there
    await waiter.stock.close()
