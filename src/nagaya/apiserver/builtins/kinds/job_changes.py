"""What may change in a job: little, and more as long as it is suspended and nothing of it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from nagaya.apiserver.builtins.kinds.apps_workload import SPEC
from nagaya.apiserver.builtins.kinds.core_goshape import Shape, shape
from nagaya.apiserver.builtins.kinds.core_strategy import immutable
from nagaya.apiserver.builtins.kinds.job_validation import FAILURE_POLICY, SUCCESS_POLICY
from nagaya.apiserver.builtins.kinds.pod_sameness import same
from nagaya.apiserver.builtins.kinds.pod_shape import internal_spec
from nagaya.apiserver.meta.field_errors import OMITTED, Cause, FieldError, Path, invalid
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject

_DIRECTIVES: Final = ("nodeSelector", "tolerations", "schedulingGates")


def validate_change(new: JsonObject, old: JsonObject) -> Iterator[FieldError]:
    """What must not change, after the rules for the whole job."""
    spec, before = new["spec"], old["spec"]
    yield from _validate_completions(spec, before)
    yield from immutable(SPEC.child("selector"), spec.get("selector"), before.get("selector"))
    yield from _validate_template(spec, old)
    yield from immutable(SPEC.child("completionMode"), spec.get("completionMode"), before.get("completionMode"))
    yield from _policy("podFailurePolicy", shape(FAILURE_POLICY), spec, before)
    for field in ("backoffLimitPerIndex", "managedBy"):
        yield from immutable(SPEC.child(field), spec.get(field), before.get(field))
    yield from _policy("successPolicy", shape(SUCCESS_POLICY), spec, before)


def _policy(field: str, kind: Shape, spec: JsonObject, before: JsonObject) -> Iterator[FieldError]:
    value = spec.get(field)
    if value != before.get(field):
        yield _shown(SPEC.child(field), None if value is None else kind.of(value))


def _shown(path: Path, value: Any) -> FieldError:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return FieldError(Cause.INVALID, str(path), OMITTED, f"{text}: {IMMUTABLE}")


def _validate_completions(spec: JsonObject, before: JsonObject) -> Iterator[FieldError]:
    completions, where = spec.get("completions"), SPEC.child("completions")
    if spec.get("completionMode") != "Indexed":
        yield from immutable(where, completions, before.get("completions"))
    elif completions not in (None, before.get("completions"), spec.get("parallelism")):
        yield invalid(where, completions, "can only be modified in tandem with spec.parallelism")


def _validate_template(spec: JsonObject, old: JsonObject) -> Iterator[FieldError]:
    template, before = spec.get("template") or {}, old["spec"].get("template") or {}
    suspended = bool(old["spec"].get("suspend"))
    idle = suspended and _is_idle(old.get("status") or {})
    if idle:
        before = _with_directives(before, template)
    if not idle:
        if not same("core/v1.PodTemplateSpec", template, before):
            yield _shown(SPEC.child("template"), _internal_template(template))
        return
    pod, known = template.get("spec") or {}, _with_amounts(before.get("spec") or {}, template.get("spec") or {})
    if not same("core/v1.PodSpec", pod, known):
        yield _shown(Path("spec.template.spec"), internal_spec(pod))


def _is_idle(status: JsonObject) -> bool:
    """Whether nothing of a suspended job runs."""
    conditions = status.get("conditions") or ()
    paused = any(each.get("type") == "Suspended" and each.get("status") == "True" for each in conditions)
    return (status.get("startTime") is None or paused) and not status.get("active")


def _with_directives(before: JsonObject, template: JsonObject) -> JsonObject:
    """The old template with what the new one says about where pods run."""
    pod, known = template.get("spec") or {}, {**(before.get("spec") or {})}
    for field in _DIRECTIVES:
        if field in pod:
            known[field] = pod[field]
        else:
            known.pop(field, None)
    others = {k: v for k, v in (known.get("affinity") or {}).items() if k != "nodeAffinity"}
    if (affinity := pod.get("affinity")) is not None:
        known["affinity"] = {**others, **{k: v for k, v in affinity.items() if k == "nodeAffinity"}}
    elif others:
        known["affinity"] = others
    else:
        known.pop("affinity", None)
    metadata = {k: v for k, v in (before.get("metadata") or {}).items() if k not in ("labels", "annotations")}
    metadata |= {k: v for k, v in (template.get("metadata") or {}).items() if k in ("labels", "annotations")}
    return {**before, "metadata": metadata, "spec": known}


def _with_amounts(known: JsonObject, pod: JsonObject) -> JsonObject:
    """The old pod spec with the amounts that the new one asks for."""
    result = {**known}
    for field in ("containers", "initContainers"):
        mine, theirs = pod.get(field) or [], known.get(field) or []
        if mine and len(mine) == len(theirs):
            result[field] = [
                {**old, "resources": new.get("resources") or {}} if old.get("name") == new.get("name") else old
                for new, old in zip(mine, theirs, strict=True)
            ]
    return result


def _internal_template(template: JsonObject) -> JsonObject:
    metadata = template.get("metadata") or {}
    order = ("name", "generateName", "namespace", "uid", "generation", "creationTimestamp", "labels", "annotations")
    shown = {field: metadata[field] for field in order if metadata.get(field)}
    for field in ("labels", "annotations"):
        if field in shown:
            shown[field] = dict(sorted(shown[field].items()))
    return {**shown, "Spec": internal_spec(template.get("spec") or {})}
