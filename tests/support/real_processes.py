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


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody has right now: all held at once, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for held in sockets:
            held.bind(("127.0.0.1", 0))
        return [held.getsockname()[1] for held in sockets]
    finally:
        for held in sockets:
            held.close()
