"""The two forms of an event: core's, in which it is stored, and that of events.k8s.io.

They hold the same under different names. Each form writes some members even when nobody has set them, so those appear
and disappear on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nagaya.apiserver.meta.status import JsonObject

# From core's names to those of events.k8s.io.
_NAMES: Final[Mapping[str, str]] = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_BACK: Final[Mapping[str, str]] = {served: stored for stored, served in _NAMES.items()}

# What a form always writes, and what it writes when there is nothing; None is left out by the other form.
_ALWAYS_STORED: Final[Mapping[str, Any]] = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
_ALWAYS_SERVED: Final[Mapping[str, Any]] = {
    "regarding": {},
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
    "eventTime": None,
}


def to_events(event: JsonObject) -> JsonObject:
    """A stored event in the form of events.k8s.io. Kind and apiVersion are dropped."""
    result = _converted(event, _NAMES, _ALWAYS_SERVED)
    if series := result.get("series"):
        result["series"] = {"count": 0, **series}
    return result


def to_core(event: JsonObject) -> JsonObject:
    """An event of events.k8s.io in the stored form. Kind and apiVersion are dropped."""
    result = _converted(event, _BACK, _ALWAYS_STORED)
    if (series := result.get("series")) and not series.get("count"):
        result["series"] = {name: value for name, value in series.items() if name != "count"}
    return result


def _converted(event: JsonObject, names: Mapping[str, str], always: Mapping[str, Any]) -> JsonObject:
    result = {
        renamed: value
        for name, value in event.items()
        if name not in ("kind", "apiVersion")
        and ((renamed := names.get(name, name)) in always or value not in ("", None))
    }
    for name, empty in always.items():
        if name not in result:
            result[name] = {} if empty == {} else empty
    return result
