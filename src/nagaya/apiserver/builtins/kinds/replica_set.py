"""ReplicaSets: as many pods as are wanted, all alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.builtins.kinds.apps_workload import (
    SPEC,
    TEMPLATE,
    WorkloadStatusStrategy,
    WorkloadStrategy,
    before,
    compiled_selector,
    validate_always,
    validate_counts,
    validate_match,
)
from nagaya.apiserver.builtins.kinds.core_strategy import immutable
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.pod_template import validate_template
from nagaya.apiserver.meta.field_errors import FieldError, invalid, required
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import label_selector

_EMPTY_STATUS: Final = {"replicas": 0}


def validate_replicas(spec: JsonObject, old: JsonObject | None) -> Iterator[FieldError]:
    """Selector and template, of ReplicaSets and of Deployments, which are checked as if they were one."""
    selector = spec.get("selector")
    where = SPEC.child("selector")
    if selector is None:
        yield required(where)
    else:
        yield from label_selector.validate(selector, where)
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            yield invalid(where, selector, "empty selector is invalid for deployment")
    compiled = compiled_selector(spec)
    if compiled is None:
        yield invalid(where, selector, "invalid label selector")
        return
    template = spec.get("template") or {}
    yield from validate_match(compiled, template)
    yield from validate_template(template, before(old), TEMPLATE)
    yield from validate_always(template, "ReplicaSet")


class ReplicaSetStrategy(WorkloadStrategy):
    """ReplicaSets through their main endpoint."""

    spec_struct = "apps/v1.ReplicaSetSpec"
    replicas_always_shown = True
    empty_status = _EMPTY_STATUS
    warns_of_name = True

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        """One replica."""
        spec.setdefault("replicas", 1)

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The rules for ReplicaSets."""
        spec = obj["spec"]
        return [*validate_counts(spec, ("replicas", "minReadySeconds"), SPEC), *validate_replicas(spec, old)]

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """What is selected stays selected."""
        return immutable(SPEC.child("selector"), new["spec"].get("selector"), old["spec"].get("selector"))


WITHIN_REPLICAS: Final = (
    ("fullyLabeledReplicas", "replicas", "status.replicas"),
    ("readyReplicas", "replicas", "status.replicas"),
    ("availableReplicas", "replicas", "status.replicas"),
    ("availableReplicas", "readyReplicas", "readyReplicas"),
)
_COUNTED: Final = (
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    "terminatingReplicas",
)


def replica_sets() -> Kind:
    """ReplicaSets and their status."""
    main = ReplicaSetStrategy()
    return Kind(main, {"status": WorkloadStatusStrategy(main, _COUNTED, WITHIN_REPLICAS)})
