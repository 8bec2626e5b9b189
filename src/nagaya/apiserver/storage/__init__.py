"""The storage of the embedded API server: objects by key, one revision counter, history, watches.

`Store` is in memory; `open_store` keeps one on disk. The layers, from the bottom: `record` and `event` are the
values; `log` and `table` hold them in order; `history` says how long the past stays; `contents` is all of it at one
revision; `write` is a change that is not durable yet; `store` takes writes and serves reads and watches; `sqlite`
makes writes durable.
"""

from nagaya.apiserver.storage.errors import (
    Compacted,
    CorruptData,
    DataExists,
    DataInUse,
    DataNotPermitted,
    DataRefused,
    ForeignData,
    FutureRevision,
    NewerData,
    RevisionConflict,
    StorageError,
    StorageFailure,
    StoreClosed,
)
from nagaya.apiserver.storage.event import Event
from nagaya.apiserver.storage.history import Retention
from nagaya.apiserver.storage.record import NO_LABELS, Record
from nagaya.apiserver.storage.sqlite import Restored, Salvaged, backup_directory, open_store, restore, salvage
from nagaya.apiserver.storage.store import Store
from nagaya.apiserver.storage.table import Snapshot
from nagaya.apiserver.storage.watch import Watch
from nagaya.apiserver.storage.write import ABSENT, ANY, Expected

__all__ = [
    "ABSENT",
    "ANY",
    "NO_LABELS",
    "Compacted",
    "CorruptData",
    "DataExists",
    "DataInUse",
    "DataNotPermitted",
    "DataRefused",
    "Event",
    "Expected",
    "ForeignData",
    "FutureRevision",
    "NewerData",
    "Record",
    "Restored",
    "Retention",
    "RevisionConflict",
    "Salvaged",
    "Snapshot",
    "StorageError",
    "StorageFailure",
    "Store",
    "StoreClosed",
    "Watch",
    "backup_directory",
    "open_store",
    "restore",
    "salvage",
]
