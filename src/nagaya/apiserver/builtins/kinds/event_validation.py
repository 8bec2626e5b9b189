"""The rules for events, in core's form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from nagaya.apiserver.builtins.kinds import core_metadata
from nagaya.apiserver.builtins.kinds.core_goshape import Shape, invalid_shape, shape
from nagaya.apiserver.builtins.kinds.core_strategy import immutable
from nagaya.apiserver.meta import names, object_meta
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, required
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject

_MOST: Final = 128
_MOST_MESSAGE: Final = 1024
_REFERENCE: Final = shape(
    "Kind=kind:s Namespace=namespace:s Name=name:s UID=uid:s APIVersion=apiVersion:s"
    " ResourceVersion=resourceVersion:s FieldPath=fieldPath:s"
)
_SOURCE: Final = shape("Component=component:s Host=host:s")


def legacy(event: JsonObject, reporter: str) -> list[FieldError]:
    """The rules of both groups; `reporter` is what the group calls the reporting controller."""
    errors = _old(event) if event.get("eventTime") is None else _new(event, reporter)
    namespace = event["metadata"].get("namespace") or ""
    return errors + [invalid("namespace", namespace, problem) for problem in names.dns_subdomain(namespace)]


def _old(event: JsonObject) -> list[FieldError]:
    about = event["involvedObject"].get("namespace") or ""
    namespace = event["metadata"].get("namespace") or ""
    matches = namespace == about if about else namespace in ("", "default")
    return [] if matches else [invalid("involvedObject.namespace", about, "does not match event.namespace")]


def _new(event: JsonObject, reporter: str) -> list[FieldError]:
    errors: list[FieldError] = []
    about = event["involvedObject"].get("namespace") or ""
    if not about and (event["metadata"].get("namespace") or "") not in ("default", "kube-system"):
        errors.append(invalid("involvedObject.namespace", about, "does not match event.namespace"))
    controller = event.get("reportingComponent") or ""
    if not controller:
        errors.append(required(reporter))
    errors += [invalid(reporter, controller, problem) for problem in names.qualified_name(controller)]
    for member in ("reportingInstance", "action", "reason"):
        text = event.get(member) or ""
        if not text:
            errors.append(required(member))
        if names.size(text) > _MOST:
            errors.append(invalid(member, "", f"can have at most {_MOST} characters"))
    if names.size(event.get("message") or "") > _MOST_MESSAGE:
        errors.append(invalid("message", "", f"can have at most {_MOST_MESSAGE} characters"))
    return errors


def created(event: JsonObject) -> list[FieldError]:
    """The rules of events.k8s.io for a new event."""
    errors = legacy(event, "reportingController")
    errors += object_meta.validate(event["metadata"], namespaced=True, name_check=names.name_is_subdomain)
    errors += core_metadata.finalizers(event["metadata"]) + _series(event)
    if event.get("eventTime") is None:
        errors.append(required("eventTime"))
    kind = event.get("type") or ""
    if kind not in ("Normal", "Warning"):
        errors.append(invalid("type", "", f"has invalid value: {kind}"))
    source = event["source"]
    unset = {
        "firstTimestamp": event.get("firstTimestamp") is None,
        "lastTimestamp": event.get("lastTimestamp") is None,
        "count": not event.get("count"),
        "source": not source.get("component") and not source.get("host"),
    }
    return errors + [invalid(member, "", "needs to be unset") for member, is_unset in unset.items() if not is_unset]


def updated(new: JsonObject, old: JsonObject, found: Sequence[FieldError]) -> list[FieldError]:
    """The rules of events.k8s.io for a change."""
    errors = legacy(new, "reportingController")
    errors += core_metadata.updated(new["metadata"], old["metadata"], found)
    if new.get("series") != old.get("series"):
        errors += _series(new)

    def text(member: str, empty: Any = "") -> None:
        errors.extend(immutable(_SAID.get(member, member), new.get(member) or empty, old.get(member) or empty))

    _struct(errors, new, old, "involvedObject", _REFERENCE)
    text("reason")
    text("message")
    _struct(errors, new, old, "source", _SOURCE)
    errors += immutable("firstTimestamp", new.get("firstTimestamp"), old.get("firstTimestamp"))
    errors += immutable("lastTimestamp", new.get("lastTimestamp"), old.get("lastTimestamp"))
    text("count", 0)
    text("reason")
    text("type")
    errors += immutable("eventTime", new.get("eventTime"), old.get("eventTime"))
    text("action")
    _struct(errors, new, old, "related", _REFERENCE)
    text("reportingComponent")
    text("reportingInstance")
    return errors


_SAID: Final = {"reportingComponent": "reportingController"}


def _struct(errors: list[FieldError], new: JsonObject, old: JsonObject, member: str, kind: Shape) -> None:
    mine, before = new.get(member), old.get(member)
    if mine == before:
        return
    errors.append(
        invalid(member, None, IMMUTABLE) if mine is None else invalid_shape(Path(member), kind, mine, IMMUTABLE)
    )


def _series(event: JsonObject) -> list[FieldError]:
    series = event.get("series")
    if series is None:
        return []
    errors: list[FieldError] = []
    if (series.get("count") or 0) < 2:
        errors.append(invalid("series.count", "", "should be at least 2"))
    if series.get("lastObservedTime") is None:
        errors.append(required("series.lastObservedTime"))
    return errors
