"""Plays a story, and says how it ended."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass

from support.plane import fast_loop
from support.plane.act import Act
from support.plane.ending import peace, settle
from support.plane.expected import End, ends, unlike
from support.plane.scene import Scene, scene
from support.plane.story import Story


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a story ended."""

    story: Story
    problems: list[str]
    """Empty if it ended well."""
    told: list[str]
    """What it came to."""
    trace: list[str]
    """All that was done."""
    said: str = ""
    """What the objects said in the end, if it ended badly."""

    @property
    def well(self) -> bool:
        """Whether it ended well."""
        return not self.problems


def play(story: Story) -> Outcome:
    """Play a story from its beginning to its end."""
    # A story is short, and most of what it makes lives as long as it does; what was there before stays anyway.
    gc.disable()
    gc.freeze()
    try:
        outcome, reached = fast_loop.run(_play(story))
    finally:
        gc.collect()
        gc.unfreeze()
        gc.enable()
    if outcome.well:
        outcome.problems.extend(each for end in reached for each in unlike(end))
    return outcome


async def _play(story: Story) -> tuple[Outcome, list[End]]:
    async with scene(story.seed) as here:
        await here.begin()
        problems: list[str] = []
        try:
            await asyncio.gather(*(_perform(here, act) for act in story.acts))
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
        return Outcome(story, problems, here.told, here.trace, said), reached


async def _perform(here: Scene, act: Act) -> None:
    await asyncio.sleep(act.at)
    await act.happen(here)
