"""The networking and discovery groups."""

from __future__ import annotations

from datetime import datetime

from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.builtin.parts import (
    NONE,
    age,
    balancer_text,
    metadata,
    name,
    selector_text,
    shortened,
    spec,
    status,
)
from nagaya.apiserver.table.columns import AGE, NAME, Cells, shape, text


@shape(
    NAME,
    text("Class", "The ingress class."),
    text("Hosts", "The first hosts that requests are matched by."),
    text("Address", "Where the load balancer can be reached."),
    text("Ports", "The ports that are open."),
    AGE,
)
def INGRESSES(obj: JsonObject, now: datetime) -> Cells:
    wanted = spec(obj)
    chosen = wanted.get("ingressClassName")
    return [
        name(obj),
        NONE if chosen is None else chosen,
        _hosts(wanted.get("rules") or []),
        balancer_text(status(obj).get("loadBalancer")),
        "80, 443" if wanted.get("tls") else "80",
        age(obj, now),
    ]


def _hosts(rules: list[JsonObject]) -> str:
    shown: list[str] = []
    more = False
    for rule in rules:
        more = more or len(shown) == 3
        if not more and rule.get("host"):
            shown.append(rule["host"])
    listed = ",".join(shown) or "*"
    return f"{listed} + {len(rules) - 3} more..." if more else listed


@shape(
    NAME,
    text("Controller", "Who serves this class."),
    text("Parameters", "An object with more settings."),
    AGE,
)
def INGRESS_CLASSES(obj: JsonObject, now: datetime) -> Cells:
    annotations: dict[str, str] = metadata(obj).get("annotations") or {}
    default = annotations.get("ingressclass.kubernetes.io/is-default-class") == "true"
    wanted = spec(obj)
    parameters: JsonObject | None = wanted.get("parameters")
    shown = NONE
    if parameters is not None:
        group = parameters.get("apiGroup")
        suffix = "" if group is None else f".{group}"
        shown = f"{parameters.get('kind') or ''}{suffix}/{parameters.get('name') or ''}"
    return [name(obj) + (" (default)" if default else ""), wanted.get("controller") or "", shown, age(obj, now)]


@shape(NAME, text("Pod-Selector", "Which pods are meant, by their labels."), AGE)
def NETWORK_POLICIES(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), selector_text(spec(obj).get("podSelector") or {}), age(obj, now)]


@shape(NAME, text("CIDRs", "The networks that service addresses come from."), AGE)
def SERVICE_CIDRS(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), ",".join(spec(obj).get("cidrs") or ()), age(obj, now)]


@shape(NAME, text("ParentRef", "The object that the address belongs to."))
def IP_ADDRESSES(obj: JsonObject, now: datetime) -> Cells:
    parent: JsonObject | None = spec(obj).get("parentRef")
    shown = NONE
    if parent is not None:
        resource = str(GroupResource(parent.get("group") or "", parent.get("resource") or "")).lower()
        parts = [resource, parent.get("namespace") or "", parent.get("name") or ""]
        shown = "/".join(part for place, part in enumerate(parts) if part or place != 1)
    # There is an age although there is no column for it.
    return [name(obj), shown, age(obj, now)]


@shape(
    NAME,
    text("AddressType", "What sort of addresses these are."),
    text("Ports", "The first ports."),
    text("Endpoints", "The first addresses."),
    AGE,
)
def ENDPOINT_SLICES(obj: JsonObject, now: datetime) -> Cells:
    endpoints: list[JsonObject] = obj.get("endpoints") or []
    return [
        name(obj),
        obj.get("addressType") or "",
        shortened([_port(port) for port in obj.get("ports") or ()]),
        shortened([address for each in endpoints for address in each.get("addresses") or ()]),
        age(obj, now),
    ]


def _port(port: JsonObject) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    return "*" if port.get("name") is None else str(port["name"])
