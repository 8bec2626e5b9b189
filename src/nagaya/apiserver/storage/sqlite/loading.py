"""From rows to contents: replaying the log at start.

The whole log is read once, in revision order, so damage anywhere in it is found here, before the server serves
anything. What was compacted becomes the present; what came after also becomes the history again, with the times at
which it was written, so that clients resume their watches across a restart.
"""

from __future__ import annotations

from pathlib import Path

import apsw
import msgspec

from nagaya.apiserver.storage.contents import FIRST_REVISION, Contents, superseded
from nagaya.apiserver.storage.errors import CorruptData
from nagaya.apiserver.storage.event import Event
from nagaya.apiserver.storage.history import Retention
from nagaya.apiserver.storage.record import Record
from nagaya.apiserver.storage.sqlite.encryption import SEALED, Keys, is_sealed
from nagaya.apiserver.storage.sqlite.failures import RESTORE
from nagaya.apiserver.storage.sqlite.layout import COMPACTED, DIGEST, IDENTITY, SCHEMA_VERSION, added, checksum, seal
from nagaya.apiserver.storage.table import Table
from nagaya.world import Clock


class _Metadata(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None


class _Object(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_decode = msgspec.json.Decoder(_Object).decode


class Loaded(msgspec.Struct, frozen=True, eq=False):
    """What a database holds: contents, the numbers of its tables, rows that an interrupted compaction left behind,
    and what proves that nothing is missing.
    """

    contents: Contents
    table_ids: dict[str, int]
    garbage: list[int]
    identity: int
    digest: int
    keys: Keys | None
    stale: list[int]
    """Rows that an earlier schema or another key wrote."""
    written_at: int
    """When the newest row was written, in seconds since 1970; 0 if there is none."""


def load(
    connection: apsw.Connection, path: Path, retention: Retention, clock: Clock, keys: Keys | None = None
) -> Loaded:
    """Read everything. Raises `CorruptData` at the first row that is not what was written, and if any is missing.
    Without keys, what is encrypted stays so: enough to see whether all is there.
    """
    schema = connection.execute("PRAGMA user_version").get
    facts: dict[str, int] = dict(connection.execute("SELECT name, value FROM facts"))
    if missing := {COMPACTED, *((IDENTITY, DIGEST) if schema > 1 else ())} - facts.keys():
        raise CorruptData(path, f"it lacks the fact {', '.join(sorted(missing))}", RESTORE)
    compacted, identity = facts[COMPACTED], facts[IDENTITY] if schema > 1 else 0
    digest = seal(identity, compacted)
    contents = Contents(retention, max(FIRST_REVISION, compacted), compacted)
    names: dict[int, str] = dict(connection.execute("SELECT id, name FROM tables"))
    tables: dict[int, Table] = {number: contents.table(name) for number, name in names.items()}
    ages = _Ages(clock)
    garbage: list[int] = []
    stale: list[int] = []
    newest = 0
    rows = connection.execute(
        "SELECT revision, table_id, key, deleted, written_at, checksum, value FROM log ORDER BY revision"
    )
    for revision, number, key, deleted, written_at, check, value in rows:
        table = tables.get(number)
        if table is None or check != checksum(identity, table.name, revision, key, deleted, written_at, value):
            raise CorruptData(path, f"row {revision} ({names.get(number)} {key!r}) is damaged", RESTORE)
        digest = added(digest, check)
        newest = written_at
        if schema == SCHEMA_VERSION and value is not None and table.name in SEALED and not is_sealed(value):
            raise CorruptData(
                path, f"row {revision} ({table.name} {key!r}) is damaged: it should be encrypted", RESTORE
            )
        if keys is not None:
            if not identity or not keys.wrote(table.name, value):
                stale.append(revision)
            value = keys.open(path, table.name, key, revision, value)
        previous = table.records.get(key)
        if previous is not None:
            key = previous.key
        if deleted:
            event = _deletion(revision, table, key, previous, value)
            table.records.pop(key, None)
        else:
            try:
                labels = None if is_sealed(value) else _labels(value)
            except msgspec.DecodeError as error:
                raise CorruptData(
                    path, f"row {revision} ({table.name} {key!r}) is damaged: {error}", RESTORE
                ) from error
            record = Record(key, revision, value, contents.strings.labels(labels, previous))
            event = Event(revision, table.name, key, record, previous)
            table.records[key] = record
        if revision <= compacted:
            garbage.extend(superseded((event,)))
            continue
        if deleted and previous is None:
            raise CorruptData(path, f"row {revision} deletes {table.name} {key!r}, which is not there", RESTORE)
        table.log.append(event)
        contents.history.append(event)
        contents.history.mark(revision, ages.monotonic(written_at))
        contents.revision = revision
    if identity and digest != facts[DIGEST]:
        raise CorruptData(path, "rows that were written are missing from it, or removed ones are there again", RESTORE)
    for table in tables.values():
        table.keys.extend(sorted(table.records))
    table_ids = {name: number for number, name in names.items()}
    return Loaded(contents, table_ids, garbage, identity, digest, keys, stale, newest)


def _deletion(revision: int, table: Table, key: str, previous: Record | None, value: bytes | None) -> Event:
    if value is None:
        value = b"" if previous is None else previous.value
    tombstone = Record(key, revision, value) if previous is None else Record(key, revision, value, previous.labels)
    return Event(revision, table.name, key, None, previous, tombstone)


def _labels(value: bytes) -> dict[str, str] | None:
    """The labels in an object. One whose labels are no labels is intact all the same, and has none."""
    try:
        return _decode(value).metadata.labels
    except msgspec.ValidationError:
        msgspec.json.decode(value)
        return None


class _Ages:
    """When rows were written, on the clock of this run. A date in the future, after a clock was set back, counts as
    now.
    """

    def __init__(self, clock: Clock) -> None:
        self._date = clock.now().timestamp()
        self._monotonic = clock.monotonic()

    def monotonic(self, written_at: int) -> float:
        return self._monotonic - max(0.0, self._date - written_at)
