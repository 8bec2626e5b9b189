"""The rules for jobs, and for the jobs that a CronJob makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.builtins.kinds import job_indexes
from nagaya.apiserver.builtins.kinds.apps_workload import NEGATIVE, validate_counts
from nagaya.apiserver.builtins.kinds.core_goshape import invalid_shape, shape
from nagaya.apiserver.builtins.kinds.pod_template import validate_template
from nagaya.apiserver.meta import gostring, names
from nagaya.apiserver.meta.field_errors import (
    OMITTED,
    FieldError,
    Path,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from nagaya.apiserver.meta.status import JsonObject

SUCCESS_POLICY: Final = "Rules=rules:[SucceededIndexes=succeededIndexes:p SucceededCount=succeededCount:p]"
FAILURE_POLICY: Final = (
    "Rules=rules:[Action=action:s OnExitCodes=onExitCodes:*{ContainerName=containerName:p Operator=operator:s "
    "Values=values:p} OnPodConditions=onPodConditions:[Type=type:s Status=status:s]]"
)
_MOST_PARALLEL: Final = 100_000
_MANY: Final = 100_000
_MOST_OF_MANY: Final = 10_000
_MOST_RULES: Final = 20
_MOST_CODES: Final = 255
_LONGEST_MANAGER: Final = 63
_LONGEST_INDEXES: Final = 64 * 1024
_NEEDS_INDEXES: Final = "requires indexed completion mode"
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")


def validate_job_spec(spec: JsonObject, old: JsonObject | None, path: Path) -> Iterator[FieldError]:
    """Everything but the selector; `old` is what the spec was before."""
    numbers = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
    yield from validate_counts(spec, (*numbers, "backoffLimitPerIndex", "maxFailedIndexes"), path)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified")
    if (manager := spec.get("managedBy")) is not None:
        yield from _validate_manager(manager, path.child("managedBy"))
    yield from _validate_mode(spec, path)
    if (failure := spec.get("podFailurePolicy")) is not None:
        yield from _validate_failure_policy(failure, spec, path.child("podFailurePolicy"))
    if (success := spec.get("successPolicy")) is not None:
        where = path.child("successPolicy")
        if spec.get("completionMode") != "Indexed":
            yield invalid_shape(where, shape(SUCCESS_POLICY), success, _NEEDS_INDEXES)
        else:
            yield from _validate_success_policy(success, spec, where)
    replacement = spec.get("podReplacementPolicy")
    known = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
    if replacement is not None and replacement not in known:
        yield not_supported(path.child("podReplacementPolicy"), replacement, known)
    template = spec.get("template") or {}
    yield from validate_template(template, None if old is None else old.get("template") or {}, path.child("template"))
    yield from _validate_restart(template, spec, path.child("template", "spec", "restartPolicy"))


def _validate_restart(template: JsonObject, spec: JsonObject, path: Path) -> Iterator[FieldError]:
    policy = (template.get("spec") or {}).get("restartPolicy") or ""
    if policy in ("", "Always"):
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(path, policy, ("OnFailure", "Never"))
    elif policy != "Never" and "podFailurePolicy" in spec:
        yield invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _validate_manager(name: str, path: Path) -> Iterator[FieldError]:
    domain, _, rest = name.partition("/")
    if not name:
        yield required(path)
    elif not domain or not rest:
        yield invalid(path, name, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from (invalid(path, domain, problem) for problem in names.dns_subdomain(domain))
        yield from (invalid(path, rest, problem) for problem in names.http_path(rest))
    if names.size(name) > _LONGEST_MANAGER:
        yield too_long(path, _LONGEST_MANAGER)


def _validate_mode(spec: JsonObject, path: Path) -> Iterator[FieldError]:
    mode = spec.get("completionMode")
    if mode not in (None, "NonIndexed", "Indexed"):
        yield not_supported(path.child("completionMode"), mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed":
        yield from _validate_indexed(spec, path)
    elif mode in (None, "NonIndexed"):
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if (number := spec.get(field)) is not None:
                yield invalid(path.child(field), number, _NEEDS_INDEXES)


def _validate_indexed(spec: JsonObject, path: Path) -> Iterator[FieldError]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    failed = spec.get("maxFailedIndexes")
    if completions is None:
        yield required(path.child("completions"), "when completion mode is Indexed")
    if parallelism > _MOST_PARALLEL:
        detail = f"must be less than or equal to {_MOST_PARALLEL} when completion mode is Indexed"
        yield invalid(path.child("parallelism"), parallelism, detail)
    if failed is not None:
        if completions is not None and failed > completions:
            yield invalid(path.child("maxFailedIndexes"), failed, "must be less than or equal to completions")
        if failed > _MANY:
            yield invalid(path.child("maxFailedIndexes"), failed, f"must be less than or equal to {_MANY}")
    if completions is None or completions <= _MANY or spec.get("backoffLimitPerIndex") is None:
        return
    detail = (
        f"must be less than or equal to {_MOST_OF_MANY} when completions are above {_MANY} "
        "and used with backoff limit per index"
    )
    if failed is None:
        yield required(path.child("maxFailedIndexes"), f"must be specified when completions is above {_MANY}")
    if parallelism > _MOST_OF_MANY:
        yield invalid(path.child("parallelism"), parallelism, detail)
    if failed is not None and failed > _MOST_OF_MANY:
        yield invalid(path.child("maxFailedIndexes"), failed, detail)


def _listed(values: tuple[str, ...]) -> str:
    return f"valid values: [{' '.join(gostring.quote(value) for value in values)}]"


def _validate_failure_policy(policy: JsonObject, spec: JsonObject, path: Path) -> Iterator[FieldError]:
    rules, where = policy.get("rules") or (), path.child("rules")
    if len(rules) > _MOST_RULES:
        yield too_many(where, len(rules), _MOST_RULES)
    pod = (spec.get("template") or {}).get("spec") or {}
    containers = {each.get("name") for key in ("containers", "initContainers") for each in pod.get(key) or ()}
    for position, rule in enumerate(rules):
        place, action = where.index(position), rule.get("action") or ""
        if not action:
            yield required(place.child("action"), _listed(_ACTIONS))
        elif action == "FailIndex":
            if spec.get("backoffLimitPerIndex") is None:
                yield invalid(place.child("action"), action, "requires the backoffLimitPerIndex to be set")
        elif action not in _ACTIONS:
            yield not_supported(place.child("action"), action, _ACTIONS)
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        if codes is not None:
            yield from _validate_codes(codes, containers, place.child("onExitCodes"))
        yield from _validate_conditions(conditions, place.child("onPodConditions"))
        if codes is not None and conditions:
            detail = "specifying both OnExitCodes and OnPodConditions is not supported"
            yield invalid(place, OMITTED, detail)
        if codes is None and not conditions:
            yield invalid(place, OMITTED, "specifying one of OnExitCodes and OnPodConditions is required")


def _validate_conditions(conditions: list[JsonObject] | tuple[()], path: Path) -> Iterator[FieldError]:
    if len(conditions) > _MOST_RULES:
        yield too_many(path, len(conditions), _MOST_RULES)
    known = ("False", "True", "Unknown")
    for position, condition in enumerate(conditions):
        where, kind, status = path.index(position), condition.get("type") or "", condition.get("status") or ""
        yield from (invalid(where.child("type"), kind, problem) for problem in names.qualified_name(kind))
        if not status:
            yield required(where.child("status"), _listed(known))
        elif status not in known:
            yield not_supported(where.child("status"), status, known)


def _validate_codes(codes: JsonObject, containers: set[str | None], path: Path) -> Iterator[FieldError]:
    operator, values = codes.get("operator") or "", codes.get("values") or []
    if not operator:
        yield required(path.child("operator"), _listed(("In", "NotIn")))
    elif operator not in ("In", "NotIn"):
        yield not_supported(path.child("operator"), operator, ("In", "NotIn"))
    name = codes.get("containerName")
    if name is not None and name not in containers:
        detail = "must be one of the container or initContainer names in the pod template"
        yield invalid(path.child("containerName"), name, detail)
    where = path.child("values")
    if not values:
        yield invalid(where, codes.get("values"), "at least one value is required")
    elif len(values) > _MOST_CODES:
        yield too_many(where, len(values), _MOST_CODES)
    seen: set[int] = set()
    for position, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid(where.index(position), value, "must not be 0 for the In operator")
        if value in seen:
            yield duplicate(where.index(position), value)
        seen.add(value)
    if values != sorted(values):
        yield invalid(where, values, "must be ordered")


def _validate_success_policy(policy: JsonObject, spec: JsonObject, path: Path) -> Iterator[FieldError]:
    rules, where = policy.get("rules") or (), path.child("rules")
    if not rules:
        yield required(where, "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > _MOST_RULES:
        yield too_many(where, len(rules), _MOST_RULES)
    completions = spec.get("completions") or 0
    for position, rule in enumerate(rules):
        place = where.index(position)
        number, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
        total = 0
        if number is None and indexes is None:
            yield required(place, "at least one of succeededCount or succeededIndexes must be specified")
        if indexes is not None:
            if names.size(indexes) > _LONGEST_INDEXES:
                yield too_long(place.child("succeededIndexes"), _LONGEST_INDEXES)
            try:
                total = job_indexes.count(indexes, completions)
            except job_indexes.IndexesError as error:
                yield invalid(place.child("succeededIndexes"), indexes, f"error parsing succeededIndexes: {error}")
        if number is None:
            continue
        if number < 0:
            yield invalid(place.child("succeededCount"), number, NEGATIVE)
        for bound, what in ((completions, "the number of specified completions"), (total, _OF_INDEXES)):
            if number > bound and (what != _OF_INDEXES or indexes is not None):
                detail = f"must be less than or equal to {bound} ({what})"
                yield invalid(place.child("succeededCount"), number, detail)


_OF_INDEXES: Final = "the number of indexes in the specified succeededIndexes field"
