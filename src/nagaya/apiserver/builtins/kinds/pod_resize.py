"""Other amounts of CPU and memory for a running pod, and containers added to look into it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from nagaya.apiserver.builtins.kinds.pod_annotations import MIRROR, validate_annotation_changes
from nagaya.apiserver.builtins.kinds.pod_resources import computed_qos_class, qos_class
from nagaya.apiserver.builtins.kinds.pod_sameness import same
from nagaya.apiserver.builtins.kinds.pod_shape import ephemeral_difference
from nagaya.apiserver.builtins.kinds.pod_validation import ANNOTATIONS, SPEC, rules_of, validate_whole
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.field_errors import Cause, FieldError, Path, forbidden, invalid
from nagaya.apiserver.meta.status import JsonObject

_COMPUTE: Final = ("cpu", "memory")


def keep_only_resize(new: JsonObject, old: JsonObject) -> None:
    """Undo, in place, whatever a resize has no say in. Containers that do not fit are left for validation to refuse."""
    after, before = new["spec"], old["spec"]
    for field in ("containers", "initContainers"):
        if len(after.get(field) or ()) != len(before.get(field) or ()):
            return
    spec = {**before}
    for field in ("containers", "initContainers"):
        if field in after:
            spec[field] = _merged(after[field] or [], before.get(field) or [])
    if "resources" in after:
        spec["resources"] = after["resources"]
    else:
        spec.pop("resources", None)
    new["spec"] = spec


def _merged(after: list[JsonObject], before: list[JsonObject]) -> list[JsonObject]:
    merged = []
    for new, old in zip(after, before, strict=True):
        if new.get("name") != old.get("name"):
            return after
        mine = {**old}
        for field in ("resources", "resizePolicy"):
            if field in new:
                mine[field] = new[field]
            else:
                mine.pop(field, None)
        merged.append(mine)
    return merged


def validate_resize(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """What is wrong with a resize, apart from the general rules for metadata."""
    for refused, detail in (
        (MIRROR in (old["metadata"].get("annotations") or ()), "static pods cannot be resized"),
        ((old["spec"].get("os") or {}).get("name") == "windows", "windows pods cannot be resized"),
    ):
        if refused:
            return [FieldError(Cause.FORBIDDEN, "", "", detail)]
    errors = [*validate_whole(new, rules_of(old)), *_validate_state(new, old)]
    after, before = new["spec"], old["spec"]
    copy = {**after}
    if _has_own(before) or _has_own(after):
        errors += _validate_pod_level(copy, before)
    misplaced = list(_validate_order(after, before))
    if misplaced:
        return errors + misplaced
    for field in ("initContainers", "containers"):
        for position, (mine, known) in enumerate(_pairs(after, before, field)):
            errors += _validate_removed(
                mine.get("resources") or {},
                known.get("resources") or {},
                SPEC.child(field).index(position).child("resources"),
                "resource",
            )
    errors += _mask_containers(copy, before)
    if not errors and not same("core/v1.PodSpec", copy, before):
        errors.append(forbidden(SPEC, "only cpu and memory resources are mutable"))
    return errors


def _validate_state(new: JsonObject, old: JsonObject) -> Iterator[FieldError]:
    if qos_class(old) != computed_qos_class(new):
        quality = (new.get("status") or {}).get("qosClass") or ""
        yield invalid(SPEC, quality, "Pod QOS Class may not change as a result of resizing")
    for status in (old.get("status") or {}).get("containerStatuses") or ():
        if "running" in (status.get("state") or {}):
            if status.get("resources") is None:
                yield forbidden(SPEC, "Pod running on node without support for resize")
            break


def _has_own(spec: JsonObject) -> bool:
    own = spec.get("resources") or {}
    return bool(own.get("requests") or own.get("limits"))


def _validate_pod_level(copy: JsonObject, before: JsonObject) -> Iterator[FieldError]:
    own, known = copy.get("resources"), before.get("resources")
    where = SPEC.child("resources")
    if known is not None:
        if own is None:
            yield forbidden(where, "pod-level resources cannot be removed")
            return
        yield from _validate_removed(own, known, where, "pod-level resource")
    masked = _masked(own or {}, known or {})
    if not masked and known is None:
        copy.pop("resources", None)
    else:
        copy["resources"] = masked
    if not same("core/v1.ResourceRequirements", copy.get("resources"), known):
        yield forbidden(SPEC, "only cpu and memory resources are mutable at pod-level")


def _validate_removed(after: JsonObject, before: JsonObject, path: Path, what: str) -> Iterator[FieldError]:
    for side in ("requests", "limits"):
        if set(before.get(side) or ()) - set(after.get(side) or ()):
            yield forbidden(path.child(side), f"{what} {side} cannot be removed")


def _validate_order(after: JsonObject, before: JsonObject) -> Iterator[FieldError]:
    for field in ("containers", "initContainers"):
        if len(after.get(field) or ()) != len(before.get(field) or ()):
            yield forbidden(SPEC.child(field), f"{field} may not be added or removed on resize")
            continue
        for position, (mine, known) in enumerate(_pairs(after, before, field)):
            if mine.get("name") != known.get("name"):
                where = SPEC.child(field).index(position).child("name")
                yield forbidden(where, f"{field} may not be renamed or reordered on resize")


def _pairs(after: JsonObject, before: JsonObject, field: str) -> Any:
    return zip(after.get(field) or (), before.get(field) or (), strict=True)


def _mask_containers(copy: JsonObject, before: JsonObject) -> list[FieldError]:
    """Take cpu and memory as they were, and find what else has changed."""
    errors = []
    for field in ("containers", "initContainers"):
        masked = []
        for position, (new, old) in enumerate(_pairs(copy, before, field)):
            mine = {**new, "resources": _masked(new.get("resources") or {}, old.get("resources") or {})}
            known = {**old, "resources": {k: v for k, v in (old.get("resources") or {}).items() if k != "claims"}}
            if not same("core/v1.Container", mine, known):
                where = SPEC if field == "containers" else SPEC.child(field).index(position)
                detail = "only cpu and memory resources are mutable"
                if field == "initContainers":
                    detail = "only cpu and memory resources for init or sidecar containers are mutable"
                errors.append(forbidden(where, detail))
            restarts = any(each.get("restartPolicy") == "RestartContainer" for each in new.get("resizePolicy") or ())
            if field == "initContainers" and new.get("restartPolicy") != "Always" and restarts and new != old:
                detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
                errors.append(forbidden(SPEC.child(field).index(position), detail))
            masked.append(old if same("core/v1.Container", mine, known) else mine)
        if masked:
            copy[field] = masked
    return errors


def _masked(after: JsonObject, before: JsonObject) -> JsonObject:
    masked = {}
    for side in ("limits", "requests"):
        others = {name: amount for name, amount in (after.get(side) or {}).items() if name not in _COMPUTE}
        known = {name: amount for name, amount in (before.get(side) or {}).items() if name in _COMPUTE}
        if others or known:
            masked[side] = {**others, **known}
    return masked


def validate_ephemeral(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Containers may be added to look into a pod; those that were added stay as they are."""
    if MIRROR in (old["metadata"].get("annotations") or ()):
        return [FieldError(Cause.FORBIDDEN, "", "", "static pods do not support ephemeral containers")]
    rules = rules_of(old)
    errors = list(validate_whole(new, rules))
    errors += validate_annotation_changes(new["metadata"], old["metadata"], new["spec"], ANNOTATIONS, rules)
    where = SPEC.child("ephemeralContainers")
    after = {each.get("name"): each for each in new["spec"].get("ephemeralContainers") or ()}
    for known in old["spec"].get("ephemeralContainers") or ():
        name = gostring.quote(known.get("name") or "")
        mine = after.get(known.get("name"))
        if mine is None:
            errors.append(forbidden(where, f"existing ephemeral containers {name} may not be removed\n"))
        elif not same("core/v1.EphemeralContainer", mine, known):
            changed = ephemeral_difference(known, mine)
            errors.append(forbidden(where, f"existing ephemeral containers {name} may not be changed\n{changed}"))
    return errors
