"""A configuration file in the hands of somebody who read it: a copy, until it is written back.

Two who read the same file do not see each other's changes, and a change that cannot be written never happened.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu import options, text
from nagaya.simulators.proxmox.qemu.drives import Drive, is_drive, parse_drive
from nagaya.simulators.proxmox.state.guest import Guest, Options

UNUSED = 256
"""How many disks can be kept beside those in use."""


@dataclass(slots=True)
class Configuration:
    """What stands in the file of a machine."""

    vmid: int
    options: Options = field(default_factory=dict)
    pending: Options = field(default_factory=dict)
    deletions: dict[str, bool] = field(default_factory=dict)
    cloudinit: dict[str, str] = field(default_factory=dict)
    snapshots: dict[str, Options] = field(default_factory=dict)
    digest: str = ""
    """Of the file as it was read."""

    def get(self, option: str) -> Any:
        """An option as it is in force."""
        return self.options.get(option)

    @property
    def lock(self) -> str | None:
        """What the machine is locked for."""
        return self.options.get("lock")

    @property
    def template(self) -> bool:
        """Whether the machine is only there to be cloned."""
        return str(self.options.get("template", 0)) == "1"

    def check_lock(self) -> None:
        """Refuse what cannot be done to a locked machine."""
        if self.lock:
            raise Failure(f"VM is locked ({self.lock})\n")

    def check_protection(self, refused: str) -> None:
        """Refuse what the owner protected the machine from."""
        if self.options.get("protection"):
            raise Failure(f"{refused} - protection mode enabled\n")

    def drives(self) -> list[Drive]:
        """The drives in use, in PVE's order."""
        return drives_of(self.options)

    def cloudinit_drive(self, besides: str | None = None) -> str | None:
        """The drive with boot data."""
        return cloudinit_drive(self.options, besides)

    def add_unused(self, volume: str) -> str | None:
        """Keep a disk that is no longer in use."""
        free = None
        for number in reversed(range(UNUSED)):
            taken = self.options.get(f"unused{number}")
            if taken == volume:
                return None
            if not taken:
                free = f"unused{number}"
        if free is None:
            raise Failure("Too many unused volumes - please delete them first.\n")
        self.options[free] = volume
        return free

    def in_use(self, volume: str, besides: str | None) -> bool:
        """Whether a disk is used, by another drive or by any drive of a snapshot."""
        if any(drive.file == volume and drive.key != besides and not drive.cdrom for drive in self.drives()):
            return True
        return any(
            drive.file == volume and not drive.cdrom
            for snapshot in self.snapshots.values()
            for drive in drives_of(snapshot)
        )

    def mark_deletion(self, option: str, *, force: bool = False) -> None:
        """Let an option go with the next start."""
        self.pending.pop(option, None)
        self.deletions[option] = force

    def clean_pending(self) -> bool:
        """Forget changes that change nothing; say whether there were any."""
        changed = False
        for option, value in list(self.pending.items()):
            if option in self.options and self.options[option] == value:
                del self.pending[option]
                changed = True
        for option in list(self.deletions):
            if option not in self.options:
                del self.deletions[option]
                changed = True
        return changed

    def current(self) -> Options:
        """The options with all waiting changes made."""
        merged = {**self.options, **self.pending}
        for option in self.deletions:
            # PVE looks at the value before it leaves one out, so a zero stays.
            if merged.get(option):
                del merged[option]
        return merged

    def clean(self) -> None:
        """Make it what will be read back once it is written."""
        if (cpus := self.options.pop("smp", None)) and not self.options.get("sockets"):
            # The old way to say how many: it knew of no cores.
            self.options["sockets"] = cpus
            self.options.pop("cores", None)
        for section in (self.options, self.pending, *self.snapshots.values()):
            for option, value in list(section.items()):
                if option == "description":
                    section[option] = str(value or "").rstrip() or None
                elif option != "snapstate":
                    section[option] = options.stored(option, value)
                if section[option] is None:
                    del section[option]
        used = {drive.file for section in (self.options, self.pending) for drive in drives_of(section)}
        for option in [option for option in self.options if option.startswith("unused")]:
            if self.options[option] in used:
                del self.options[option]
        if not cloudinit_drive(self.options):
            self.cloudinit = {}

    def text(self) -> str:
        """The file."""
        return text.file(self.options, self.pending, self.deletions, self.cloudinit, self.snapshots)


def read(guest: Guest) -> Configuration:
    """The file of a machine."""
    configuration = Configuration(
        guest.vmid,
        dict(guest.config),
        dict(guest.pending),
        dict(guest.deletions),
        dict(guest.cloudinit),
        {name: dict(section) for name, section in guest.snapshots.items()},
    )
    configuration.digest = text.digest(configuration.text())
    return configuration


def write(guest: Guest, configuration: Configuration) -> None:
    """Put a file in the place of the old one."""
    configuration.clean()
    guest.config = dict(configuration.options)
    guest.pending = dict(configuration.pending)
    guest.deletions = dict(configuration.deletions)
    guest.cloudinit = dict(configuration.cloudinit)
    guest.snapshots = {name: dict(section) for name, section in configuration.snapshots.items()}
    configuration.digest = text.digest(configuration.text())


def drives_of(section: Options) -> list[Drive]:
    """The drives among some options, in PVE's order."""
    found = [parse_drive(option, str(value)) for option, value in section.items() if is_drive(option)]
    return sorted((drive for drive in found if drive is not None), key=lambda drive: drive.order)


def cloudinit_drive(section: Options, besides: str | None = None) -> str | None:
    """The drive with boot data among some options."""
    return next((drive.key for drive in drives_of(section) if drive.cloudinit and drive.key != besides), None)
