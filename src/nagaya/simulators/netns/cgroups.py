"""Control groups: one folder per machine in every hierarchy of the host.

A machine's first process is put into its folder before it gets a cgroup namespace, which makes the folder the root that
everything in the machine sees. So a kubelet in it works as on a machine of its own, and every process of the machine is
found in its folder: also one that a run left behind which was killed.

Hosts have one hierarchy (version 2) or one for each controller (version 1); with both, containers use version 1.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MOUNTS: Final = Path("/proc/self/mounts")
_CONTROLLERS: Final = frozenset(
    {
        *("blkio", "cpu", "cpuacct", "cpuset", "devices", "freezer", "hugetlb"),
        *("memory", "misc", "net_cls", "net_prio", "perf_event", "pids", "rdma"),
    }
)
_CPUSET: Final = ("cpuset.cpus", "cpuset.mems")
_INSIDE: Final = "init"
"""In version 2 a group that gives controllers to others may hold no process itself: a machine's own go in here."""
_PAUSE: Final = 0.02
_ATTEMPTS: Final = 250


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One tree of groups."""

    mount: Path
    controllers: str
    """The options that it is mounted with; empty for version 2."""

    @property
    def mounting(self) -> str:
        """The folder that it has below /sys/fs/cgroup, and the options to mount it with."""
        options = f"none,{self.controllers}" if self.controllers.startswith("name=") else self.controllers
        return f"{self.mount.name} {options}"

    @property
    def unified(self) -> bool:
        """Whether it is version 2."""
        return not self.controllers


def hierarchies(mounts: str | None = None) -> tuple[Hierarchy, ...]:
    """The trees that containers on this host use."""
    lines = (mounts if mounts is not None else _MOUNTS.read_text()).splitlines()
    found: dict[str, Hierarchy] = {}
    unified: list[Hierarchy] = []
    for line in lines:
        _, mount, kind, options, *_ = line.split(" ")
        if kind == "cgroup2":
            unified.append(Hierarchy(Path(mount), ""))
        elif kind == "cgroup":
            chosen = ",".join(option for option in options.split(",") if _is_controller(option))
            found.setdefault(chosen, Hierarchy(Path(mount), chosen))
    return tuple(found.values()) or tuple(unified[:1])


def _is_controller(option: str) -> bool:
    return option in _CONTROLLERS or option.startswith("name=")


class Groups:
    """The groups of all machines of one host, below one folder of a name of their own."""

    def __init__(self, name: str, trees: tuple[Hierarchy, ...] | None = None) -> None:
        self._name = name
        self.trees = hierarchies() if trees is None else trees

    def make(self, machine: str) -> list[Path]:
        """The groups of a machine. Returns the files that a process enters them by."""
        entrances = []
        for tree in self.trees:
            group = tree.mount
            for step in (self._name, machine):
                if tree.unified:
                    _give_controllers(group)
                group = group / step
                group.mkdir(exist_ok=True)
                _inherit_cpuset(group)
            entrances.append(group / "cgroup.procs")
        return entrances

    def entrances(self, machine: str) -> list[Path]:
        """The files by which a process joins a machine that is running."""
        return [
            tree.mount / self._name / machine / (_INSIDE if tree.unified else "") / "cgroup.procs"
            for tree in self.trees
        ]

    def settle(self, machine: str, pid: int) -> None:
        """Move a process that made the machine from its group to where its other processes are."""
        for entrance in self.entrances(machine):
            entrance.write_text(str(pid))

    def machines(self) -> list[str]:
        """The machines that have groups, whoever made them."""
        found = {
            folder.name
            for tree in self.trees
            if (tree.mount / self._name).is_dir()
            for folder in (tree.mount / self._name).iterdir()
            if folder.is_dir()
        }
        return sorted(found)

    async def remove(self, machine: str) -> None:
        """End every process in a machine's groups, and remove them."""
        for _ in range(_ATTEMPTS):
            left = self._remove_once(machine)
            if not left:
                return
            # The kernel needs a moment for processes that have just been killed.
            await asyncio.sleep(_PAUSE)
        raise OSError(f"the control groups of machine {machine} cannot be removed: {left[0]} is in use")

    def remove_parent(self) -> None:
        """Remove the folder of all machines. Must be empty."""
        for tree in self.trees:
            with suppress(FileNotFoundError):
                (tree.mount / self._name).rmdir()

    def _remove_once(self, machine: str) -> list[Path]:
        left = []
        for tree in self.trees:
            for group in _deepest_first(tree.mount / self._name / machine):
                for pid in _members(group):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                try:
                    group.rmdir()
                except FileNotFoundError:
                    continue
                except OSError:
                    left.append(group)
        return left


def _deepest_first(group: Path) -> Iterator[Path]:
    for folder, _, _ in os.walk(group, topdown=False):
        yield Path(folder)


def _members(group: Path) -> list[int]:
    try:
        return [int(line) for line in (group / "cgroup.procs").read_text().split()]
    except OSError:  # it has gone meanwhile
        return []


def _inherit_cpuset(group: Path) -> None:
    """In version 1 a new group has no processors, and nothing can be put in, until somebody gives it some."""
    for name in _CPUSET:
        file = group / name
        if file.exists() and (group / "cgroup.clone_children").exists() and not file.read_text().strip():
            file.write_text((group.parent / name).read_text())
    clone = group / "cgroup.clone_children"
    if clone.exists() and (group / _CPUSET[0]).exists():
        clone.write_text("1")


def _give_controllers(group: Path) -> None:
    """In version 2 a group passes on only the controllers that it is told to."""
    available = (group / "cgroup.controllers").read_text().split()
    for controller in available:
        with suppress(OSError):  # some cannot be had while real-time processes run
            (group / "cgroup.subtree_control").write_text(f"+{controller}")
