"""DaemonSets: a pod on every node.

They count the generations of their template. Since v1 has no field for that number, it travels as an annotation that
nobody but the server may change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds import core_metadata
from nagaya.apiserver.builtins.kinds.apps_workload import (
    SPEC,
    TEMPLATE,
    WorkloadStatusStrategy,
    WorkloadStrategy,
    before,
    compiled_selector,
    not_supported_shape,
    share,
    validate_always,
    validate_at_most_all,
    validate_counts,
    validate_share,
)
from nagaya.apiserver.builtins.kinds.core_goshape import shape
from nagaya.apiserver.builtins.kinds.core_strategy import immutable
from nagaya.apiserver.builtins.kinds.deployment import STRATEGY
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.pod_template import template_warnings, validate_template
from nagaya.apiserver.meta import integers
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, required
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.selectors import label_selector

GENERATION: Final = "deprecated.daemonset.template.generation"
_EMPTY_STATUS: Final = {
    "currentNumberScheduled": 0,
    "numberMisscheduled": 0,
    "desiredNumberScheduled": 0,
    "numberReady": 0,
}
_TEMPLATE_STRUCT: Final = "core/v1.PodTemplateSpec"


class DaemonSetStrategy(WorkloadStrategy):
    """DaemonSets through their main endpoint."""

    spec_struct = "apps/v1.DaemonSetSpec"
    empty_status = _EMPTY_STATUS

    def complete_bookmark(self, obj: JsonObject) -> None:
        """The count of template changes, which is a plain number inside the real server."""
        metadata = obj["metadata"]
        obj["metadata"] = {**metadata, "annotations": {GENERATION: "0", **(metadata.get("annotations") or {})}}

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        """One node after the other. The count of template changes is there from the start, so its setter owns it."""
        annotations = obj.setdefault("metadata", {}).setdefault("annotations", {})
        annotations.setdefault(GENERATION, "0")
        strategy: JsonObject = spec.setdefault("updateStrategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling: JsonObject = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)
        spec.setdefault("revisionHistoryLimit", 10)

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """The first generation of a template, unless the object says it comes from elsewhere."""
        super().prepare_create(obj, call)
        _set_generation(obj, max(_generation(obj), 1))

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """A changed template counts by itself."""
        super().prepare_update(new, old, call)
        _set_generation(new, _generation(old) + self._template_changed(new, old))

    def _template_changed(self, new: JsonObject, old: JsonObject) -> bool:
        from nagaya.apiserver.builtins.kinds.pod_sameness import same

        return not same(_TEMPLATE_STRUCT, self.template(new), self.template(old))

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The rules for DaemonSets."""
        spec = obj["spec"]
        lenient = old is not None and label_selector.has_invalid_value(old["spec"].get("selector"))
        return [
            *label_selector.validate(spec.get("selector"), SPEC.child("selector"), invalid_values_allowed=lenient),
            *_validate_pods(spec, old),
            *validate_counts(spec, ("minReadySeconds",), SPEC),
            *_validate_strategy(spec.get("updateStrategy") or {}, SPEC.child("updateStrategy")),
            *validate_counts(spec, ("revisionHistoryLimit",), SPEC),
        ]

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """Here what must not change comes first."""
        return [
            *core_metadata.updated(new["metadata"], old["metadata"], found),
            *immutable(SPEC.child("selector"), new["spec"].get("selector"), old["spec"].get("selector")),
            *self.rules(new, old),
        ]

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """What is likely a mistake in a new template."""
        return [] if _generation(new) == _generation(old) else template_warnings(self.template(new), TEMPLATE)


def _generation(obj: JsonObject) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(GENERATION) or "0"
    return integers.clamped(text) or 0


def _set_generation(obj: JsonObject, generation: int) -> None:
    obj["metadata"]["annotations"] = {**(obj["metadata"].get("annotations") or {}), GENERATION: str(generation)}


def _validate_pods(spec: JsonObject, old: JsonObject | None) -> Iterator[FieldError]:
    selector, template = spec.get("selector"), spec.get("template") or {}
    compiled = compiled_selector(spec)
    labels = (template.get("metadata") or {}).get("labels")
    if compiled is not None and not compiled.matches(labels):
        yield invalid(TEMPLATE.child("metadata", "labels"), labels, "`selector` does not match template `labels`")
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield invalid(SPEC.child("selector"), selector, "empty selector is invalid for daemonset")
    yield from validate_template(template, before(old), TEMPLATE)
    yield from validate_always(template, "DaemonSet")


def _validate_strategy(strategy: JsonObject, path: Path) -> Iterator[FieldError]:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        yield not_supported_shape(path, shape(STRATEGY), strategy, ("RollingUpdate", "OnDelete"))
        return
    where = path.child("rollingUpdate")
    unavailable, surge = (rolling or {}).get("maxUnavailable", 0), (rolling or {}).get("maxSurge", 0)
    for check in (validate_share, validate_at_most_all):
        yield from check(unavailable, where.child("maxUnavailable"))
        yield from check(surge, where.child("maxSurge"))
    if share(unavailable) and share(surge):
        yield invalid(where.child("maxSurge"), surge, "may not be set when maxUnavailable is non-zero")
    elif not share(unavailable) and not share(surge):
        yield required(where.child("maxUnavailable"), "cannot be 0 when maxSurge is 0")


_COUNTED: Final = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


def daemon_sets() -> Kind:
    """DaemonSets and their status."""
    main = DaemonSetStrategy()
    return Kind(main, {"status": WorkloadStatusStrategy(main, _COUNTED)})
