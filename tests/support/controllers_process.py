"""`nagaya controllers` as users run it: a process of its own, whose words are read as they come."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from support.running_server import NAGAYA

PATIENCE = 240.0
RUNNING = r"Running .* against .*\. Stop with Ctrl-C\."


class Controllers:
    """A running `nagaya controllers`."""

    command: Sequence[str] = ("controllers",)

    def __init__(self, kubeconfig: Path, *arguments: str) -> None:
        self.said = ""
        self._process = subprocess.Popen(
            [NAGAYA, *self.command, f"--kubeconfig={kubeconfig}", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def says(self, pattern: str, within: float = PATIENCE) -> re.Match[str]:
        """Wait until it has said something."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + within
        while not (found := re.search(pattern, self.said)):
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"it did not say {pattern!r} within {within:.0f} s but {self.said!r}"
            chunk = os.read(self._process.stdout.fileno(), 65536).decode()
            assert chunk, f"it ended without {pattern!r}, with {self.said!r}"
            self.said += chunk
        return found

    def stop(self, number: signal.Signals = signal.SIGINT) -> tuple[int, float]:
        """Send a signal. Returns the exit code, and the seconds that it took."""
        began = time.monotonic()
        self._process.send_signal(number)
        rest, _ = self._process.communicate(timeout=PATIENCE)
        self.said += rest.decode()
        return self._process.returncode, time.monotonic() - began

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(f"nagaya {self.command[0]} said:\n{self.said}")
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()
        if self._process.stdout is not None:
            self._process.stdout.close()
