"""A virtual machine: its configuration file, its snapshots, and the process that runs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Options = dict[str, Any]
"""Options of a machine as PVE's code reads them from the file: text, or a number where the option is one."""


@dataclass(slots=True)
class Process:
    """A running QEMU. It keeps what it was started with, whatever the configuration says later."""

    pid: int
    started: float
    """On the clock that never goes back."""
    status: str = "running"
    """What the monitor says: running, paused, prelaunch, io-error, ..."""
    config: Options = field(default_factory=dict)


@dataclass(slots=True)
class Guest:
    """A virtual machine. Its number is unique in the data center; its host is where its configuration file lies."""

    vmid: int
    node: str
    config: Options = field(default_factory=dict)
    """Options in the words of the file, e.g. `net0: virtio=BC:24:11:00:00:01,bridge=vmbr0`; `lock` too."""
    pending: Options = field(default_factory=dict)
    """Changes that wait for the next start."""
    deletions: dict[str, bool] = field(default_factory=dict)
    """Options that are to go with the next start, each with whether its volume goes too."""
    cloudinit: dict[str, str] = field(default_factory=dict)
    """What the drive with boot data still says of options that have changed since; `added` names new ones."""
    snapshots: dict[str, Options] = field(default_factory=dict)
    """The options at the time of each, with `snaptime`, `parent`, `description`, `vmstate`; while it is being made or
    deleted also with `snapstate`."""
    process: Process | None = None

    @property
    def lock(self) -> str | None:
        """What it is locked for."""
        return self.config.get("lock")

    @property
    def template(self) -> bool:
        """Whether it is only there to be cloned."""
        return str(self.config.get("template", 0)) == "1"

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self.process is not None
