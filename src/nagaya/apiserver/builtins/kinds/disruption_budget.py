"""PodDisruptionBudgets: how many pods of a sort may be taken away at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds.apps_workload import (
    SPEC,
    STATUS,
    validate_at_most_all,
    validate_counts,
    validate_share,
)
from nagaya.apiserver.builtins.kinds.core_goshape import invalid_shape, shape
from nagaya.apiserver.builtins.kinds.core_strategy import restore
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, not_supported
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.strategy import Strategy
from nagaya.apiserver.selectors import label_selector

_STRUCT: Final = "policy/v1.PodDisruptionBudgetSpec"
_SHAPE: Final = (
    "MinAvailable=minAvailable:p Selector=selector:p MaxUnavailable=maxUnavailable:p "
    "UnhealthyPodEvictionPolicy=unhealthyPodEvictionPolicy:p"
)
_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_COUNTED: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


class DisruptionBudgetStrategy(Strategy):
    """Budgets through their main endpoint. Their metadata is held to the most general rules only."""

    reset_fields = ("status",)
    allow_unconditional_update = False
    name_check = staticmethod(names.path_segment)
    finalizers_checked = False

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """Nothing has been counted yet."""
        obj["status"] = dict.fromkeys(_COUNTED, 0)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The status stays; a changed spec counts."""
        from nagaya.apiserver.builtins.kinds.pod_sameness import same

        restore(new, old, "status")
        if not same(_STRUCT, new.get("spec"), old.get("spec")):
            new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """The rules for budgets."""
        return list(_validate(obj.get("spec") or {}, lenient=False))

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The same; a selector that was broken before may keep its values."""
        before = (old.get("spec") or {}).get("selector")
        lenient = bool(label_selector.validate(before, SPEC.child("selector")))
        return list(_validate(new.get("spec") or {}, lenient=lenient))


def _validate(spec: JsonObject, *, lenient: bool) -> Iterator[FieldError]:
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        yield invalid_shape(SPEC, shape(_SHAPE), spec, "minAvailable and maxUnavailable cannot be both set")
    for field, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            yield from validate_share(value, SPEC.child(field))
            yield from validate_at_most_all(value, SPEC.child(field))
    yield from label_selector.validate(spec.get("selector"), SPEC.child("selector"), invalid_values_allowed=lenient)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _POLICIES:
        yield not_supported(SPEC.child("unhealthyPodEvictionPolicy"), policy, _POLICIES)


class DisruptionBudgetStatusStrategy(DisruptionBudgetStrategy):
    """What the disruption controller reports."""

    reset_fields = ("spec",)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The spec stays."""
        restore(new, old, "spec")

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """Conditions and counts."""
        from nagaya.apiserver.builtins.kinds.resource_claims_status import condition_errors

        status = new.get("status") or {}
        return [
            *condition_errors(status.get("conditions") or [], STATUS.child("conditions")),
            *validate_counts(status, _COUNTED, STATUS),
        ]


KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource("policy", "poddisruptionbudgets"): Kind(
        DisruptionBudgetStrategy(), {"status": DisruptionBudgetStatusStrategy()}
    ),
}
