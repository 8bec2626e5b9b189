"""Deployments: ReplicaSets that follow each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.builtins.kinds.apps_workload import (
    SPEC,
    WorkloadStatusStrategy,
    WorkloadStrategy,
    not_supported_shape,
    share,
    validate_at_most_all,
    validate_counts,
    validate_share,
)
from nagaya.apiserver.builtins.kinds.core_goshape import shape
from nagaya.apiserver.builtins.kinds.core_strategy import immutable
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.replica_set import validate_replicas
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid
from nagaya.apiserver.meta.status import JsonObject

_PART: Final = "25%"
# The internal type, of Deployments and DaemonSets alike.
STRATEGY: Final = "Type=type:s RollingUpdate=rollingUpdate:*{MaxUnavailable=maxUnavailable:i MaxSurge=maxSurge:i}"


class DeploymentStrategy(WorkloadStrategy):
    """Deployments through their main endpoint."""

    spec_struct = "apps/v1.DeploymentSpec"
    replicas_always_shown = True
    warns_of_name = True

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        """One replica, replaced a quarter at a time."""
        spec.setdefault("replicas", 1)
        strategy: JsonObject = spec.setdefault("strategy", {})
        strategy.setdefault("type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            rolling: JsonObject = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", _PART)
            rolling.setdefault("maxSurge", _PART)
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)

    def counts(self, new: JsonObject, old: JsonObject) -> bool:
        """Annotations count too: they are copied to the ReplicaSets."""
        annotations = [each["metadata"].get("annotations") or {} for each in (new, old)]
        return annotations[0] != annotations[1] or super().counts(new, old)

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The rules for Deployments."""
        spec = obj["spec"]
        return [
            *validate_counts(spec, ("replicas",), SPEC),
            *validate_replicas(spec, old),
            *_validate_strategy(spec.get("strategy") or {}, SPEC.child("strategy")),
            *validate_counts(spec, ("minReadySeconds", "revisionHistoryLimit"), SPEC),
            *_validate_deadline(spec),
        ]

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """What is selected stays selected."""
        return immutable(SPEC.child("selector"), new["spec"].get("selector"), old["spec"].get("selector"))


def _validate_strategy(strategy: JsonObject, path: Path) -> Iterator[FieldError]:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            yield forbidden(path.child("rollingUpdate"), detail)
    elif kind == "RollingUpdate":
        yield from _validate_rolling(rolling or {}, path.child("rollingUpdate"))
    else:
        yield not_supported_shape(path, shape(STRATEGY), strategy, ("Recreate", "RollingUpdate"))


def _validate_rolling(rolling: JsonObject, path: Path) -> Iterator[FieldError]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    where = path.child("maxUnavailable")
    yield from validate_share(unavailable, where)
    yield from validate_share(surge, path.child("maxSurge"))
    if share(unavailable) == 0 and share(surge) == 0:
        yield invalid(where, unavailable, "may not be 0 when `maxSurge` is 0")
    yield from validate_at_most_all(unavailable, where)


def _validate_deadline(spec: JsonObject) -> Iterator[FieldError]:
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is None:
        return
    yield from validate_counts(spec, ("progressDeadlineSeconds",), SPEC)
    if deadline <= (spec.get("minReadySeconds") or 0):
        yield invalid(SPEC.child("progressDeadlineSeconds"), deadline, "must be greater than minReadySeconds")


_COUNTED: Final = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "collisionCount",
)
_WITHIN: Final = (
    ("updatedReplicas", "replicas", "status.replicas"),
    ("readyReplicas", "replicas", "status.replicas"),
    ("availableReplicas", "replicas", "status.replicas"),
    ("availableReplicas", "readyReplicas", "readyReplicas"),
)


def deployments() -> Kind:
    """Deployments and their status."""
    main = DeploymentStrategy()
    return Kind(main, {"status": WorkloadStatusStrategy(main, _COUNTED, _WITHIN, keeps_labels=True)})
