"""Why an archive is not made or not restored, as sentences for people."""

from __future__ import annotations


class ArchiveError(Exception):
    """Base of all of them."""


class ArchiveDamaged(ArchiveError):
    """What is in the file is not what was written, or is not all of it."""


class Refused(ArchiveError):
    """It could be done, and would do harm."""


class StoreOutOfReach(ArchiveError):
    """The data is where this process cannot get to."""
