"""A coroutine run on virtual time, from a seed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import Any, TypeVar

from nagaya.world import World
from support.virtual_time import LoopClock, VirtualLoop

T = TypeVar("T")


def virtual_world(seed: int = 1) -> World:
    """A world on the running loop's time."""
    return World(clock=LoopClock(), random=random.Random(seed))


def run(main: Coroutine[Any, Any, T]) -> T:
    """What `main` returns, on virtual time. Tasks that it left behind are cancelled."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
