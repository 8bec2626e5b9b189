"""Processes that a test starts and that never outlive it, however the test ends.

An orderly end kills them here. For the other ends (a test run that is killed) a small watcher holds one end of a
pipe: when the other end closes without a word, it kills what was started and removes the folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Sequence
from pathlib import Path

_WATCHER = """
import os, shutil, signal, sys
groups = []
for line in sys.stdin:
    if line == "done\\n":
        sys.exit()
    groups.append(int(line))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""

TAIL_LINES = 30
_MOST_GIVEN = 64
"""Ports that are held at a time: far more than programs that are starting want."""
_given: deque[socket.socket] = deque()


class Processes:
    """A temporary folder and the processes that work in it."""

    def __init__(self, prefix: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=prefix))
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._watcher = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _WATCHER, os.fspath(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def start(self, name: str, command: Sequence[str | os.PathLike[str]]) -> None:
        """Start a program in a process group of its own; what it says goes into its log."""
        with self.log(name).open("wb") as log:
            process = subprocess.Popen(
                [os.fspath(word) for word in command],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._running[name] = process
        self._tell_watcher(f"{process.pid}\n")

    @property
    def pids(self) -> dict[str, int]:
        """The process of each program."""
        return {name: process.pid for name, process in self._running.items()}

    def ended(self) -> str | None:
        """The first program that is no longer running."""
        return next((name for name, process in self._running.items() if process.poll() is not None), None)

    def log(self, name: str) -> Path:
        """Where a program's words are."""
        return self.folder / f"{name}.log"

    def tails(self) -> str:
        """The last words of every program, for a message."""
        parts = []
        for name in self._running:
            lines = self.log(name).read_text(errors="replace").splitlines()
            parts.append("\n".join([f"--- {name}, last {TAIL_LINES} lines of {len(lines)}:", *lines[-TAIL_LINES:]]))
        return "\n".join(parts)

    def end(self, name: str) -> None:
        """Kill one process and its children."""
        process = self._running.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end_all(self) -> None:
        """Kill every process and its children; their data is thrown away, so there is nothing to finish."""
        for process in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self._running.values():
            process.wait()
        self._running.clear()

    def close(self) -> None:
        """End everything and remove the folder."""
        self.end_all()
        shutil.rmtree(self.folder)
        self._tell_watcher("done\n")
        assert self._watcher.stdin is not None
        self._watcher.stdin.close()
        self._watcher.wait()

    def _tell_watcher(self, line: str) -> None:
        assert self._watcher.stdin is not None
        self._watcher.stdin.write(line.encode())
        self._watcher.stdin.flush()


def held(port: int = 0) -> socket.socket:
    """A port of loopback, this one or any, that the system gives to no process that asks for any while this is open.

    It is bound but deaf: who connects is refused, and a server that is told this port can listen there beside it, since
    servers share addresses (SO_REUSEADDR) with whoever does not listen.
    """
    made = socket.socket()
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", port))
    except BaseException:
        made.close()
        raise
    return made


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody has, and that nobody else is given before whoever is told to listen there does."""
    found = [held() for _ in range(count)]
    _given.extend(found)
    while len(_given) > _MOST_GIVEN:
        _given.popleft().close()
    return [each.getsockname()[1] for each in found]
