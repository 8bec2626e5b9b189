"""HorizontalPodAutoscalers, in both of their versions: what holds for one holds for the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nagaya.apiserver.builtins.kinds import core_metadata, hpa_conversion
from nagaya.apiserver.builtins.kinds.apps_workload import STATUS, validate_counts
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStatusStrategy, CoreStrategy, restore
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.meta.field_errors import FieldError
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_OLD: Final = "autoscaling/v1"
_PERIOD: Final = 15


def _policy(kind: str, value: int) -> JsonObject:
    return {"type": kind, "value": value, "periodSeconds": _PERIOD}


class AutoscalerStrategy(CoreStrategy):
    """Autoscalers through their main endpoint."""

    reset_fields = ("status",)

    def default(self, obj: JsonObject) -> None:
        """At least one pod, and four fifths of the CPU it asked for."""
        spec: JsonObject = obj.setdefault("spec", {})
        spec.setdefault("minReplicas", 1)
        obj.setdefault("metadata", {})
        if obj.get("apiVersion") == _OLD:
            stored = hpa_conversion.to_v2(obj)
            _default_stored(stored["spec"])
            obj |= hpa_conversion.to_v1(stored)
            return
        hpa_conversion.drop_carried(obj["metadata"])
        _default_stored(spec)

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """Nothing has been scaled yet."""
        old = obj.get("apiVersion") == _OLD
        obj["status"] = (
            {"currentReplicas": 0, "desiredReplicas": 0} if old else {"desiredReplicas": 0, "currentMetrics": None}
        )

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The status stays."""
        restore(new, old, "status")

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The rules for autoscalers."""
        from nagaya.apiserver.builtins.kinds.hpa_validation import validate_spec

        return list(validate_spec(_spec(obj), None if old is None else _spec(old)))

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The same for a change."""
        return [*core_metadata.updated(new["metadata"], old["metadata"], found), *self.rules(new, old)]


def _default_stored(spec: JsonObject) -> None:
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if (behavior := spec.get("behavior")) is not None:
        up, down = behavior.get("scaleUp") or {}, behavior.get("scaleDown") or {}
        upward = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max"}
        behavior["scaleUp"] = {**upward, "policies": [_policy("Pods", 4), _policy("Percent", 100)], **_given(up)}
        behavior["scaleDown"] = {"selectPolicy": "Max", "policies": [_policy("Percent", 100)], **_given(down)}


def _given(rules: JsonObject) -> dict[str, Any]:
    return {name: value for name, value in rules.items() if value is not None}


def _spec(obj: JsonObject) -> JsonObject:
    """The spec in the form that the rules are written for."""
    made = hpa_conversion.to_v2(obj) if obj.get("apiVersion") == _OLD else obj
    spec: JsonObject = made.get("spec") or {}
    return spec


class AutoscalerStatusStrategy(CoreStatusStrategy):
    """What the autoscaler controller reports."""

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """No number of pods is negative."""
        return list(validate_counts(new.get("status") or {}, ("currentReplicas", "desiredReplicas"), STATUS))


_MAIN: Final = AutoscalerStrategy()

KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource("autoscaling", "horizontalpodautoscalers"): Kind(_MAIN, {"status": AutoscalerStatusStrategy(_MAIN)}),
}
