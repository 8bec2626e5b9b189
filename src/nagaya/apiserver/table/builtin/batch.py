"""The batch group: jobs, and jobs on a schedule."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from nagaya.apiserver.meta import durations
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.builtin.parts import (
    NONE,
    UNSET,
    age,
    condition,
    containers,
    deleting,
    name,
    pod_template,
    selector_text,
    spec,
    status,
)
from nagaya.apiserver.table.columns import AGE, NAME, Cells, flag, number, shape, text, wide

_PODS: Final = (
    wide("Containers", "The names of the template's containers."),
    wide("Images", "The images of the template's containers."),
    wide("Selector", "Which pods are meant, by their labels."),
)


@shape(
    NAME,
    text("Status", "How far the job is."),
    text("Completions", "Pods that succeeded, of those needed."),
    text("Duration", "How long the job took, or has been running."),
    AGE,
    *_PODS,
)
def JOBS(obj: JsonObject, now: datetime) -> Cells:
    wanted, observed = spec(obj), status(obj)
    succeeded = observed.get("succeeded") or 0
    if wanted.get("completions") is not None:
        completions = f"{succeeded}/{wanted['completions']}"
    else:
        parallelism = wanted.get("parallelism") or 0
        completions = f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"
    return [
        name(obj),
        _state(obj),
        completions,
        _duration(observed, now),
        age(obj, now),
        *containers(pod_template(obj)),
        selector_text(wanted.get("selector")),
    ]


def _state(obj: JsonObject) -> str:
    conditions = status(obj).get("conditions")

    def holds(kind: str) -> bool:
        found = condition(conditions, kind)
        return found is not None and found.get("status") == "True"

    for kind in ("Complete", "Failed"):
        if holds(kind):
            return kind
    if deleting(obj):
        return "Terminating"
    return next(filter(holds, ("Suspended", "FailureTarget", "SuccessCriteriaMet")), "Running")


def _duration(observed: JsonObject, now: datetime) -> str:
    started = durations.parse_timestamp(observed.get("startTime") or "")
    if started is None:
        return ""
    ended = durations.parse_timestamp(observed.get("completionTime") or "")
    return durations.human(durations.seconds_between(started, ended or now))


@shape(
    NAME,
    text("Schedule", "When the job runs, as cron writes it."),
    text("Timezone", "The time zone of the schedule."),
    flag("Suspend", "Whether no more runs are started."),
    number("Active", "The number of runs at the moment."),
    text("Last Schedule", "The time since the last run was started."),
    AGE,
    *_PODS,
)
def CRON_JOBS(obj: JsonObject, now: datetime) -> Cells:
    wanted, observed = spec(obj), status(obj)
    suspended = wanted.get("suspend")
    last = observed.get("lastScheduleTime")
    zone = wanted.get("timeZone")
    job = spec(wanted.get("jobTemplate") or {})
    return [
        name(obj),
        wanted.get("schedule") or "",
        NONE if zone is None else zone,
        UNSET if suspended is None else "True" if suspended else "False",
        len(observed.get("active") or ()),
        NONE if last is None else durations.since(last, now),
        age(obj, now),
        *containers(pod_template({"spec": job})),
        selector_text(job.get("selector")),
    ]
