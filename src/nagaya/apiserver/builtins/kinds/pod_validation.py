"""The rules for whole pods: new ones, and what may change in those that exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from nagaya.apiserver.builtins.kinds.container import validate_image_spaces
from nagaya.apiserver.builtins.kinds.core_goshape import invalid_shape
from nagaya.apiserver.builtins.kinds.pod_annotations import (
    validate_agreement,
    validate_annotation_changes,
    validate_annotations,
)
from nagaya.apiserver.builtins.kinds.pod_rules import NEW_POD, Rules, rules_after
from nagaya.apiserver.builtins.kinds.pod_sameness import same
from nagaya.apiserver.builtins.kinds.pod_scheduling import validate_tolerations
from nagaya.apiserver.builtins.kinds.pod_shape import internal_shape, spec_difference
from nagaya.apiserver.builtins.kinds.pod_spec import validate_pod_spec
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, required
from nagaya.apiserver.meta.status import JsonObject

SPEC: Final = Path("spec")
ANNOTATIONS: Final = Path("metadata.annotations")
_LONGEST: Final = 2**31 - 1
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_CHANGEABLE: Final = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)


def validate_new(pod: JsonObject) -> Iterator[FieldError]:
    """A pod that is being created."""
    yield from validate_whole(pod, NEW_POD)
    spec = pod["spec"]
    if spec.get("ephemeralContainers"):
        yield forbidden(SPEC.child("ephemeralContainers"), "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        yield forbidden(SPEC.child("nodeName"), detail)
    yield from validate_agreement(pod["metadata"], spec, SPEC)


def validate_whole(pod: JsonObject, rules: Rules) -> Iterator[FieldError]:
    """What holds for every pod, new or changed, apart from the general rules for metadata."""
    metadata, spec = pod["metadata"], pod["spec"]
    yield from validate_annotations(metadata, spec, ANNOTATIONS, rules)
    yield from validate_pod_spec(spec, metadata, SPEC, rules)
    if not spec.get("serviceAccountName"):
        for position, volume in enumerate(spec.get("volumes") or ()):
            for index, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
                if "serviceAccountToken" in source:
                    where = SPEC.child("volumes").index(position).child("projected", "sources").index(index)
                    detail = "must not be specified when serviceAccountName is not set"
                    yield forbidden(where.child("serviceAccountToken"), detail)
    for field in ("containers", "initContainers"):
        for position, container in enumerate(spec.get(field) or ()):
            yield from validate_image_spaces(container, SPEC.child(field).index(position))


def rules_of(old: JsonObject) -> Rules:
    """The rules for a change of this pod."""
    return rules_after(old["spec"], old["metadata"], for_pod=True)


def validate_change(new: JsonObject, old: JsonObject, rules: Rules) -> Iterator[FieldError]:
    """What may change in a pod through its main endpoint: almost nothing of its spec."""
    after, before = new["spec"], old["spec"]
    yield from validate_annotation_changes(new["metadata"], old["metadata"], after, ANNOTATIONS, rules)
    for field in ("containers", "initContainers"):
        if len(after.get(field) or ()) != len(before.get(field) or ()):
            yield forbidden(SPEC.child(field), "pod updates may not add or remove containers")
            return
        for position, container in enumerate(after.get(field) or ()):
            where = SPEC.child(field).index(position)
            if not container.get("image"):
                yield required(where.child("image"))
            yield from validate_image_spaces(container, where)
    deadline, deadline_before = after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    where = SPEC.child("activeDeadlineSeconds")
    if deadline is not None:
        if not 0 <= deadline <= _LONGEST:
            yield invalid(where, deadline, names.out_of_range(0, _LONGEST))
            return
        if deadline_before is not None and deadline_before < deadline:
            yield invalid(where, deadline, "must be less than or equal to previous value")
            return
    elif deadline_before is not None:
        yield invalid(where, None, "must not update from a positive integer to nil value")
    yield from _validate_added_tolerations(after, before, rules)
    yield from _validate_deleted_gates(after, before)
    if same("core/v1.PodSpec", after, before):
        return
    masked, errors = _mask(after, before)
    yield from errors
    if not same("core/v1.PodSpec", masked, before):
        changed = spec_difference(before, masked)
        yield forbidden(SPEC, f"pod updates may not change fields other than {_CHANGEABLE}\n{changed}")


def _validate_added_tolerations(after: JsonObject, before: JsonObject, rules: Rules) -> Iterator[FieldError]:
    where = SPEC.child("tolerations")
    kept = {frozenset(_without(each, "tolerationSeconds").items()) for each in after.get("tolerations") or ()}
    for toleration in before.get("tolerations") or ():
        if frozenset(_without(toleration, "tolerationSeconds").items()) not in kept:
            yield forbidden(where, "existing toleration can not be modified except its tolerationSeconds")
            return
    yield from validate_tolerations(after.get("tolerations") or (), where, rules)


def _validate_deleted_gates(after: JsonObject, before: JsonObject) -> Iterator[FieldError]:
    known = {each.get("name") for each in before.get("schedulingGates") or ()}
    for position, gate in enumerate(after.get("schedulingGates") or ()):
        name = gate.get("name") or ""
        if name not in known:
            where = SPEC.child("schedulingGates").index(position).child("name")
            yield forbidden(where, f"only deletion is allowed, but found new scheduling gate '{name}'")


def _without(value: Mapping[str, Any], field: str) -> JsonObject:
    return {name: each for name, each in value.items() if name != field}


def _mask(after: JsonObject, before: JsonObject) -> tuple[JsonObject, list[FieldError]]:
    """The new spec with everything that may change as it was before, and what is wrong with the changes."""
    masked = {**after}
    for field in ("containers", "initContainers"):
        if field in after:
            pairs = zip(after[field] or (), before.get(field) or (), strict=True)
            masked[field] = [{**new, "image": old.get("image") or ""} for new, old in pairs]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _take(masked, before, field)
    if (before.get("terminationGracePeriodSeconds") or 0) < 0 and after.get("terminationGracePeriodSeconds") == 1:
        _take(masked, before, "terminationGracePeriodSeconds")
    errors: list[FieldError] = []
    if before.get("schedulingGates"):
        errors += _mask_node_selector(masked, before)
        errors += _mask_node_affinity(masked, before)
    return masked, errors


def _take(masked: JsonObject, before: JsonObject, field: str) -> None:
    if field in before:
        masked[field] = before[field]
    else:
        masked.pop(field, None)


def _mask_node_selector(masked: JsonObject, before: JsonObject) -> list[FieldError]:
    after, known = masked.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    _take(masked, before, "nodeSelector")
    if all(after.get(key) == value for key, value in known.items()):
        return []
    detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
    return [invalid(SPEC.child("nodeSelector"), after, detail)]


def _mask_node_affinity(masked: JsonObject, before: JsonObject) -> list[FieldError]:
    after = (masked.get("affinity") or {}).get("nodeAffinity")
    known = (before.get("affinity") or {}).get("nodeAffinity")
    if after == known:
        return []
    errors = list(_validate_node_affinity(after or {}, known or {}))
    rest = _without(masked.get("affinity") or {}, "nodeAffinity")
    affinity = {**rest, "nodeAffinity": known} if known is not None else rest
    if affinity or "affinity" in before:
        masked["affinity"] = affinity
    else:
        masked.pop("affinity", None)
    return errors


def _validate_node_affinity(after: JsonObject, before: JsonObject) -> Iterator[FieldError]:
    where = SPEC.child("affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
    known = (before.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    terms = (after.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    if known and len(known) != len(terms):
        shown = [internal_shape("NodeSelectorTerm").of(term) for term in terms]
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid(where, shown or None, detail)
        return
    for position, (term, old) in enumerate(zip(terms, known, strict=False)):
        if not _only_adds(term, old):
            detail = "only additions are allowed (no mutations or deletions)"
            yield invalid_shape(where.index(position), internal_shape("NodeSelectorTerm"), term, detail)


def _only_adds(term: JsonObject, old: JsonObject) -> bool:
    lists = ("matchExpressions", "matchFields")
    if not any(old.get(field) for field in lists):
        return not any(term.get(field) for field in lists)
    return all((term.get(field) or [])[: len(old.get(field) or ())] == (old.get(field) or []) for field in lists)
