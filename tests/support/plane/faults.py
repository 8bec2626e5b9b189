"""What goes wrong with calls of the controllers and with the controllers themselves, in a story."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from support.plane.act import Act
from support.plane.scene import Scene
from support.plane.weather import Fate, Fog, Mishap, Storm, Way


@dataclass(frozen=True, slots=True)
class CallsFail(Act):
    """A share of all calls to somebody goes wrong for a while."""

    way: Way
    fate: Fate
    share: float
    lasts: float
    seed: int

    async def happen(self, scene: Scene) -> None:
        scene.tell(f"of calls to {self.way}, {self.share:.0%} {self.fate.name}")
        storm = Storm(self.way, self.fate, self.share, random.Random(self.seed))
        scene.weather.storms.append(storm)
        await asyncio.sleep(self.lasts)
        scene.tell(f"calls to {self.way} do no longer {self.fate.name}")
        scene.weather.storms = [each for each in scene.weather.storms if each is not storm]


@dataclass(frozen=True, slots=True)
class CallFails(Act):
    """One call to somebody goes wrong."""

    way: Way
    fate: Fate
    skip: int

    async def happen(self, scene: Scene) -> None:
        scene.tell(f"one call to {self.way}, after {self.skip} others: {self.fate.name}")
        scene.weather.mishaps.append(Mishap(self.way, self.fate, self.skip))


@dataclass(frozen=True, slots=True)
class WatchesFail(Act):
    """Watches tell late or twice, break, and have to begin anew, for a while."""

    way: Way
    share: float
    lasts: float
    seed: int

    async def happen(self, scene: Scene) -> None:
        scene.tell(f"watches of {self.way} fail")
        fog = Fog(self.way, self.share, random.Random(self.seed))
        scene.weather.fogs.append(fog)
        await asyncio.sleep(self.lasts)
        scene.tell(f"watches of {self.way} are well again")
        scene.weather.fogs = [each for each in scene.weather.fogs if each is not fog]


@dataclass(frozen=True, slots=True)
class Crash(Act):
    """The controllers are killed, wherever they are at the moment, and come back with an empty memory."""

    turns: int
    """So many turns of the event loop later, to come between two things that happen at the same time."""
    downtime: float

    async def happen(self, scene: Scene) -> None:
        for _ in range(self.turns):
            await asyncio.sleep(0)
        scene.tell("the controllers are killed")
        scene.die(self.downtime)
