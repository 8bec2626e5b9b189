"""Clusters that are there when a story begins.

To make one takes longer than most of what can befall it. So each is made once, in a process of its own, in which the
time stands still from then on. A story that begins with it is played in another process, which is derived from that one
(fork), and all that comes of it is gone with that process. So every story finds the cluster as it was made, whatever
was played before; what differs from one story to the next, besides its acts, is what the world does by chance.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import shutil
import tempfile
import traceback
import warnings
from collections.abc import Callable
from functools import cache, partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from support.plane.ending import settle
from support.plane.ends import state_of
from support.plane.fast_loop import FastLoop
from support.plane.performance import Performance, perform
from support.plane.scene import MEMORY, Scene, scene
from support.plane.story import Story
from support.plane.wish import Wish
from support.prepared import prepare

SEED = 1
"""What chance has a share in while a cluster is made is the same for all."""


class Failed(Exception):
    """A process could not do what it was for. Says why, as it said it."""


class Established:
    """A cluster that is as it is wanted. The process that has it ends with the one that asked for it."""

    def __init__(self, wanted: Wish) -> None:
        prepare()
        self._line, theirs = Pipe()
        with warnings.catch_warnings():
            # Newer Pythons warn of threads that the other process will not have. Those are of the tests' own making,
            # and nothing waits for them there.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            self._line.close()  # or it would not notice that nobody asks any more
            _end_with(lambda: _keep(wanted, theirs))
        theirs.close()
        self.state: list[str] = self._answer()
        """Every value of it, as lines."""

    def play(self, story: Story) -> Performance:
        """Let a story begin with it."""
        self._line.send(story)
        played: Performance = self._answer()
        return played

    def _answer(self) -> Any:
        answer = self._line.recv()
        if isinstance(answer, Failed):
            raise answer
        return answer


@cache
def established(wanted: Wish) -> Established:
    """The one of this process."""
    return Established(wanted)


def _keep(wanted: Wish, line: Connection) -> None:
    """Make a cluster, tell how it is, and let stories begin with it until nobody asks for more."""
    with asyncio.Runner(loop_factory=FastLoop) as runner, tempfile.TemporaryDirectory(dir=_memory()) as copy:
        around = contextlib.AsyncExitStack()
        here = runner.run(around.enter_async_context(scene(SEED)))
        _tell(line, lambda: runner.run(_make(here, wanted)))
        files = _Files(here.room.folder, Path(copy))
        # All of it stays, and the processes that are derived share it as long as nobody touches it.
        gc.collect()
        gc.freeze()
        gc.disable()
        with contextlib.suppress(EOFError):
            while True:
                story = line.recv()
                files.put_back()
                child = os.fork()
                if not child:
                    _end_with(partial(_tell, line, partial(_played, runner, here, story)))
                _, status = os.waitpid(child, 0)
                if status:
                    line.send(Failed(f"the process in which {story.seed} was played ended with {status}"))
        runner.run(around.aclose())


async def _make(here: Scene, wanted: Wish) -> list[str]:
    await here.begin()
    here.wishes[wanted.name] = wanted
    await here.create(*wanted.manifests())
    problems = await settle(here)
    assert not problems, problems
    return await state_of(here, wanted)


def _played(runner: asyncio.Runner, here: Scene, story: Story) -> Performance:
    here.world.random.seed(f"story {story.seed}")
    here.told.clear()
    here.trace.clear()
    return runner.run(perform(here, story))


class _Files:
    """The files of a scene, which processes share whatever else they do not, and with them who has locked them. So each
    story has files of its own."""

    def __init__(self, folder: Path, copy: Path) -> None:
        self._folder, self._copy = folder, copy
        self._take(folder, copy)

    def put_back(self) -> None:
        """All as it was."""
        for each in self._folder.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        self._take(self._copy, self._folder)

    @staticmethod
    def _take(source: Path, target: Path) -> None:
        shutil.copytree(source, target, dirs_exist_ok=True)


def _tell(line: Connection, work: Callable[[], object]) -> None:
    """Say what came of something, whatever it was."""
    try:
        answer = work()
    except BaseException:
        answer = Failed(traceback.format_exc())
    line.send(answer)


def _end_with(work: Callable[[], None]) -> None:
    """Do this and nothing else in this process: it must never go on with what the one before it was doing."""
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def _memory() -> Path | None:
    return MEMORY if MEMORY.is_dir() else None
