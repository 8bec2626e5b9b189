"""Cgroups for each process, where this machine lets us make some: memory, processors and tasks are limited, and nothing
of it escapes.

A limit on address space would be of no use: Go programs reserve far more than they use. There are two versions of
cgroups: in the first every controller has a tree of its own, and some may be there without others; in the second a
group that has processes cannot give its controllers to groups below it, so the limits stand beside us when they cannot
stand below (systemd: `Delegate=yes` and `DelegateSubgroup=`). What cannot be limited is missing in `Cgroups.bases`.

A group also remembers who belongs to it, even those who left their session and closed what they had inherited.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nagaya.supervision.spec import Limits

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
CONTROLLERS: Final = ("memory", "cpu", "pids")
_MEMBERS = "cgroup.procs"
_PERIOD: Final = 100_000
"""Microseconds in which a process gets its part of the processors."""
_TASKS: Final = 2048
"""Processes and threads that a confined process may have."""
_SHARE: Final = 0.75
"""The part of this machine's memory and processors that a confined process gets at most, whatever its limits say."""


@dataclass(frozen=True, slots=True)
class Cgroups:
    """The groups of one supervisor."""

    bases: Mapping[str, Path]
    """By controller, below which groups are made. A controller that cannot be used is missing."""
    unified: bool
    """Whether it is version 2, where all controllers have one tree."""
    label: str

    @classmethod
    def find(cls, folder: Path, root: Path = ROOT, own: Path = OWN) -> Cgroups:
        """What this process may use, for the supervisor of this folder."""
        label = f"nagaya-{hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:12]}"
        try:
            lines = [line.split(":", 2) for line in own.read_text().splitlines()]
        except OSError:
            return cls({}, False, label)
        trees = {name: path.lstrip("/") for _, controllers, path in lines for name in controllers.split(",")}
        if "memory" in trees:
            found = {name: root / name / trees[name] for name in CONTROLLERS if name in trees}
            return cls({name: base for name, base in found.items() if os.access(base, os.W_OK)}, False, label)
        if "" in trees and (root / "cgroup.controllers").exists():
            group = root / trees[""]
            for base in (group, *([group.parent] if group != root else [])):
                if "memory" in (delegated := _delegated(base)):
                    return cls(dict.fromkeys(delegated, base), True, label)
        return cls({}, True, label)

    def make(self, name: str, limits: Limits, *, confined: bool = False) -> list[Path]:
        """The files by which a process joins its groups, made with these limits; none if there is no group to be had.
        A `confined` process has limits in any case."""
        found = []
        for controller, files in self._values(limits, confined).items():
            group = self.bases[controller] / f"{self.label}-{name}"
            try:
                group.mkdir(exist_ok=True)
                for file, value in files.items():
                    (group / file).write_text(value)
            except OSError:
                with contextlib.suppress(OSError):
                    group.rmdir()
                continue
            # Version 2 only: whatever the process started dies with it, and no half of it lives on.
            with contextlib.suppress(OSError):
                if (whole := group / "memory.oom.group").exists():
                    whole.write_text("1")
            found.append(group / _MEMBERS)
        return [*dict.fromkeys(found)]

    def _values(self, limits: Limits, confined: bool) -> dict[str, dict[str, str]]:
        """What is written into which files of a group, by controller."""
        memory, cpu = limits.memory, limits.cpu
        if confined:
            most = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE)
            memory = min(memory or most, most)
            share = (os.cpu_count() or 1) * _SHARE
            cpu = min(cpu or share, share)
        files: dict[str, dict[str, str]] = {controller: {} for controller in self.bases}
        if confined:
            files["pids"] = {"pids.max": str(_TASKS)}
        if memory is not None:
            files["memory"] = {"memory.max" if self.unified else "memory.limit_in_bytes": str(memory)}
        if cpu is not None:
            quota = max(int(cpu * _PERIOD), 1000)  # the kernel takes no less
            apart = {"cpu.cfs_period_us": str(_PERIOD), "cpu.cfs_quota_us": str(quota)}
            files["cpu"] = {"cpu.max": f"{quota} {_PERIOD}"} if self.unified else apart
        return {controller: files[controller] for controller in self.bases}

    def members(self, name: str) -> list[int]:
        """Who is in the groups of a process."""
        found: set[int] = set()
        for group in self._groups(name):
            with contextlib.suppress(OSError):
                found.update(int(line) for line in (group / _MEMBERS).read_text().split())
        return sorted(found)

    def forget(self, name: str) -> None:
        """Remove the groups of a process that has ended. One that still has somebody in it is left."""
        for group in self._groups(name):
            with contextlib.suppress(OSError):
                group.rmdir()

    def _groups(self, name: str) -> set[Path]:
        return {base / f"{self.label}-{name}" for base in self.bases.values()}


def _delegated(group: Path) -> list[str]:
    """What groups below this one can limit; makes it as much as is permitted."""
    control = group / "cgroup.subtree_control"
    found: list[str] = []
    with contextlib.suppress(OSError):
        there = (group / "cgroup.controllers").read_text().split()
        for controller in (each for each in CONTROLLERS if each in there):
            if controller not in control.read_text().split():
                control.write_text(f"+{controller}")
            found.append(controller)
    return found if os.access(group, os.W_OK) else []
