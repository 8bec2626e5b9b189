"""Events, which two groups show in different spellings and one table."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from nagaya.apiserver.meta import durations
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.builtin.parts import name
from nagaya.apiserver.table.columns import NAME, Cells, Column, shape, text, wide


@shape(
    text("Last Seen", "The time since it happened last."),
    text("Type", "Normal or Warning."),
    text("Reason", "What happened, in one word."),
    text("Object", "What it happened to."),
    wide("Subobject", "The part of the object that is meant."),
    wide("Source", "Who tells."),
    text("Message", "What happened, in a sentence."),
    wide("First Seen", "The time since it happened first."),
    wide("Count", "How often it happened."),
    Column(NAME.name, NAME.description, format=NAME.format, priority=1),
)
def EVENTS(obj: JsonObject, now: datetime) -> Cells:
    first = durations.since(_either(obj, "firstTimestamp", "deprecatedFirstTimestamp") or obj.get("eventTime"), now)
    last_time = _either(obj, "lastTimestamp", "deprecatedLastTimestamp")
    last = durations.since(last_time, now) if last_time else first
    count = _either(obj, "count", "deprecatedCount") or 1
    series: JsonObject | None = obj.get("series")
    if series is not None:
        last = durations.since(series.get("lastObservedTime"), now)
        count = series.get("count") or 0
    about: JsonObject = _either(obj, "involvedObject", "regarding") or {}
    kind = (about.get("kind") or "").lower()
    return [
        last,
        obj.get("type") or "",
        obj.get("reason") or "",
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath") or "",
        _source(obj),
        (_either(obj, "message", "note") or "").strip(_SPACE),
        first,
        count,
        name(obj),
    ]


# What Go counts as space; Python's own list is longer.
_SPACE: Final = "".join(map(chr, (9, 10, 11, 12, 13, 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)))) + "".join(
    map(chr, (0x2028, 0x2029, 0x202F, 0x205F, 0x3000))
)


def _either(obj: JsonObject, core: str, events: str) -> Any:
    return obj.get(core) or obj.get(events)


def _source(obj: JsonObject) -> str:
    source: JsonObject = _either(obj, "source", "deprecatedSource") or {}
    component = source.get("component") or _either(obj, "reportingComponent", "reportingController") or ""
    instance = source.get("host") or obj.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else component
