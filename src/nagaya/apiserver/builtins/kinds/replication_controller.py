"""ReplicationControllers, the forerunners of ReplicaSets: their selector is a plain map of labels.

Deleting one leaves its pods alone, unless told otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.apps_workload import (
    SPEC,
    TEMPLATE,
    WorkloadStatusStrategy,
    WorkloadStrategy,
    before,
    validate_always,
    validate_counts,
    validate_match,
)
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.pod_defaults import default_template
from nagaya.apiserver.builtins.kinds.pod_template import validate_template
from nagaya.apiserver.builtins.kinds.replica_set import WITHIN_REPLICAS
from nagaya.apiserver.meta.field_errors import FieldError, required
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.strategy import Dependents
from nagaya.apiserver.selectors.labels import from_labels

_EMPTY_STATUS: Final = {"replicas": 0}
_LABELS: Final = {label: label for label in ("metadata.name", "metadata.namespace", "status.replicas")}


class ReplicationControllerStrategy(WorkloadStrategy):
    """ReplicationControllers through their main endpoint."""

    spec_struct = "core/v1.ReplicationControllerSpec"
    empty_status = _EMPTY_STATUS
    dependents = Dependents.ORPHAN
    generate_name_checked = False
    warns_of_name = True
    selectable_fields = frozenset({"status.replicas"})
    field_labels = _LABELS

    def default(self, obj: JsonObject) -> None:
        """One replica, selected by the labels that the template gives it."""
        spec: JsonObject = obj.setdefault("spec", {})
        template = spec.get("template")
        default_template(template)
        labels = ((template or {}).get("metadata") or {}).get("labels")
        if labels:
            if not spec.get("selector"):
                spec["selector"] = labels
            metadata: JsonObject = obj.setdefault("metadata", {})
            if not metadata.get("labels"):
                metadata["labels"] = labels
        spec.setdefault("replicas", 1)

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The rules for ReplicationControllers."""
        return list(_validate(obj["spec"], old))

    def select(self, obj: JsonObject) -> Mapping[str, str]:
        """The number of pods."""
        return {"status.replicas": str((obj.get("status") or {}).get("replicas") or 0)}


def _validate(spec: JsonObject, old: JsonObject | None) -> Iterator[FieldError]:
    yield from validate_counts(spec, ("minReadySeconds",), SPEC)
    if not spec.get("selector"):
        yield required(SPEC.child("selector"))
    yield from validate_counts(spec, ("replicas",), SPEC)
    template = spec.get("template")
    if template is None:
        yield required(TEMPLATE)
        return
    yield from validate_match(from_labels(spec.get("selector")), template)
    yield from validate_template(template, before(old), TEMPLATE)
    yield from validate_always(template, "ReplicationController")


_COUNTED: Final = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")
_MAIN: Final = ReplicationControllerStrategy()

KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource("", "replicationcontrollers"): Kind(
        _MAIN, {"status": WorkloadStatusStrategy(_MAIN, _COUNTED, WITHIN_REPLICAS)}
    ),
}
