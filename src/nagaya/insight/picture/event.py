"""Events of the API as a reader wants them: when, of what, and the sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped

EVENTS: Final = Kind("events.k8s.io", "v1", "Event", "events", Untyped)
_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that somebody told of an object, once or several times."""

    at: datetime
    """When it was told last."""
    first: datetime
    count: int
    kind: str
    namespace: str
    name: str
    uid: str
    warning: bool
    reason: str
    note: str
    identity: str
    """The uid of the event itself."""


def read_event(obj: Untyped) -> Event:
    """An event, whichever of the two generations of the API it was written with."""
    first = _date(obj.at("eventTime")) or _date(obj.at("deprecatedFirstTimestamp")) or obj.metadata.creation_timestamp
    last = _date(obj.at("series", "lastObservedTime")) or _date(obj.at("deprecatedLastTimestamp"))
    count = obj.at("series", "count") or obj.at("deprecatedCount")
    regarding = obj.at("regarding")
    named: Mapping[str, Any] = regarding if isinstance(regarding, Mapping) else {}
    return Event(
        at=last or first or _NEVER,
        first=first or last or _NEVER,
        count=count if isinstance(count, int) else 1,
        kind=str(named.get("kind", "")),
        namespace=str(named.get("namespace", "")),
        name=str(named.get("name", "")),
        uid=str(named.get("uid", "")),
        warning=obj.at("type") == "Warning",
        reason=str(obj.at("reason") or ""),
        note=str(obj.at("note") or "").strip(),
        identity=obj.metadata.uid or f"{obj.metadata.namespace}/{obj.metadata.name}",
    )


def _date(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        return msgspec.convert(value, datetime)
    except msgspec.ValidationError:
        return None
