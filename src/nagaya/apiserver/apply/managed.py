"""The entries of `metadata.managedFields`, read into sets of fields and written back.

An entry belongs to a manager: a name, how it wrote (Apply or Update), through which subresource, and for updates in
which version. Entries that nobody changes keep the very objects they were read from. What is written is sorted as
the real server sorts it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import orjson

from nagaya.apiserver.apply import fieldset
from nagaya.apiserver.apply.fieldset import FieldSet
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.status import JsonObject
from nagaya.wire.remembered import remember_short

APPLY: Final = "Apply"
UPDATE: Final = "Update"


class Manager(NamedTuple):
    """Who owns fields. Someone who applies stays the same manager in whatever version it does so."""

    name: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @property
    def text(self) -> str:
        """The form that managers are sorted by in messages and when old ones are merged."""
        members = {"manager": self.name, "operation": self.operation, "apiVersion": self.api_version}
        members["subresource"] = self.subresource
        return "{" + ",".join(f'"{key}":{gostring.json(value)}' for key, value in members.items() if value) + "}"

    def __str__(self) -> str:
        text = gostring.quote(self.name)
        if self.subresource:
            text += f" with subresource {gostring.quote(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


@dataclass(slots=True, frozen=True)
class Owned:
    """The fields of one manager, in the version they were written in, and when it last changed any."""

    fields: FieldSet
    api_version: str
    time: str | None
    source: JsonObject | None = None  # the entry it was read from, as long as it still says the same
    text: bytes = b""  # what its fields were read from, as long as they are still those


Managed = dict[Manager, Owned]


class InvalidManagedFields(ValueError):
    """Entries that cannot be read."""


def decode(entries: list[Any]) -> Managed:
    """Read the entries. Raises `InvalidManagedFields` when one of them makes no sense."""
    return dict(map(_decoded, range(len(entries)), entries))


def _decoded(position: int, entry: JsonObject) -> tuple[Manager, Owned]:
    operation = entry.get("operation")
    if operation != UPDATE and operation != APPLY:
        raise InvalidManagedFields("operation must be `Apply` or `Update`")
    version = entry.get("apiVersion")
    if not version:
        raise InvalidManagedFields("apiVersion must not be empty")
    kind = entry.get("fieldsType")
    if kind != "FieldsV1":
        if not kind:
            raise InvalidManagedFields(f"missing fieldsType in managed fields entry {position}")
        raise InvalidManagedFields(f"invalid fieldsType {gostring.quote(kind)} in managed fields entry {position}")
    text = orjson.dumps(entry.get("fieldsV1"))
    try:
        fields, canonical = fieldset.parse(text)
    except ValueError as error:
        raise InvalidManagedFields(f"error decoding set: {error}") from error
    time = entry.get("time")
    at = None if time is None else utc(time)
    manager = Manager(
        entry.get("manager") or "", operation, version if operation == UPDATE else "", entry.get("subresource") or ""
    )
    return manager, Owned(fields, version, at, entry if canonical and at == time else None, text)


def entries_of(metadata: Any) -> list[JsonObject] | None:
    """The entries that an object's metadata holds; None when there is no list, or one that holds anything else."""
    entries = metadata.get("managedFields") if metadata.__class__ is dict else None
    if entries.__class__ is not list:
        return None
    return entries if all(map(_is_entry, entries)) else None


_TEXTS: Final = ("manager", "operation", "apiVersion", "fieldsType", "subresource")


def _is_entry(entry: Any) -> bool:
    if entry.__class__ is not dict:
        return False
    for name in _TEXTS:
        if name in entry and entry[name].__class__ is not str and entry[name] is not None:
            return False
    time = entry.get("time")
    if time is None:
        return True
    return isinstance(time, str) and utc(time) is not None


def is_reset(entries: list[JsonObject] | None) -> bool:
    """Whether a client asks for all records to be dropped: an empty list, or one with an empty entry."""
    if not entries:
        return entries is not None
    if len(entries) > 1:
        return False
    entry = entries[0]
    return not any(entry.get(name) for name in _TEXTS) and entry.get("time") is None and entry.get("fieldsV1") is None


_RFC3339: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


@remember_short(4096)
def utc(text: str) -> str | None:
    """A time in the form in which it is stored; None if it is no time."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        return None
    try:
        at = datetime.fromisoformat(match[1] + match[2]).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return at.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


_EPOCH: Final = "1970-01-01T00:00:00Z"


def encode(managed: Managed) -> list[JsonObject]:
    """The entries for these managers, in their order."""
    order = sorted(managed, key=lambda manager: _order(manager, managed[manager]))
    return [managed[manager].source or _entry(manager, managed[manager]) for manager in order]


def _order(manager: Manager, owned: Owned) -> tuple[str, str, str, str, str]:
    return manager.operation, owned.time or _EPOCH, manager.name, owned.api_version, manager.subresource


def _entry(manager: Manager, owned: Owned) -> JsonObject:
    entry: JsonObject = {}
    if manager.name:
        entry["manager"] = manager.name
    entry["operation"] = manager.operation
    entry["apiVersion"] = owned.api_version
    if owned.time is not None:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = fieldset.ordered(owned.fields)
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def replaced(owned: Owned, fields: FieldSet) -> Owned:
    """The same record with other fields."""
    return owned if fields is owned.fields else Owned(fields, owned.api_version, owned.time)


MAX_UPDATE_MANAGERS: Final = 10
_ANCIENT: Final = "ancient-changes"


def cap(managed: Managed) -> Managed:
    """The records with the oldest updates merged into one per version, if there are too many of them."""
    updaters = [manager for manager in managed if manager.operation == UPDATE]
    excess = len(updaters) - MAX_UPDATE_MANAGERS
    if excess <= 0:
        return managed
    updaters.sort(key=lambda manager: (managed[manager].time or _EPOCH, manager.text))
    result = dict(managed)
    first_of: dict[str, Manager] = {}
    collected: dict[Manager, list[FieldSet]] = {}
    for manager in updaters:
        if excess == 0:
            break
        owned = result[manager]
        version = owned.api_version
        if version not in first_of:
            first_of[version] = manager
            continue
        bucket = Manager(_ANCIENT, UPDATE, version)
        if bucket not in result:
            result[bucket] = result.pop(first_of[version])
        collected.setdefault(bucket, [result[bucket].fields]).append(owned.fields)
        result[bucket] = Owned({}, version, owned.time)
        del result[manager]
        if manager == bucket:
            del collected[bucket]  # an older collection that is met on the way is lost: so it is with the real server
        excess -= 1
    for bucket, fields in collected.items():
        result[bucket] = Owned(fieldset.union_all(fields), bucket.api_version, result[bucket].time)
    return result
