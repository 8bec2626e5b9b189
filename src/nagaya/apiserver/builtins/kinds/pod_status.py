"""What a pod's keeper may report about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from nagaya.apiserver.builtins.kinds.pod_annotations import validate_annotation_changes
from nagaya.apiserver.builtins.kinds.pod_validation import ANNOTATIONS, rules_of
from nagaya.apiserver.meta import addresses, names
from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject

_STATUS: Final = Path("status")
_SYSTEM_CONDITIONS: Final = ("PodScheduled", "Ready", "Initialized")
_HEALTH: Final = ("Healthy", "Unhealthy", "Unknown")
_LONGEST_HEALTH: Final = 1024
_KINDS: Final = (
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", ""),
)


def validate_status_change(new: JsonObject, old: JsonObject) -> Iterator[FieldError]:
    """Everything that is checked when a status is written."""
    spec, status, before = new["spec"], new.get("status") or {}, old.get("status") or {}
    if new["metadata"].get("annotations") or old["metadata"].get("annotations"):
        yield from validate_annotation_changes(new["metadata"], old["metadata"], spec, ANNOTATIONS, rules_of(old))
    yield from _validate_conditions(status.get("conditions") or ())
    yield from _validate_nomination(status, before, old["spec"])
    if (generation := status.get("observedGeneration") or 0) < 0:
        yield invalid(_STATUS.child("observedGeneration"), generation, "must be a non-negative integer")
    if (quality := status.get("qosClass") or "") != (before.get("qosClass") or ""):
        yield invalid(_STATUS.child("qosClass"), quality, IMMUTABLE)
    for field, containers in _KINDS:
        yield from _validate_transitions(status, before, field, old["spec"], old["spec"].get(containers) or ())
    yield from _validate_claims(status, spec)
    yield from _validate_addresses(status, before, "podIPs", "")
    yield from _validate_addresses(status, before, "hostIPs", status.get("hostIP") or "")
    for field, _ in _KINDS:
        yield from _validate_users(status.get(field) or (), spec, _STATUS.child(field))
    for field, containers in _KINDS:
        yield from _validate_allocations(status.get(field) or (), spec, containers, _STATUS.child(field))


def _validate_conditions(conditions: Sequence[JsonObject]) -> Iterator[FieldError]:
    for position, condition in enumerate(conditions):
        where, kind = _STATUS.child("conditions").index(position), condition.get("type") or ""
        if (generation := condition.get("observedGeneration") or 0) < 0:
            yield invalid(where.child("observedGeneration"), generation, "must be a non-negative integer")
        if kind not in _SYSTEM_CONDITIONS:
            yield from (invalid(where.child("Type"), kind, problem) for problem in names.qualified_name(kind))


def _validate_nomination(status: JsonObject, before: JsonObject, spec: JsonObject) -> Iterator[FieldError]:
    where, name = _STATUS.child("nominatedNodeName"), status.get("nominatedNodeName") or ""
    if not name or name == (before.get("nominatedNodeName") or ""):
        return
    yield from (invalid(where, name, problem) for problem in names.name_is_subdomain(name))
    if spec.get("nodeName"):
        yield forbidden(where, "may not be set on pods that are already bound to a node")


def _validate_transitions(
    status: JsonObject, before: JsonObject, field: str, spec: JsonObject, containers: Sequence[JsonObject]
) -> Iterator[FieldError]:
    """A container that ended has ended, unless something restarts it."""
    if field != "ephemeralContainerStatuses" and _all_may_restart(spec):
        return
    after = {each.get("name"): each for each in status.get(field) or ()}
    by_name = {each.get("name"): each for each in containers}
    for position, old in enumerate(before.get(field) or ()):
        ended = (old.get("state") or {}).get("terminated")
        new = after.get(old.get("name"))
        if ended is None or new is None or (new.get("state") or {}).get("terminated") is not None:
            continue
        container = by_name.get(old.get("name"))
        if container is None or not _restarts(container, spec, ended.get("exitCode") or 0):
            where = _STATUS.child(field).index(position).child("state")
            yield forbidden(where, "may not be transitioned to non-terminated state")


def _all_may_restart(spec: JsonObject) -> bool:
    """Whether one container's exit may restart all of them."""
    return any(
        rule.get("action") == "RestartAllContainers"
        for field in ("containers", "initContainers")
        for container in spec.get(field) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _restarts(container: JsonObject, spec: JsonObject, code: int) -> bool:
    policy = container.get("restartPolicy")
    if policy is not None:
        for rule in container.get("restartPolicyRules") or ():
            codes = rule.get("exitCodes") or {}
            listed = code in (codes.get("values") or ())
            if rule.get("action") == "Restart" and listed == (codes.get("operator") == "In"):
                return True
    policy = policy or spec.get("restartPolicy")
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _validate_claims(status: JsonObject, spec: JsonObject) -> Iterator[FieldError]:
    known = {each.get("name") for each in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for position, claim in enumerate(status.get("resourceClaimStatuses") or ()):
        where, name = _STATUS.child("resourceClaimStatuses").index(position), claim.get("name") or ""
        if name not in known:
            detail = "must match the name of an entry in `spec.resourceClaims`"
            yield invalid(where.child("name"), name, detail)
        if name in seen:
            yield duplicate(where.child("name"), name)
        seen.add(name)
        if (target := claim.get("resourceClaimName")) is not None:
            problems = names.name_is_subdomain(target)
            yield from (invalid(where.child("resourceClaimName"), target, problem) for problem in problems)


def _validate_addresses(status: JsonObject, before: JsonObject, field: str, first: str) -> Iterator[FieldError]:
    found = [each.get("ip") or "" for each in status.get(field) or ()]
    known = [each.get("ip") or "" for each in before.get(field) or ()]
    where = _STATUS.child(field)
    if field == "hostIPs" and found and found[0] != first:
        yield invalid(where.index(0).child("ip"), found[0], "must be equal to `hostIP`")
    for position, text in enumerate(found):
        yield from addresses.validate_legacy_address(where.index(position), text, known=known)
    parsed = [addresses.parse_address(text) for text in found]
    if len(found) > 1 and (len(found) > 2 or len({each.version for each in parsed if each}) < 2):
        shown = [{"IP": text} for text in found]
        yield invalid(where, shown, "may specify no more than one IP for each IP family")


def _validate_users(statuses: Sequence[JsonObject], spec: JsonObject, path: Path) -> Iterator[FieldError]:
    system = (spec.get("os") or {}).get("name") or "linux"
    for position, status in enumerate(statuses):
        user: JsonObject | None = (status.get("user") or {}).get("linux")
        where = path.index(position).child("user", "linux")
        if user is None:
            continue
        if system == "windows":
            yield forbidden(where, "cannot be set for a windows pod")
            continue
        for field in ("uid", "gid"):
            number = user.get(field) or 0
            yield from (invalid(where.child(field), number, problem) for problem in names.user_id(number))
        for index, group in enumerate(user.get("supplementalGroups") or ()):
            place = where.child("supplementalGroups").index(index)
            yield from (invalid(place, group, problem) for problem in names.user_id(group))


def _validate_allocations(
    statuses: Sequence[JsonObject], spec: JsonObject, containers: str, path: Path
) -> Iterator[FieldError]:
    by_name = {each.get("name"): each for each in spec.get(containers) or ()}
    for position, status in enumerate(statuses):
        where = path.index(position).child("allocatedResourcesStatus")
        allocated = status.get("allocatedResourcesStatus") or ()
        if allocated and not containers:
            yield forbidden(where, "must not be specified in container status")
            continue
        for index, resource in enumerate(allocated):
            if (container := by_name.get(status.get("name"))) is not None:
                yield from _validate_allocated(resource.get("name") or "", container, where.index(index))
            yield from _validate_health(resource.get("resources") or (), where.index(index).child("resources"))


def _validate_allocated(name: str, container: JsonObject, path: Path) -> Iterator[FieldError]:
    asked = container.get("resources") or {}
    known: set[Any] = set(asked.get("requests") or ())
    detail = "must match one of the container's resource requests"
    if name.startswith("claim:"):
        claims = asked.get("claims") or ()
        known = {f"claim:{each.get('name')}" + (f"/{r}" if (r := each.get("request")) else "") for each in claims}
        detail = (
            "must match one of the container's resource claims in a format "
            "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
        )
    if name not in known:
        yield invalid(path.child("name"), name, detail)


def _validate_health(resources: Sequence[JsonObject], path: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, resource in enumerate(resources):
        where, health = path.index(position), resource.get("health") or ""
        if health not in _HEALTH:
            yield not_supported(where.child("health"), health, _HEALTH)
        message = resource.get("message")
        if message == "":
            yield required(where.child("message"), "must be non-empty if specified")
        elif message is not None and names.size(message) > _LONGEST_HEALTH:
            yield too_long(where.child("message"), _LONGEST_HEALTH)
        identity = resource.get("resourceID") or ""
        if identity in seen:
            yield duplicate(where.child("resourceID"), identity)
        seen.add(identity)
