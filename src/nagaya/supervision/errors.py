"""What can go wrong, as sentences for those who run the machine."""

from __future__ import annotations


class SupervisionError(Exception):
    """Base of this room's errors."""


class FolderInUse(SupervisionError):
    """Another supervisor has the folder."""


class InvalidSpec(SupervisionError):
    """A process cannot be run as it is described."""


class StillRunning(SupervisionError):
    """A process did not end although it was killed."""
