"""What is known of the running life of a process, in a file that outlives the supervisor.

The child itself writes it, before it becomes the program, so there is no program that runs without a record. It is
believed only if the kernel agrees: same boot, same start time, and either the life's lock or the same command line.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from nagaya.supervision.processes import Identity, command_of, holds


@dataclass(frozen=True, slots=True)
class Record:
    """One life."""

    identity: Identity
    digest: str
    """Of the spec that it was started for."""
    command: tuple[str, ...]
    grace: float
    """Seconds that it gets to end by itself."""
    user: int | None = None
    """Who it runs as, if it is confined."""

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """The record in a file; None if there is none, or none that can be read."""
        try:
            told = json.loads(path.read_bytes())
            identity = Identity(int(told["pid"]), int(told["started"]), str(told["boot"]))
            user = told.get("user")
            command = tuple(map(str, told["command"]))
            return cls(
                identity, str(told["digest"]), command, float(told["grace"]), None if user is None else int(user)
            )
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def is_alive(self, lock: Path) -> bool:
        """Whether the life goes on. Some programs close what they inherited, and some rename themselves; not both."""
        if not self.identity.is_alive():
            return False
        return self._is_its_command(command_of(self.identity.pid)) or holds(self.identity.pid, lock)

    def _is_its_command(self, seen: tuple[str, ...]) -> bool:
        """The kernel puts the interpreter of a script before the command, and keeps the rest as it was."""
        return seen[-len(self.command) :] == self.command or (
            os.path.basename(seen[0] if seen else "") == os.path.basename(self.command[0])
            and seen[1:] == self.command[1:]
        )
