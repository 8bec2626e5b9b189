"""A story in its scene: all that happens, and then how it stands."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from support.plane.act import Act
from support.plane.ending import peace, settle
from support.plane.ends import End, ends
from support.plane.scene import Scene
from support.plane.story import Story


@dataclass(frozen=True, slots=True)
class Performance:
    """What came of a story."""

    problems: list[str]
    """Empty if all went well."""
    told: list[str]
    """What it came to."""
    trace: list[str]
    """All that was done."""
    said: str
    """What the objects said in the end, if it ended badly."""
    ends: list[End]
    """The clusters that are there, if it ended well."""


async def perform(here: Scene, story: Story) -> Performance:
    """Let everything happen, and wait until all is well again."""
    problems: list[str] = []
    try:
        await asyncio.gather(*(_happen(here, act) for act in story.acts))
        here.weather.clear()
        here.control.faults.clear()
        here.tell("all is well again")
        problems = await settle(here) or await peace(here)
    except AssertionError as error:
        problems = [str(error)]
    here.watchman.look()
    problems = [*here.watchman.problems, *here.room.problems, *here.blunders.found, *problems]
    said = await here.story() if problems else ""
    reached = [] if problems else await ends(here)
    return Performance(problems, here.told, here.trace, said, reached)


async def _happen(here: Scene, act: Act) -> None:
    await asyncio.sleep(act.at)
    await act.happen(here)
