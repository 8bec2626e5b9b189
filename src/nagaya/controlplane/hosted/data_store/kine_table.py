"""The table in which kine keeps a tenant: every change of a key is a row, and the newest row of a name is its state.

The id of a row is its revision. What is read here is what kine itself would answer; what is written is what it would
have written for keys that were created one after the other. A lease is the number of seconds that a key lives, counted
by kine from its own start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nagaya.controlplane.hosted.data_store.errors import SnapshotDamaged
from nagaya.controlplane.hosted.data_store.snapshots import Entry
from nagaya.controlplane.hosted.data_store.tenant_store import REGISTRY

_PREFIX: Final = f"{REGISTRY}/"

LIVE: Final = (
    "SELECT kv.name, kv.value, kv.lease FROM kine AS kv "
    "JOIN (SELECT MAX(id) AS id FROM kine WHERE name >= '/registry/' AND name < '/registry0' GROUP BY name) AS newest "
    "ON newest.id = kv.id WHERE kv.deleted = 0 AND kv.name <> '/registry/health'"
)
"""All keys as they are now, without the one that kine makes for itself. Within one transaction, of one revision."""
COUNT: Final = f"SELECT COUNT(*) FROM ({LIVE}) AS live"  # noqa: S608 - made of constants alone
REVISION: Final = "SELECT COALESCE(MAX(id), 0) FROM kine"
CLEAR: Final = "DELETE FROM kine"
COLUMNS: Final = ("id", "name", "created", "deleted", "create_revision", "prev_revision", "lease", "value", "old_value")

Written = tuple[int, str, int, int, int, int, int, bytes, None]


def entry_of(name: str, value: bytes | None, lease: int | None) -> Entry:
    """A row of `LIVE`."""
    seconds = lease or 0
    return Entry(name.removeprefix(_PREFIX).encode(), value or b"", seconds, seconds)


def rows_of(page: Sequence[Entry], first: int) -> list[Written]:
    """The rows of entries, with revisions from `first` on. Raises SnapshotDamaged for a key that is no text."""
    try:
        return [
            (first + index, _PREFIX + entry.key.decode(), 1, 0, 0, 0, entry.seconds, entry.value, None)
            for index, entry in enumerate(page)
        ]
    except UnicodeDecodeError as error:
        raise SnapshotDamaged("the copy has a key that is no text, which no kube-apiserver writes.") from error
