"""Jobs: pods that run until they are done.

A job selects its pods by labels that the server makes from the job's own identity, unless its author insists on a
selector of his own. Deleting a job leaves its pods alone, unless told otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from nagaya.apiserver.builtins.kinds import core_metadata
from nagaya.apiserver.builtins.kinds.apps_workload import SPEC, TEMPLATE, WorkloadStrategy, compiled_selector
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStatusStrategy
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.pod_defaults import default_template
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, invalid, required
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.strategy import Dependents
from nagaya.apiserver.selectors import label_selector

if TYPE_CHECKING:
    from nagaya.apiserver.web.options import DeleteOptions

_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_LARGEST: Final = 2**31 - 1
_PODS_STAY: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


def default_job_spec(spec: JsonObject) -> None:
    """What every holder of a job's spec gets."""
    default_template(spec.setdefault("template", {}))
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for condition in rule.get("onPodConditions") or ():
            if not condition.get("status"):
                condition["status"] = "True"


class JobStrategy(WorkloadStrategy):
    """Jobs through their main endpoint."""

    spec_struct = "batch/v1.JobSpec"
    dependents = Dependents.ORPHAN
    warns_of_name = True
    selectable_fields = frozenset({"status.successful"})

    def default(self, obj: JsonObject) -> None:
        """One pod, tried a few times."""
        spec: JsonObject = obj.setdefault("spec", {})
        default_job_spec(spec)
        if "completions" not in spec and "parallelism" not in spec:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        spec.setdefault("backoffLimit", _LARGEST if "backoffLimitPerIndex" in spec else 6)
        labels = (spec["template"].get("metadata") or {}).get("labels")
        metadata: JsonObject = obj.setdefault("metadata", {})
        if labels and not metadata.get("labels"):
            # The very same labels: what the server adds to the one is added to the other.
            metadata["labels"] = labels
        spec.setdefault("completionMode", "NonIndexed")
        spec.setdefault("suspend", False)
        spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
        spec.setdefault("manualSelector", False)

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """Make the selector."""
        if not obj["spec"].get("manualSelector"):
            _make_selector(obj)
        super().prepare_create(obj, call)

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The rules for jobs."""
        return [
            *_validate_generated(obj, old),
            *_validate_spec(obj["spec"], old),
            *_validate_host_names(obj),
        ]

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The rules for a new job, then those for a change, which go through the spec once more."""
        from nagaya.apiserver.builtins.kinds import job_changes

        return [
            *self.complete(new, found),
            *self.rules(new, old),
            *core_metadata.updated(new["metadata"], old["metadata"], found),
            *_validate_spec(new["spec"], old),
            *job_changes.validate_change(new, old),
        ]

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """What is likely a mistake."""
        return [*_too_many(obj["spec"], "spec"), *super().warn_create(obj, call)]

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same, in a change."""
        changed = new["metadata"].get("generation") != old["metadata"].get("generation")
        return [*(_too_many(new["spec"], "spec") if changed else ()), *super().warn_update(new, old, call)]

    def warn_delete(self, options: DeleteOptions) -> list[str]:
        """That the pods stay, if nothing was said about them."""
        if options.propagation is None and options.orphan_dependents is None:
            return [_PODS_STAY]
        return []

    def select(self, obj: JsonObject) -> Mapping[str, str]:
        """The number of pods that are done."""
        return {"status.successful": str((obj.get("status") or {}).get("succeeded") or 0)}

    def field_label(self, label: str) -> str:
        """Besides the name, the number of pods that are done."""
        if label in ("metadata.name", "metadata.namespace", "status.successful"):
            return label
        raise ValueError(f'field label "{label}" not supported for Job')


def _too_many(spec: JsonObject, path: str) -> Iterator[str]:
    many = (spec.get("completions") or 0) > 100_000 and (spec.get("parallelism") or 0) > 10_000
    if many and spec.get("completionMode") == "Indexed":
        yield (
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than "
            "10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )


def job_warnings(spec: JsonObject, path: str) -> list[str]:
    """What is likely a mistake in the spec of a job that will be made."""
    return list(_too_many(spec, path))


def _make_selector(obj: JsonObject) -> None:
    metadata, spec = obj["metadata"], obj["spec"]
    template = spec["template"]
    given = (template.get("metadata") or {}).get("labels")
    labels = {**(given or {})}
    for name in _NAME_LABELS:
        labels.setdefault(name, metadata.get("name") or "")
    for name in _UID_LABELS:
        labels.setdefault(name, metadata["uid"])
    if not metadata.get("labels") or metadata["labels"] is given:
        metadata["labels"] = labels
    spec["template"] = {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}}
    selector = spec.get("selector") or {}
    selected = {_UID_LABELS[1]: metadata["uid"], **(selector.get("matchLabels") or {})}
    spec["selector"] = {**selector, "matchLabels": selected}


def _validate_generated(obj: JsonObject, old: JsonObject | None) -> Iterator[FieldError]:
    metadata, spec = obj["metadata"], obj["spec"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    labels: dict[str, Any] | None = (spec["template"].get("metadata") or {}).get("labels")
    known = {} if old is None else ((old["spec"].get("template") or {}).get("metadata") or {}).get("labels") or {}
    prefixed = old is None or (_NAME_LABELS[1] in known and _UID_LABELS[1] in known)
    uid, name = metadata.get("uid") or "", metadata.get("name") or ""
    expected = {_UID_LABELS[0]: uid, _NAME_LABELS[0]: name}
    if prefixed:
        expected |= {_UID_LABELS[1]: uid, _NAME_LABELS[1]: name}
    for key, value in expected.items():
        where = TEMPLATE.child("metadata", "labels").key(key)
        if key not in (labels or {}):
            yield required(where, f"must be '{value}'")
        elif (labels or {})[key] != value:
            yield invalid(where, labels, f"must be '{value}'")
    selector = compiled_selector(spec)
    if selector is not None and not selector.matches(expected):
        yield invalid(SPEC.child("selector"), spec["selector"], "`selector` not auto-generated")


def _validate_spec(spec: JsonObject, old: JsonObject | None) -> Iterator[FieldError]:
    from nagaya.apiserver.builtins.kinds.job_validation import validate_job_spec

    yield from validate_job_spec(spec, None if old is None else old["spec"], SPEC)
    selector = spec.get("selector")
    if selector is None:
        yield required(SPEC.child("selector"))
    else:
        lenient = old is not None and label_selector.has_invalid_value(old["spec"].get("selector"))
        yield from label_selector.validate(selector, SPEC.child("selector"), invalid_values_allowed=lenient)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    compiled = compiled_selector(spec)
    if compiled is not None and not compiled.matches(labels):
        yield invalid(TEMPLATE.child("metadata", "labels"), labels, "`selector` does not match template `labels`")


def _validate_host_names(obj: JsonObject) -> Iterator[FieldError]:
    spec, name = obj["spec"], obj["metadata"].get("name") or ""
    if spec.get("completionMode") == "Indexed" and (spec.get("completions") or 0) > 0:
        last = f"{name}-{spec['completions'] - 1}"
        if names.dns_label(last):
            yield invalid("metadata.name", name, f"will not able to create pod with invalid DNS label: {last}")


class JobStatusStrategy(CoreStatusStrategy):
    """What the job controller reports."""

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """The rules for statuses."""
        from nagaya.apiserver.builtins.kinds import job_status

        return list(job_status.validate_status_change(new, old))


def jobs() -> Kind:
    """Jobs and their status."""
    main = JobStrategy()
    return Kind(main, {"status": JobStatusStrategy(main)})
