"""Runs a long child process whose words are progress, and never leaves it behind.

It gets a process group of its own, so that Ctrl-C reaches us first and we end the whole tree in order; and it
inherits the lock, so that a build whose parent was killed still keeps a second one out. A child beside other work does
not: nobody needs its result, and nobody should wait for it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from nagaya.binaries.errors import BinariesError

_TICK = 1.0
_GRACE = 10.0
_KEPT_LINES = 2000
_LOWEST_PRIORITY = 19
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ChildFailed(BinariesError):
    """The child ended badly."""

    def __init__(self, code: int, words: str) -> None:
        self.words = words
        told = [line for line in words.splitlines() if line.strip()]
        ended = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        self.last_line = told[-1].strip() if told else ended
        super().__init__(f"{ended}: {self.last_line}")


@dataclass(slots=True)
class Child:
    """A command to run; its standard output is the result, its standard error is read line by line."""

    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    lock: int | None

    def run(self, heard: Callable[[str], None], tick: Callable[[], None] | None = None) -> str:
        """What the command wrote to standard output; ChildFailed if it failed."""
        with tempfile.TemporaryFile(dir=self.folder) as out, _undisturbed() as disturb:
            with self._start(out, subprocess.PIPE) as process:
                try:
                    disturb()
                    kept = _listen(process, heard, tick)
                    code = process.wait()
                except BaseException:
                    _end(process)
                    raise
            if code != 0:
                raise ChildFailed(code, "\n".join(kept))
            out.seek(0)
            return out.read().decode(errors="replace")

    @contextlib.contextmanager
    def run_beside(self) -> Iterator[None]:
        """Run the command at the lowest priority while the context lasts, and end it then, or when we are killed. Its
        output and its result are ignored, and so is that it cannot be started."""
        setpriv = shutil.which("setpriv")
        dying_with_us = [setpriv, "--pdeathsig", "KILL"] if setpriv else []
        beside = replace(self, command=[*dying_with_us, *self.command], lock=None)
        with _undisturbed() as disturb, contextlib.ExitStack() as stack:
            with contextlib.suppress(ChildFailed, OSError):
                process = stack.enter_context(beside._start(subprocess.DEVNULL, subprocess.DEVNULL))
                stack.callback(_end, process)
                os.setpriority(os.PRIO_PGRP, process.pid, _LOWEST_PRIORITY)
            disturb()
            yield

    def _start(self, out: IO[bytes] | int, err: int) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                pass_fds=() if self.lock is None else (self.lock,),
            )
        except OSError as error:
            raise ChildFailed(127, f"{self.command[0]}: {error.strerror or error}") from error


@contextlib.contextmanager
def _undisturbed() -> Iterator[Callable[[], None]]:
    """Lets signals wait until what this gives is called, once the child is in hand.

    One that interrupted the start would leave behind a child that nobody knows and nobody ends.
    """
    waiting: list[int] = []
    previous = {}
    # Python handles signals in its main thread, and only there can they disturb or be held.
    if threading.current_thread() is threading.main_thread():
        heeded = [number for number in _INTERRUPTS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
        previous = {number: signal.signal(number, lambda sent, _: waiting.append(sent)) for number in heeded}

    def disturb() -> None:
        while previous:
            signal.signal(*previous.popitem())
        while waiting:
            signal.raise_signal(waiting.pop())

    try:
        yield disturb
    finally:
        disturb()


def _listen(
    process: subprocess.Popen[bytes], heard: Callable[[str], None], tick: Callable[[], None] | None
) -> deque[str]:
    assert process.stderr is not None
    kept: deque[str] = deque(maxlen=_KEPT_LINES)
    unfinished = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stderr, selectors.EVENT_READ)
        while True:
            if selector.select(_TICK):
                data = os.read(process.stderr.fileno(), 1 << 16)
                if not data:
                    break
                *lines, unfinished = (unfinished + data).split(b"\n")
                for line in lines:
                    text = line.decode(errors="replace")
                    kept.append(text)
                    heard(text)
            if tick is not None:
                tick()
    if unfinished:
        kept.append(unfinished.decode(errors="replace"))
    return kept


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the child and all that it started; Go removes its own temporary files when asked politely."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sent)
        except ProcessLookupError:
            break
        try:
            process.wait(_GRACE)
            break
        except subprocess.TimeoutExpired:
            continue
    # The leader is gone; what it started may not be.
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
