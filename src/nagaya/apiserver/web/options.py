"""The query parameters of each verb, read and checked before anything else happens.

A wrong value is answered with the real server's words and nothing is done: 400 where the text cannot be read, 422
(`CreateOptions`, `ListOptions`, ...) where it is not allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nagaya.apiserver.meta import field_errors, integers, status
from nagaya.apiserver.meta.field_errors import FieldError, Path
from nagaya.apiserver.meta.gvk import GroupKind
from nagaya.apiserver.meta.object_meta import validate_field_manager
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.web.request import Query, Request
from nagaya.apiserver.web.request_info import is_true

_VALIDATION = ("", "Ignore", "Strict", "Warn")
_POLICIES = ("Foreground", "Background", "Orphan")
META = "meta.k8s.io"


@dataclass(slots=True)
class WriteOptions:
    """CreateOptions, UpdateOptions and PatchOptions: they differ in `force` alone."""

    kind: str
    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool | None = None
    validation_given: bool = False

    def admission_object(self, kind: str) -> JsonObject:
        """The options as an admission webhook sees them."""
        body: JsonObject = {"kind": kind, "apiVersion": f"{META}/v1"}
        if self.dry_run:
            body["dryRun"] = ["All"]
        if self.field_manager:
            body["fieldManager"] = self.field_manager
        if self.validation_given:
            body["fieldValidation"] = self.field_validation
        return body


def write_options(request: Request, kind: str, *, apply: bool = False) -> WriteOptions:
    """The options of a create, update or patch."""
    query = request.query
    manager, validation = request.parameter("fieldManager"), request.parameter("fieldValidation")
    dry_run = query.get("dryRun", [])
    force = is_true(query["force"]) if query.get("force") else None
    errors: list[FieldError] = []
    if kind == "PatchOptions":
        if apply and not manager:
            errors.append(field_errors.required("fieldManager", "is required for apply patch"))
        elif not apply and force is not None:
            errors.append(field_errors.forbidden("force", "may not be specified for non-apply patch"))
    errors += validate_field_manager(manager, Path("fieldManager"))
    errors += _validate_dry_run(dry_run)
    if validation not in _VALIDATION:
        errors.append(field_errors.not_supported("fieldValidation", validation, _VALIDATION))
    if errors:
        raise status.invalid(GroupKind(META, kind), "", errors)
    return WriteOptions(kind, bool(dry_run), manager, validation or "Warn", force, bool(validation))


def _validate_dry_run(values: Sequence[str]) -> list[FieldError]:
    if all(value == "All" for value in values):
        return []
    return [field_errors.not_supported("dryRun", list(values), ("All",))]


@dataclass(slots=True)
class DeleteOptions:
    """How an object is to be deleted: when, under which conditions, and what becomes of its dependents."""

    dry_run: bool = False
    grace_period: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    orphan_dependents: bool | None = None
    propagation: str | None = None
    body: JsonObject = field(default_factory=dict)

    def admission_object(self) -> JsonObject:
        """The options as an admission webhook sees them."""
        return {**self.body, "kind": "DeleteOptions", "apiVersion": f"{META}/v1"}


def delete_options_from_query(query: Query) -> JsonObject:
    """DeleteOptions given as query parameters."""
    body: JsonObject = {}
    if values := query.get("gracePeriodSeconds"):
        body["gracePeriodSeconds"] = integer(values[0])
    if values := query.get("orphanDependents"):
        body["orphanDependents"] = is_true(values)
    if values := query.get("propagationPolicy"):
        body["propagationPolicy"] = values[0]
    if values := query.get("dryRun"):
        body["dryRun"] = list(values)
    if values := query.get("ignoreStoreReadErrorWithClusterBreakingPotential"):
        body["ignoreStoreReadErrorWithClusterBreakingPotential"] = is_true(values)
    return body


def delete_options(body: JsonObject) -> DeleteOptions:
    """DeleteOptions from an object that has been decoded as one."""
    preconditions: JsonObject = body.get("preconditions") or {}
    dry_run: list[str] = body.get("dryRun") or []
    policy = body.get("propagationPolicy")
    errors: list[FieldError] = []
    if body.get("orphanDependents") is not None and policy is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(field_errors.invalid("propagationPolicy", policy, detail))
    if policy is not None and policy not in _POLICIES:
        errors.append(field_errors.not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    errors += _validate_dry_run(dry_run)
    if errors:
        raise status.invalid(GroupKind(META, "DeleteOptions"), "", errors)
    return DeleteOptions(
        dry_run=bool(dry_run),
        grace_period=body.get("gracePeriodSeconds"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        orphan_dependents=body.get("orphanDependents"),
        propagation=policy,
        body={key: value for key, value in body.items() if key not in ("kind", "apiVersion")},
    )


@dataclass(slots=True)
class ListOptions:
    """What part of a collection, at which version of it, and whether to go on watching."""

    label_selector: str = ""
    field_selector: str = ""
    watch: bool = False
    allow_bookmarks: bool = False
    resource_version: str = ""
    resource_version_match: str = ""
    timeout_seconds: int | None = None
    limit: int = 0
    continue_token: str = ""
    send_initial_events: bool | None = None


def list_options(request: Request, *, force_watch: bool = False) -> ListOptions:
    """The options of a list, watch or deletecollection."""
    query = request.query
    if not query and not force_watch:
        return ListOptions()
    options = ListOptions(
        label_selector=request.parameter("labelSelector"),
        field_selector=request.parameter("fieldSelector"),
        watch=force_watch or is_true(query.get("watch")),
        allow_bookmarks=is_true(query.get("allowWatchBookmarks")),
        resource_version=request.parameter("resourceVersion"),
        resource_version_match=request.parameter("resourceVersionMatch"),
        limit=integer(request.parameter("limit") or "0"),
        continue_token=request.parameter("continue"),
    )
    if values := query.get("timeoutSeconds"):
        options.timeout_seconds = integer(values[0])
    if values := query.get("sendInitialEvents"):
        options.send_initial_events = is_true(values)
    _default_initial_events(options)
    errors = _watch_errors(options) if options.watch else _list_errors(options)
    if errors:
        raise status.invalid(GroupKind(META, "ListOptions"), "", errors)
    return options


def _default_initial_events(options: ListOptions) -> None:
    """A watch from nowhere in particular starts with the current state, as a watch with initial events does."""
    if options.send_initial_events is not None or options.resource_version_match or not options.watch:
        return
    if options.resource_version in ("", "0"):
        options.send_initial_events = True
        options.resource_version_match = "NotOlderThan"


def _list_errors(options: ListOptions) -> list[FieldError]:
    errors = []
    match, where = options.resource_version_match, "resourceVersionMatch"
    if match:
        if not options.resource_version:
            detail = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            errors.append(field_errors.forbidden(where, detail))
        if options.continue_token:
            errors.append(field_errors.forbidden(where, "resourceVersionMatch is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            errors.append(field_errors.not_supported(where, match, ("Exact", "NotOlderThan", "")))
        if match == "Exact" and options.resource_version == "0":
            detail = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            errors.append(field_errors.forbidden(where, detail))
    if options.send_initial_events is not None:
        errors.append(field_errors.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_errors(options: ListOptions) -> list[FieldError]:
    errors = []
    match, where = options.resource_version_match, "resourceVersionMatch"
    if options.send_initial_events is not None and match != "NotOlderThan":
        detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        errors.append(field_errors.forbidden(where, detail))
    if match:
        if options.send_initial_events is None:
            detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            errors.append(field_errors.forbidden(where, detail))
        if match != "NotOlderThan":
            errors.append(field_errors.not_supported(where, match, ("NotOlderThan",)))
        if options.continue_token:
            errors.append(field_errors.forbidden(where, "resourceVersionMatch is forbidden when continue is provided"))
    return errors


def integer(text: str) -> int:
    """A whole number in a query parameter. Raises 400 in Go's words."""
    try:
        return integers.parse(text, "ParseInt")
    except ValueError as error:
        raise status.bad_request(str(error)) from None
