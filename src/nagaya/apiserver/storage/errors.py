"""Why the store says no.

Two families, because two different people read them. A caller of a write or a read gets one of the first kind and
turns it into an answer for its client: the revision did not match, it is too old, the disk did not take it. Whoever
starts the server gets the second kind, `DataRefused`: a sentence that names the file, what was found there and what
to do about it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nagaya.apiserver.storage.record import Record


class StorageError(Exception):
    """Anything the store refuses to do."""


class Compacted(StorageError):
    """The history that was asked for is no longer kept."""

    def __init__(self, compacted_revision: int) -> None:
        super().__init__(f"history up to revision {compacted_revision} has been compacted")
        self.compacted_revision = compacted_revision


class FutureRevision(StorageError):
    """The revision that was asked for has not been written yet."""

    def __init__(self, current: int) -> None:
        super().__init__(f"the newest revision is {current}")
        self.current = current


class RevisionConflict(StorageError):
    """The key does not hold what the writer expected; `current` is what it holds now, None when there is nothing."""

    def __init__(self, current: Record | None) -> None:
        super().__init__("nothing is stored" if current is None else f"the stored revision is {current.revision}")
        self.current = current


class StorageFailure(StorageError):
    """The write did not reach the disk: nothing of it is visible, and the same write may be tried again.

    One thing nobody can promise: if the disk failed at the very last step, when asked to confirm, and the process is
    killed before it could write anything else, the next start may find the write complete.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StoreClosed(StorageError):
    """The store has been closed and takes no writes."""

    def __init__(self) -> None:
        super().__init__("the store is closed")


class DataRefused(StorageError):
    """Data on disk that the server will not start on, and has not changed."""

    def __init__(self, path: Path, finding: str, remedy: str) -> None:
        super().__init__(f"{path}: {finding}. {remedy}")
        self.path = path
        self.finding = finding
        self.remedy = remedy


class CorruptData(DataRefused):
    """The file is one of ours and damaged."""


class ForeignData(DataRefused):
    """The file was not written by this program."""


class NewerData(DataRefused):
    """The file was written by a newer version of this program."""


class DataInUse(DataRefused):
    """Another process works on the same data."""


class DataNotPermitted(DataRefused):
    """The operating system does not let us read or write there."""


class DataExists(DataRefused):
    """Something is there already that would have to be replaced."""
