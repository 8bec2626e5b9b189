"""Events: what happened to which object, told by whom.

Events of the core group and of events.k8s.io are the same objects in two forms. Both are checked in core's form, by
rules that look at the group of the request: the newer group is strict, the older one lets almost everything pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds import event_conversion
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStrategy
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.strategy import Dependents

_ABOUT: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_NAMES: Final = ("metadata.name", "metadata.namespace", "reason", "type")


def _labels(about: str, plain: Mapping[str, str]) -> Mapping[str, str]:
    fields = {f"{about}.{each}": f"involvedObject.{each}" for each in _ABOUT}
    return {**fields, **{each: each for each in _NAMES}, **plain}


class EventStrategy(CoreStrategy):
    """Event of the core group."""

    allow_create_on_update = True
    dependents = Dependents.UNSUPPORTED
    name_check = staticmethod(names.path_segment)
    metadata_first = False
    field_labels = _labels("involvedObject", {"reportingComponent": "reportingComponent", "source": "source"})
    selectable_fields = frozenset(field_labels.values()) - {"metadata.name", "metadata.namespace"}

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """The old rules."""
        from nagaya.apiserver.builtins.kinds import event_validation

        return event_validation.legacy(obj, "reportingComponent")

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The old rules."""
        return self.validate_create(new, call, found)

    def select(self, obj: JsonObject) -> Mapping[str, str]:
        """What the event is about, and what it says."""
        about: JsonObject = obj.get("involvedObject") or {}
        fields = {f"involvedObject.{each}": about.get(each) or "" for each in _ABOUT}
        reporter = obj.get("reportingComponent") or ""
        fields["reportingComponent"] = reporter
        fields["source"] = (obj.get("source") or {}).get("component") or reporter
        fields["reason"] = obj.get("reason") or ""
        fields["type"] = obj.get("type") or ""
        return fields


class EventsStrategy(EventStrategy):
    """Event of events.k8s.io."""

    name_check = staticmethod(names.name_is_subdomain)
    field_labels = _labels("regarding", {"reportingController": "reportingComponent"})

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """The old rules and the strict ones."""
        from nagaya.apiserver.builtins.kinds import event_validation

        return event_validation.created(event_conversion.to_core(obj))

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The old rules and the strict ones: only the series may go on."""
        from nagaya.apiserver.builtins.kinds import event_validation

        return event_validation.updated(event_conversion.to_core(new), event_conversion.to_core(old), found)

    def select(self, obj: JsonObject) -> Mapping[str, str]:
        """The same fields as in core's form."""
        return super().select(event_conversion.to_core(obj))
