"""What the kernel says of processes, read from `/proc`.

A process id alone names nothing: it is used again. Together with the moment of its start, in ticks since the machine
booted, and the boot's own id it names one process for ever.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_DEAD = "ZX"


@dataclass(frozen=True, slots=True)
class Identity:
    """One process, told apart from every other that has been or will be."""

    pid: int
    started: int
    """Clock ticks since the boot."""
    boot: str

    def is_alive(self) -> bool:
        """Whether it still runs; one that has ended and waits to be collected does not."""
        return self.boot == boot_id() and start_of(self.pid) == self.started

    @property
    def age(self) -> float:
        """Seconds since it was started."""
        uptime = float((_PROC / "uptime").read_text().split()[0])
        return max(0.0, uptime - self.started / os.sysconf("SC_CLK_TCK"))


def boot_id() -> str:
    """The id that the kernel gave this boot."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def identity_of(pid: int) -> Identity | None:
    """The running process of this id; None if there is none."""
    started = start_of(pid)
    return None if started is None else Identity(pid, started, boot_id())


def start_of(pid: int) -> int | None:
    """When the process was started, in ticks; None if it has ended."""
    try:
        line = (_PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the program's name in parentheses, and may itself hold spaces and parentheses.
    fields = line.rpartition(")")[2].split()
    return None if fields[0] in _DEAD else int(fields[19])


def command_of(pid: int) -> tuple[str, ...]:
    """The command line of a process; empty if it has ended."""
    try:
        raw = (_PROC / str(pid) / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return ()
    return tuple(os.fsdecode(word) for word in raw.removesuffix(b"\0").split(b"\0"))


def user_of(pid: int) -> int | None:
    """The number of the user that a process runs as; None if it has ended. A process can hide who its files in `/proc`
    belong to, but not this."""
    if start_of(pid) is None:
        return None
    try:
        lines = (_PROC / str(pid) / "status").read_text(errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("Uid:")), None)


def processes_of(user: int) -> list[int]:
    """All processes that run as a user. Reads all of `/proc`."""
    return [pid for pid in map(int, filter(str.isdigit, os.listdir(_PROC))) if user_of(pid) == user]


def holders_of(file: Path) -> list[int]:
    """The processes that have this file open, without our own. Reads all of `/proc`: for the rare case, in a thread."""
    own = os.getpid()
    pids = [int(entry) for entry in os.listdir(_PROC) if entry.isdigit()]
    return [pid for pid in pids if pid != own and holds(pid, file)]


def holds(pid: int, file: Path) -> bool:
    """Whether this process has this file open."""
    folder = f"{_PROC}/{pid}/fd"
    try:
        descriptors = os.listdir(folder)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        # Gone, or another user's: the processes we look for were started by this user.
        return False
    try:
        wanted = file.stat()
    except FileNotFoundError:
        return False
    for descriptor in descriptors:
        try:
            found = os.stat(f"{folder}/{descriptor}")
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
            return True
    return False
