"""A cgroup for each process, where this machine lets us make some: its memory is limited, nothing of it escapes.

A limit on address space would be of no use: Go programs reserve far more than they use. There are two versions of
cgroups: in the first every controller has a tree of its own; in the second a group that has processes cannot give its
controllers to groups below it, so the limits stand beside us when they cannot stand below (systemd: `Delegate=yes` and
`DelegateSubgroup=`). Where neither works nothing is limited, and `Supervisor.limits_memory` says so.

A group also remembers who belongs to it, even those who left their session and closed what they had inherited.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
_MEMBERS = "cgroup.procs"


@dataclass(frozen=True, slots=True)
class MemoryCgroups:
    """The groups of one supervisor."""

    base: Path | None
    """Below which groups are made; None if none can be."""
    limit_file: str
    label: str

    @classmethod
    def find(cls, folder: Path, root: Path = ROOT, own: Path = OWN) -> MemoryCgroups:
        """What this process may use, for the supervisor of this folder."""
        label = f"nagaya-{hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:12]}"
        try:
            lines = [line.split(":", 2) for line in own.read_text().splitlines()]
        except OSError:
            return cls(None, "", label)
        for _, controllers, path in lines:
            if "memory" in controllers.split(","):
                base = root / "memory" / path.lstrip("/")
                return cls(base if os.access(base, os.W_OK) else None, "memory.limit_in_bytes", label)
        for _, controllers, path in lines:
            if not controllers and (root / "cgroup.controllers").exists():
                group = root / path.lstrip("/")
                beside = [group.parent] if group != root else []
                base_or_none = next((each for each in (group, *beside) if _delegates(each)), None)
                return cls(base_or_none, "memory.max", label)
        return cls(None, "", label)

    def make(self, name: str, memory: int | None) -> list[Path]:
        """The files by which a process joins its group, made with this limit; none if there is no group to be had."""
        if self.base is None:
            return []
        group = self._group(name)
        try:
            group.mkdir(exist_ok=True)
            if memory is not None:
                (group / self.limit_file).write_text(str(memory))
        except OSError:
            self.forget(name)
            return []
        # Version 2 only: whatever the process started dies with it, and no half of it lives on.
        with contextlib.suppress(OSError):
            if (whole := group / "memory.oom.group").exists():
                whole.write_text("1")
        return [group / _MEMBERS]

    def members(self, name: str) -> list[int]:
        """Who is in the group of a process."""
        if self.base is None:
            return []
        try:
            return [int(line) for line in (self._group(name) / _MEMBERS).read_text().split()]
        except OSError:
            return []

    def forget(self, name: str) -> None:
        """Remove the group of a process that has ended. One that still has somebody in it is left."""
        if self.base is not None:
            with contextlib.suppress(OSError):
                self._group(name).rmdir()

    def _group(self, name: str) -> Path:
        assert self.base is not None
        return self.base / f"{self.label}-{name}"


def _delegates(group: Path) -> bool:
    """Whether groups below this one can limit memory; makes it so if that is permitted."""
    control = group / "cgroup.subtree_control"
    try:
        if "memory" not in control.read_text().split():
            control.write_text("+memory")
    except OSError:
        return False
    return os.access(group, os.W_OK)
