"""A `nagaya` command that stays in the foreground, and what it says."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from types import TracebackType
from typing import Self

from support.running_server import NAGAYA

PATIENCE = 600.0


class Talking:
    """A running command."""

    def __init__(self, *arguments: str) -> None:
        self.said = ""
        self._process = subprocess.Popen(
            [NAGAYA, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def says(self, pattern: str) -> None:
        """Wait until it has said something."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, self.said):
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"it did not say {pattern!r} but {self.said}"
            chunk = os.read(self._process.stdout.fileno(), 65536).decode()
            assert chunk, f"it ended without {pattern!r}: {self.said}"
            self.said += chunk

    def stop(self) -> int:
        """Ctrl-C."""
        self._process.send_signal(signal.SIGINT)
        rest, _ = self._process.communicate(timeout=PATIENCE)
        self.said += rest.decode()
        return self._process.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()
        if self._process.stdout is not None:
            self._process.stdout.close()
