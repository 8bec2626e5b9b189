"""CronJobs: jobs that are made again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds import pod_template
from nagaya.apiserver.builtins.kinds.apps_workload import SPEC, WorkloadStrategy, validate_counts
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStatusStrategy
from nagaya.apiserver.builtins.kinds.job import default_job_spec, job_warnings
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, not_supported, required
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_JOB: Final = SPEC.child("jobTemplate", "spec")
_POLICIES: Final = ("Allow", "Forbid", "Replace")
_LONGEST_NAME: Final = 52


class CronJobStrategy(WorkloadStrategy):
    """CronJobs through their main endpoint."""

    spec_struct = "batch/v1.CronJobSpec"
    warns_of_name = True

    def default(self, obj: JsonObject) -> None:
        """Jobs may overlap, and the last few stay."""
        spec: JsonObject = obj.setdefault("spec", {})
        default_job_spec(spec.setdefault("jobTemplate", {}).setdefault("spec", {}))
        if not spec.get("concurrencyPolicy"):
            spec["concurrencyPolicy"] = "Allow"
        spec.setdefault("suspend", False)
        spec.setdefault("successfulJobsHistoryLimit", 3)
        spec.setdefault("failedJobsHistoryLimit", 1)

    def template(self, obj: JsonObject) -> JsonObject:
        """The template of the pods of the jobs."""
        job = ((obj.get("spec") or {}).get("jobTemplate") or {}).get("spec") or {}
        template: JsonObject = job.get("template") or {}
        return template

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The rules for CronJobs."""
        errors = list(_validate(obj["spec"], None if old is None else old["spec"]))
        name = obj["metadata"].get("name") or ""
        if old is None and names.size(name) > _LONGEST_NAME:
            errors.append(invalid("metadata.name", name, f"must be no more than {_LONGEST_NAME} characters"))
        return errors

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """What is likely a mistake."""
        warnings = []
        if problems := names.dns_label(obj["metadata"]["name"]):
            advice = "this is used in Pod names and hostnames, which can result in surprising behavior"
            warnings.append(f"metadata.name: {advice}; a DNS label is recommended: [{' '.join(problems)}]")
        return [*warnings, *self._job_warnings(obj)]

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same, in a change."""
        changed = new["metadata"].get("generation") != old["metadata"].get("generation")
        warnings = self._job_warnings(new) if changed else []
        if "TZ" in (new["spec"].get("schedule") or ""):
            page = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"
            advice = f"use timeZone instead, see {page} for more details"
            warnings.append(f"cannot use TZ or CRON_TZ in spec.spec.schedule, {advice}")
        return warnings

    def _job_warnings(self, obj: JsonObject) -> list[str]:
        job = obj["spec"]["jobTemplate"].get("spec") or {}
        return [
            *job_warnings(job, str(_JOB)),
            *pod_template.template_warnings(self.template(obj), _JOB.child("template")),
        ]


def _validate(spec: JsonObject, old: JsonObject | None) -> Iterator[FieldError]:
    from nagaya.apiserver.builtins.kinds import job_schedule
    from nagaya.apiserver.builtins.kinds.job_validation import validate_job_spec

    zone = spec.get("timeZone")
    if not spec.get("schedule"):
        yield required(SPEC.child("schedule"))
    else:
        yield from _validate_schedule(spec["schedule"], zone, old, SPEC.child("schedule"))
    yield from validate_counts(spec, ("startingDeadlineSeconds",), SPEC)
    if zone is not None and (old is None or old.get("timeZone") != zone):
        yield from (invalid(SPEC.child("timeZone"), zone, each) for each in job_schedule.zone_problems(zone))
    policy = spec.get("concurrencyPolicy") or ""
    if not policy:
        yield required(SPEC.child("concurrencyPolicy"))
    elif policy not in _POLICIES:
        yield not_supported(SPEC.child("concurrencyPolicy"), policy, _POLICIES)
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    before = None if old is None else (old.get("jobTemplate") or {}).get("spec") or {}
    yield from validate_job_spec(job, before, _JOB)
    if job.get("selector") is not None:
        yield invalid(_JOB.child("selector"), job["selector"], "`selector` will be auto-generated")
    if job.get("manualSelector"):
        yield not_supported(_JOB.child("manualSelector"), True, ("nil", "false"))
    yield from validate_counts(spec, ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"), SPEC)


def _validate_schedule(text: str, zone: str | None, old: JsonObject | None, path: Path) -> Iterator[FieldError]:
    from nagaya.apiserver.builtins.kinds import job_schedule

    try:
        job_schedule.check(text)
    except job_schedule.ScheduleError as error:
        yield invalid(path, text, str(error))
    if "TZ" in text:
        if old is None or "TZ" not in (old.get("schedule") or ""):
            yield invalid(path, text, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
        elif zone is not None:
            yield invalid(path, text, "cannot use both timeZone field and TZ or CRON_TZ in schedule")


class CronJobStatusStrategy(CoreStatusStrategy):
    """What the controller reports, unchecked."""

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """There are no rules."""
        return []


def cron_jobs() -> Kind:
    """CronJobs and their status."""
    main = CronJobStrategy()
    return Kind(main, {"status": CronJobStatusStrategy(main)})
