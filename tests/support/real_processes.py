"""Processes that a test starts and that never outlive it, however the test ends.

An orderly end kills them here. For the other ends (a test run that is killed) a small watcher holds one end of a
pipe: when the other end closes without a word, it kills what was started and removes the folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from support.ports import free_ports

__all__ = ["Processes", "free_ports"]

_WATCHER = """
import os, shutil, signal, sys
groups = set()
for line in sys.stdin:
    if line == "done\\n":
        sys.exit()
    verb, group = line.split()
    (groups.add if verb == "started" else groups.discard)(int(group))
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
        """Start a program in a process group of its own; what it says goes into its log. An earlier one of that name is
        ended."""
        if name in self._running:
            self.end(name)
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
        self._tell_watcher(f"started {process.pid}\n")

    @property
    def pids(self) -> dict[str, int]:
        """The process of each program."""
        return {name: process.pid for name, process in self._running.items()}

    def ended(self) -> str | None:
        """The first program that is no longer running."""
        return next((name for name, process in self._running.items() if _has_ended(process)), None)

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
        self._kill(process)
        self._collect(process)

    def end_all(self) -> None:
        """Kill every process and its children; their data is thrown away, so there is nothing to finish."""
        for process in self._running.values():
            self._kill(process)
        for process in self._running.values():
            self._collect(process)
        self._running.clear()

    def close(self) -> None:
        """End everything and remove the folder."""
        self.end_all()
        shutil.rmtree(self.folder)
        self._tell_watcher("done\n")
        assert self._watcher.stdin is not None
        self._watcher.stdin.close()
        self._watcher.wait()

    @staticmethod
    def _kill(process: subprocess.Popen[bytes]) -> None:
        """Kill a process and its children. Its number is its own as long as it is not collected, so no stranger's group
        is hit."""
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)

    def _collect(self, process: subprocess.Popen[bytes]) -> None:
        # Before its number can be another's.
        self._tell_watcher(f"ended {process.pid}\n")
        process.wait()

    def _tell_watcher(self, line: str) -> None:
        assert self._watcher.stdin is not None
        self._watcher.stdin.write(line.encode())
        self._watcher.stdin.flush()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has ended, which is found out without collecting it: see `Processes._kill`."""
    if process.returncode is not None:
        return True
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
