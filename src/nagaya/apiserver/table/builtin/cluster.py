"""Small groups: coordination, policy, scheduling, node, flowcontrol, apiregistration and the server's own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.builtin.parts import NONE, UNSET, age, condition, name, shortened, spec, status
from nagaya.apiserver.table.columns import AGE, NAME, Cells, Column, TableShape, flag, number, shape, text


@shape(NAME, text("Holder", "Who holds the lease."), AGE)
def LEASES(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), spec(obj).get("holderIdentity") or "", age(obj, now)]


@shape(
    NAME,
    text("LeaseName", "The lease that the candidate wants."),
    text("BinaryVersion", "The candidate's version."),
    text("EmulationVersion", "The version that it behaves like."),
    AGE,
)
def LEASE_CANDIDATES(obj: JsonObject, now: datetime) -> Cells:
    wanted = spec(obj)
    members = ("leaseName", "binaryVersion", "emulationVersion")
    return [name(obj), *[wanted.get(member) or "" for member in members], age(obj, now)]


@shape(
    NAME,
    text("Min Available", "How many pods must stay."),
    text("Max Unavailable", "How many pods may go."),
    number("Allowed Disruptions", "How many pods may go at this moment."),
    AGE,
)
def POD_DISRUPTION_BUDGETS(obj: JsonObject, now: datetime) -> Cells:
    wanted = spec(obj)
    allowed = status(obj).get("disruptionsAllowed") or 0
    return [name(obj), _limit(wanted.get("minAvailable")), _limit(wanted.get("maxUnavailable")), allowed, age(obj, now)]


def _limit(value: Any) -> str:
    return "N/A" if value is None else str(value)


@shape(
    NAME,
    number("Value", "The priority."),
    flag("Global-Default", "Whether pods without a class get this one."),
    AGE,
    text("PreemptionPolicy", "Whether pods of lower priority have to go."),
)
def PRIORITY_CLASSES(obj: JsonObject, now: datetime) -> Cells:
    preemption = obj.get("preemptionPolicy") or ""
    return [name(obj), obj.get("value") or 0, bool(obj.get("globalDefault")), age(obj, now), preemption]


@shape(NAME, AGE)
def WORKLOADS(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), age(obj, now)]


@shape(
    NAME,
    text("Policy", "How the group is scheduled."),
    text("Workload", "The workload that the group belongs to."),
    text("Status", "Whether the group is scheduled."),
    AGE,
)
def POD_GROUPS(obj: JsonObject, now: datetime) -> Cells:
    wanted = spec(obj)
    conditions = {each.get("type"): each for each in status(obj).get("conditions") or ()}
    state = "Pending"
    scheduled, disrupted = conditions.get("PodGroupScheduled"), conditions.get("DisruptionTarget")
    if scheduled is not None:
        state = "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"
    if disrupted is not None:
        state = disrupted.get("reason") or ""
    gang = (wanted.get("schedulingPolicy") or {}).get("gang") is not None
    template: JsonObject | None = wanted.get("podGroupTemplateRef")
    workload = NONE if template is None else (template.get("workload") or {}).get("workloadName") or ""
    return [name(obj), "Gang" if gang else "Basic", workload, state, age(obj, now)]


@shape(NAME, text("Handler", "What the container runtime calls it."), AGE)
def RUNTIME_CLASSES(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), obj.get("handler") or "", age(obj, now)]


def _flow_schema(obj: JsonObject, now: datetime) -> Cells:
    wanted = spec(obj)
    method: JsonObject | None = wanted.get("distinguisherMethod")
    dangling = condition(status(obj).get("conditions"), "Dangling")
    return [
        name(obj),
        (wanted.get("priorityLevelConfiguration") or {}).get("name") or "",
        wanted.get("matchingPrecedence") or 0,
        NONE if method is None else method.get("type") or "",
        age(obj, now),
        "?" if dangling is None else dangling.get("status") or "",
    ]


def _by_precedence(objects: Sequence[JsonObject]) -> Sequence[JsonObject]:
    return sorted(objects, key=lambda obj: (spec(obj).get("matchingPrecedence") or 0, name(obj)))


FLOW_SCHEMAS = TableShape(
    (
        NAME,
        text("PriorityLevel", "Where the requests are sent."),
        text("MatchingPrecedence", "The lower, the earlier it is asked."),
        text("DistinguisherMethod", "How requests are told apart."),
        AGE,
        text("MissingPL", "Whether the priority level does not exist."),
    ),
    _flow_schema,
    arrange=_by_precedence,
)


@shape(
    NAME,
    text("Type", "Limited or exempt."),
    text("NominalConcurrencyShares", "The share of what the server can do at once."),
    text("Queues", "The number of queues."),
    text("HandSize", "How many queues a flow may use."),
    text("QueueLengthLimit", "How many requests may wait in a queue."),
    AGE,
)
def PRIORITY_LEVEL_CONFIGURATIONS(obj: JsonObject, now: datetime) -> Cells:
    wanted = spec(obj)
    limited: JsonObject | None = wanted.get("limited")
    shares: Any = NONE if limited is None else limited.get("nominalConcurrencyShares") or 0
    queuing: JsonObject | None = ((limited or {}).get("limitResponse") or {}).get("queuing")
    members = ("queues", "handSize", "queueLengthLimit")
    queues: Cells = [NONE] * 3 if queuing is None else [queuing.get(member) or 0 for member in members]
    return [name(obj), wanted.get("type") or "", shares, *queues, age(obj, now)]


@shape(
    NAME,
    text("Service", "Who serves this part of the API."),
    text("Available", "Whether it can be reached."),
    AGE,
)
def API_SERVICES(obj: JsonObject, now: datetime) -> Cells:
    service: JsonObject | None = spec(obj).get("service")
    shown = "Local" if service is None else f"{service.get('namespace') or ''}/{service.get('name') or ''}"
    available = condition(status(obj).get("conditions"), "Available")
    state = "Unknown"
    if available is not None:
        state = available.get("status") or ""
        if state != "True" and available.get("reason"):
            state += f" ({available['reason']})"
    return [name(obj), shown, state, age(obj, now)]


@shape(
    NAME,
    text("CommonEncodingVersion", "The version that all servers store, if it is one."),
    text("StorageVersions", "The version that each server stores."),
    AGE,
)
def STORAGE_VERSIONS(obj: JsonObject, now: datetime) -> Cells:
    observed = status(obj)
    common = observed.get("commonEncodingVersion")
    servers: list[JsonObject] = observed.get("storageVersions") or []
    shown = [f"{each.get('apiServerID') or ''}={each.get('encodingVersion') or ''}" for each in servers]
    return [name(obj), UNSET if common is None else common, shortened(shown), age(obj, now)]


@shape(
    Column(NAME.name, NAME.description),
    text("Resource", "What is stored anew."),
    text("Status", "How far that is."),
)
def STORAGE_VERSION_MIGRATIONS(obj: JsonObject, now: datetime) -> Cells:
    resource: JsonObject = spec(obj).get("resource") or {}
    state = "Unknown"
    for each in status(obj).get("conditions") or ():
        if each.get("status") == "True" and each.get("type") in ("Running", "Failed", "Succeeded"):
            state = each["type"]
    shown = str(GroupResource(resource.get("group") or "", resource.get("resource") or ""))
    return [name(obj), shown, state]
