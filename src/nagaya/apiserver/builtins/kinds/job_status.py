"""What may be reported about a job: numbers and conditions that agree with each other.

Most rules are checked only when what they are about has changed, so a status from before a rule stays writable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from nagaya.apiserver.builtins.kinds import job_indexes
from nagaya.apiserver.builtins.kinds.apps_workload import STATUS, validate_counts
from nagaya.apiserver.builtins.kinds.core_goshape import invalid_shape, shape
from nagaya.apiserver.meta import times
from nagaya.apiserver.meta.field_errors import OMITTED, FieldError, Path, duplicate, invalid, required
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject

_CONDITIONS: Final = STATUS.child("conditions")
_TERMINAL: Final = ("Failed", "Complete", "FailureTarget")


class _State:
    """A job's status as its rules ask about it."""

    def __init__(self, job: JsonObject) -> None:
        self.status: JsonObject = job.get("status") or {}
        conditions = self.status.get("conditions") or ()
        self.true = {each.get("type") for each in conditions if each.get("status") == "True"}
        self.false = {each.get("type") for each in conditions if each.get("status") == "False"}
        self.finished = bool(self.true & {"Complete", "Failed"})

    def get(self, field: str) -> Any:
        return self.status.get(field)


def validate_status_change(new: JsonObject, old: JsonObject) -> Iterator[FieldError]:
    """Everything that is checked when a status is written."""
    spec, after, before = new["spec"], _State(new), _State(old)
    yield from validate_counts(after.status, ("active", "succeeded", "failed", "ready", "terminating"), STATUS)
    yield from _validate_uncounted(after.get("uncountedTerminatedPods") or {})
    yield from _validate_conditions(after, before)
    yield from _validate_times(after, before)
    yield from _validate_needed(after, before)
    yield from _validate_finished(after, before, spec)
    yield from _validate_indexes(after, before, spec)
    yield from _validate_pods(after, before)
    yield from _validate_success(after, spec)
    yield from _validate_history(after, before, spec)


def _changed(after: _State, before: _State, *fields: str) -> bool:
    return any((after.get(field) or None) != (before.get(field) or None) for field in fields)


def _turned(after: _State, before: _State, *conditions: str) -> bool:
    return any((each in after.true) != (each in before.true) for each in conditions)


