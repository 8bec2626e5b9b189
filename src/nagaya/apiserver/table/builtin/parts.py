"""What the tables of several kinds have in common: reading objects that may lack anything, and shortening."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from nagaya.apiserver.meta import durations, quantity
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import label_selector
from nagaya.apiserver.selectors.requirement import SelectorError

NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = durations.UNKNOWN


def metadata(obj: JsonObject) -> JsonObject:
    """The object's metadata."""
    return obj.get("metadata") or {}


def spec(obj: JsonObject) -> JsonObject:
    """What is wanted."""
    return obj.get("spec") or {}


def status(obj: JsonObject) -> JsonObject:
    """What was observed."""
    return obj.get("status") or {}


def name(obj: JsonObject) -> str:
    """The object's name."""
    found: str = metadata(obj).get("name") or ""
    return found


def age(obj: JsonObject, now: datetime) -> str:
    """The time since the object was created."""
    return durations.since(metadata(obj).get("creationTimestamp"), now)


def deleting(obj: JsonObject) -> bool:
    """Whether the object is on its way out."""
    return metadata(obj).get("deletionTimestamp") is not None


def amount(value: Any) -> str:
    """A resource quantity; nothing is zero."""
    return quantity.canonical(str(value)) if value is not None else "0"


def labels_text(labels: Mapping[str, str] | None) -> str:
    """Labels as `a=1,b=2`."""
    return ",".join(sorted(f"{key}={value}" for key, value in (labels or {}).items())) or NONE


def selector_text(selector: JsonObject | None) -> str:
    """A selector as one would type it."""
    try:
        return str(label_selector.compiled(selector)) or NONE
    except SelectorError:
        return "<error>"


def pod_template(obj: JsonObject) -> JsonObject:
    """The spec of the pods that an object makes."""
    return (spec(obj).get("template") or {}).get("spec") or {}


def containers(pod_spec: JsonObject) -> list[str]:
    """The names and the images of a pod's containers."""
    found: list[JsonObject] = pod_spec.get("containers") or []
    return [
        ",".join(each.get("name") or "" for each in found),
        ",".join(each.get("image") or "" for each in found),
    ]


def shortened(items: Sequence[str], limit: int = 3) -> str:
    """The first few of many."""
    if len(items) > limit:
        return f"{','.join(items[:limit])} + {len(items) - limit} more..."
    return ",".join(items) or UNSET


def condition(conditions: Iterable[JsonObject] | None, kind: str) -> JsonObject | None:
    """The first condition of a type."""
    return next((each for each in conditions or () if (each.get("type") or "") == kind), None)


def balancer_text(balancer: JsonObject | None) -> str:
    """Where a load balancer can be reached."""
    points: list[JsonObject] = (balancer or {}).get("ingress") or []
    addresses = {each.get("ip") or each.get("hostname") or "" for each in points}
    return ",".join(sorted(filter(None, addresses)))
