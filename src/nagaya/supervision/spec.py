"""What shall run: one process, described completely.

The description is a value. Its digest stands in the record of every life, so that a supervisor that finds a running
process can tell whether it is the one that is wanted. The environment is all that the process gets of it, nothing is
inherited; it travels through memory and never through a command line, which every user of the machine can read. That is
why secrets belong there or into files, and never into the command.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from nagaya.supervision.errors import InvalidSpec

# Names become folder names: nothing that is hidden, that climbs up, or that differs by case only.
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,126}[a-z0-9])?")

Probe = Callable[[], Awaitable[bool]]
"""Tells whether a process is ready for work; an exception counts as no."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a process may use at most."""

    memory: int | None = None
    """Bytes; enforced by a cgroup where the machine permits it (`Supervisor.unlimited`), else not at all."""
    open_files: int | None = None
    oom_score: int | None = None
    """-1000 to 1000: who dies first when the machine's memory is full. To go below the own needs a privilege."""
    cpu: float | None = None
    """Processors; enforced as memory is."""
    file_size: int | None = None
    """Bytes that a file may have that the process writes, its log among them. Only of one that is confined."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """An unprivileged user that a process runs as (confine.py), and nothing of which it can get beyond."""

    user: int
    """The number of its user, and of its group."""
    folders: tuple[Path, ...] = ()
    """What it must be able to reach, wherever that is."""
    low_ports: bool = False
    """Whether it may listen at ports below 1024."""


@dataclass(frozen=True)
class ProcessSpec:
    """One process that shall run until told otherwise."""

    name: str
    command: tuple[str, ...]
    """The program by its absolute path, and its arguments."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    files_hash: str = ""
    """Whatever changes when files that the process reads only at its start change."""
    folder: Path | None = None
    """Where it works; its own folder below the supervisor's if not said."""
    limits: Limits = Limits()
    confinement: Confinement | None = None
    """Only for a supervisor that is root."""
    grace: float = 30.0
    """Seconds between SIGTERM and SIGKILL."""
    ready: Probe | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidSpec(
                f"{self.name!r} cannot be the name of a process: up to 128 of a-z, 0-9, '.', '_' and '-', "
                "with a letter or a digit at both ends."
            )
        if not self.command or not os.path.isabs(self.command[0]):
            raise InvalidSpec(f"{self.name}: the command must begin with the absolute path of a program.")
        words = [*self.command, *self.environment, *self.environment.values()]
        if any("\0" in word for word in words) or any(not key or "=" in key for key in self.environment):
            raise InvalidSpec(f"{self.name}: the command or the environment has a word that no process can be given.")

    @cached_property
    def digest(self) -> str:
        """A name for everything that a running process cannot be changed in. The grace is none of that."""
        parts: dict[str, object] = {
            "command": self.command,
            "environment": dict(self.environment),
            "files": self.files_hash,
            "folder": None if self.folder is None else os.fspath(self.folder),
            "limits": [self.limits.memory, self.limits.open_files, self.limits.oom_score],
        }
        # Only where there are some: what runs without any goes on under a later version of Nagaya.
        if self.limits.cpu is not None:
            parts["cpu"] = self.limits.cpu
        if (confined := self.confinement) is not None:
            folders = [os.fspath(each) for each in confined.folders]
            parts["confinement"] = [confined.user, folders, confined.low_ports, self.limits.file_size]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