def _validate_uncounted(uncounted: JsonObject) -> Iterator[FieldError]:
    seen: set[str] = set()
    for field in ("succeeded", "failed"):
        for position, uid in enumerate(uncounted.get(field) or ()):
            where = STATUS.child("uncountedTerminatedPods", field).index(position)
            if not uid:
                yield invalid(where, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(where, uid)
            seen.add(uid)


def _both(path: Path, detail: str) -> FieldError:
    return invalid(path, OMITTED, detail)


def _validate_conditions(after: _State, before: _State) -> Iterator[FieldError]:
    if _turned(after, before, "Complete", "Failed") and {"Complete", "Failed"} <= after.true:
        yield _both(_CONDITIONS, "cannot set Complete=True and Failed=true conditions")
    if _turned(after, before, "Complete", "FailureTarget") and {"Complete", "FailureTarget"} <= after.true:
        yield _both(_CONDITIONS, "cannot set Complete=True and FailureTarget=true conditions")


def _validate_times(after: _State, before: _State) -> Iterator[FieldError]:
    completed, where = after.get("completionTime"), STATUS.child("completionTime")
    if _turned(after, before, "Complete") or _changed(after, before, "completionTime"):
        if completed is not None and "Complete" not in after.true:
            yield invalid(where, completed, "cannot set completionTime when there is no Complete=True condition")
        if completed is None and "Complete" in after.true:
            yield required(where, "completionTime is required for Complete jobs")
    started = after.get("startTime")
    reversed_ = started is not None and completed is not None and times.moment(completed) < times.moment(started)
    if reversed_ and _changed(after, before, "startTime", "completionTime"):
        yield invalid(where, completed, "must be equal to or after `startTime`")


def _validate_needed(after: _State, before: _State) -> Iterator[FieldError]:
    sudden = "Failed" in after.true and "FailureTarget" not in after.true
    if sudden and (_turned(after, before, "Failed") or _changed(after, before, "failedIndexes")):
        yield _both(_CONDITIONS, "cannot set Failed=True condition without the FailureTarget=true condition")
    sudden = "Complete" in after.true and "SuccessCriteriaMet" not in after.true
    if sudden and _turned(after, before, "Complete", "SuccessCriteriaMet"):
        detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        yield _both(_CONDITIONS, detail)


def _validate_finished(after: _State, before: _State, spec: JsonObject) -> Iterator[FieldError]:
    if not after.finished:
        return
    turned = after.finished != before.finished
    active = after.get("active") or 0
    if active > 0 and (turned or _changed(after, before, "active")):
        yield invalid(STATUS.child("active"), active, "active>0 is invalid for finished job")
    never = spec.get("suspend") is True and spec.get("completions") == 0
    if after.get("startTime") is None and (turned or _changed(after, before, "startTime")) and not never:
        yield required(STATUS.child("startTime"), "startTime is required for finished job")
    uncounted = after.get("uncountedTerminatedPods") or {}
    if any(uncounted.values()) and (turned or _changed(after, before, "uncountedTerminatedPods")):
        kind, where = shape("Succeeded=succeeded:p Failed=failed:p"), STATUS.child("uncountedTerminatedPods")
        yield invalid_shape(where, kind, uncounted, "must be empty for finished job")


def _validate_indexes(after: _State, before: _State, spec: JsonObject) -> Iterator[FieldError]:
    completed, failed = after.get("completedIndexes") or "", after.get("failedIndexes")
    completions, limit = spec.get("completions"), spec.get("backoffLimitPerIndex")
    completed_changed = _changed(after, before, "completedIndexes")
    failed_changed = after.get("failedIndexes") != before.get("failedIndexes")
    if completed_changed and completions is not None:
        yield from _validate_format(completed, completions, "completedIndexes")
    if failed_changed and completions is not None and limit is not None and failed is not None:
        yield from _validate_format(failed, completions, "failedIndexes")
    if completed_changed and completed and spec.get("completionMode") != "Indexed":
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid(STATUS.child("completedIndexes"), completed, detail)
    where = STATUS.child("failedIndexes")
    if failed_changed and limit is None and failed is not None:
        yield invalid(where, failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null")
    if (failed_changed or completed_changed) and completions is not None and failed is not None:
        common = job_indexes.overlap(completed, failed, completions)
        if common is not None:
            yield invalid(where, failed, f"failedIndexes and completedIndexes overlap at index: {common}")


def _validate_format(text: str, completions: int, field: str) -> Iterator[FieldError]:
    try:
        job_indexes.count(text, completions)
    except job_indexes.IndexesError as error:
        yield invalid(STATUS.child(field), text, f"error parsing {field}: {error}")


def _validate_pods(after: _State, before: _State) -> Iterator[FieldError]:
    terminating, ready = after.get("terminating") or 0, after.get("ready")
    news = after.finished != before.finished or _changed(after, before, "terminating")
    if after.finished and terminating > 0 and news:
        yield invalid(STATUS.child("terminating"), terminating, "terminating>0 is invalid for finished job")
    if ready is not None and ready > (after.get("active") or 0) and _changed(after, before, "ready", "active"):
        yield invalid(STATUS.child("ready"), ready, "cannot set more ready pods than active")


def _validate_success(after: _State, spec: JsonObject) -> Iterator[FieldError]:
    met = "SuccessCriteriaMet" in after.true
    if met and "Failed" in after.true:
        yield _both(_CONDITIONS, "cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if met and "FailureTarget" in after.true:
        yield _both(_CONDITIONS, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if "successPolicy" in spec and not met and "Complete" in after.true:
        detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        yield _both(_CONDITIONS, detail)


def _validate_history(after: _State, before: _State, spec: JsonObject) -> Iterator[FieldError]:
    for condition in _TERMINAL:
        if condition in before.true and condition not in after.true:
            yield _both(_CONDITIONS, f"cannot disable the terminal {condition}=True condition")
    counters = ["failed"]
    if spec.get("completionMode") != "Indexed" or spec.get("completions") != spec.get("parallelism"):
        counters.append("succeeded")
    for field in counters:
        if (after.get(field) or 0) < (before.get(field) or 0):
            yield invalid(STATUS.child(field), after.get(field) or 0, f"cannot decrease the {field} counter")
    done, done_before = after.get("completionTime"), before.get("completionTime")
    if done is not None and done_before is not None and done != done_before:
        yield invalid(STATUS.child("completionTime"), done, IMMUTABLE)
    started, resuming = before.get("startTime"), "Suspended" in before.true and "Suspended" in after.false
    if started is not None and after.get("startTime") != started and not resuming and not spec.get("suspend"):
        detail = "field is immutable for unsuspended job once set"
        yield invalid(STATUS.child("startTime"), after.get("startTime"), detail)
    met, met_before = "SuccessCriteriaMet" in after.true, "SuccessCriteriaMet" in before.true
    if met_before and not met:
        yield _both(_CONDITIONS, "cannot disable the SuccessCriteriaMet=True condition")
    if "Complete" in before.true and not met_before and met:
        detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        yield _both(_CONDITIONS, detail)
