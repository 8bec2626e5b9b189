"""How much of a quota an object uses.

Pods use what they ask for as long as they run, Services and claims by their kind, claims of devices by the class of
the devices, and everything else counts as one.
A quota with scopes is about pods (and about claims, by their attributes class) and about nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from nagaya.apiserver.builtins.kinds import core_resources, pod_resources
from nagaya.apiserver.meta import quantity, times
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.quantity import Quantity
from nagaya.apiserver.meta.status import JsonObject

Usage = dict[str, Quantity]

ONE: Final = Quantity(1)
ZERO: Final = Quantity(0)
PODS: Final = GroupResource("", "pods")
SERVICES: Final = GroupResource("", "services")
CLAIMS: Final = GroupResource("", "persistentvolumeclaims")
DEVICE_CLAIMS: Final = GroupResource("resource.k8s.io", "resourceclaims")
DEVICES_OF_CLASS: Final = ".deviceclass.resource.k8s.io/devices"
# Resources that are counted under their plain name too.
_PLAINLY_COUNTED: Final = frozenset({"configmaps", "resourcequotas", "replicationcontrollers", "secrets"})
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_BY_CLASS: Final = ".storageclass.storage.k8s.io/"
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_MOST_DEVICES: Final = 32  # a claim can get no more, so "all" counts as that many


def count_name(resource: GroupResource) -> str:
    """The name under which all objects of a resource are counted."""
    return f"count/{resource.resource}.{resource.group}" if resource.group else f"count/{resource.resource}"


def count_names(resource: GroupResource) -> tuple[str, ...]:
    """All names under which objects are counted, each as one."""
    if not resource.group and resource.resource in _PLAINLY_COUNTED:
        return count_name(resource), resource.resource
    return (count_name(resource),)


def usage(resource: GroupResource, obj: JsonObject, now: datetime) -> Usage:
    """What an object uses."""
    if resource == PODS:
        return _pod(obj, now)
    if resource == SERVICES:
        return _service(obj)
    if resource == CLAIMS:
        return _claim(obj)
    if resource == DEVICE_CLAIMS:
        return _device_claim(obj)
    return dict.fromkeys(count_names(resource), ONE)


def _pod(pod: JsonObject, now: datetime) -> Usage:
    used: Usage = {count_name(PODS): ONE}
    if not is_running(pod, now):
        return used
    requests, limits = pod_amounts(pod, "requests"), pod_amounts(pod, "limits")
    used["pods"] = ONE
    for name in _COMPUTE:
        if name in requests:
            used[name] = used[f"requests.{name}"] = requests[name]
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if core_resources.is_huge_pages(name):
            used[name] = used[f"requests.{name}"] = amount
        elif core_resources.is_extended(name):
            used[f"requests.{name}"] = amount
    return used


def pod_amounts(pod: JsonObject, side: str) -> Usage:
    """What a pod asks for in all, its overhead included."""
    spec = pod.get("spec") or {}
    total = pod_resources.aggregate(spec, side)
    own = (spec.get("resources") or {}).get(side) or {}
    total |= {name: quantity.parse(text) for name, text in own.items()}
    for name, text in (spec.get("overhead") or {}).items():
        if name in total:
            total[name] = total[name] + quantity.parse(text)
        elif side == "requests":
            total[name] = quantity.parse(text)
    return total


def is_running(pod: JsonObject, now: datetime) -> bool:
    """Whether a pod counts: it has not ended, and is not one that should be gone by now."""
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return False
    metadata = pod["metadata"]
    deleted, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    if deleted is None or grace is None:
        return True
    return now <= times.moment(deleted) + timedelta(seconds=grace)


def _service(service: JsonObject) -> Usage:
    spec = service.get("spec") or {}
    ports, kind = spec.get("ports") or [], spec.get("type")
    node_ports = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        node_ports = sum(1 for port in ports if port.get("nodePort"))
    return {
        count_name(SERVICES): ONE,
        "services": ONE,
        "services.loadbalancers": ONE if kind == "LoadBalancer" else ZERO,
        "services.nodeports": Quantity(node_ports),
    }


def _claim(claim: JsonObject) -> Usage:
    used: Usage = {count_name(CLAIMS): ONE, "persistentvolumeclaims": ONE}
    spec = claim.get("spec") or {}
    marks = claim["metadata"].get("annotations") or {}
    storage_class = marks.get(_OLD_CLASS) if _OLD_CLASS in marks else spec.get("storageClassName")
    text = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    asked = None if text is None else quantity.parse(text)
    allocated = ((claim.get("status") or {}).get("allocatedResources") or {}).get("storage")
    if asked is not None and allocated is not None:
        asked = max(asked, quantity.parse(allocated))
    if asked is not None:
        used["requests.storage"] = asked if asked.is_integer else Quantity(asked.value, 0, asked.format)
    if storage_class:
        used |= {f"{storage_class}{_BY_CLASS}{name}": amount for name, amount in used.items() if "/" not in name}
    return used


def _device_claim(claim: JsonObject) -> Usage:
    used: Usage = {count_name(DEVICE_CLAIMS): ONE}
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        # Of alternatives only one will be used, but it may be the greatest.
        most: dict[str, int] = {}
        for each in request.get("firstAvailable") or [request.get("exactly") or {}]:
            if name := each.get("deviceClassName"):
                most[name] = max(most.get(name, 0), _devices(each))
        for name, count in most.items():
            place = f"{name}{DEVICES_OF_CLASS}"
            used[place] = used.get(place, ZERO) + Quantity(count)
    return used


def _devices(request: JsonObject) -> int:
    mode = request.get("allocationMode")
    return {"ExactCount": request.get("count") or 0, "All": _MOST_DEVICES}.get(mode or "", 0)


def scopes_of(quota: JsonObject) -> list[JsonObject]:
    """What a quota is about, as requirements."""
    spec = quota.get("spec") or {}
    scopes = [{"scopeName": each, "operator": "Exists"} for each in spec.get("scopes") or ()]
    return scopes + list((spec.get("scopeSelector") or {}).get("matchExpressions") or ())


def in_scope(resource: GroupResource, obj: JsonObject, scopes: Iterable[JsonObject]) -> bool:
    """Whether a quota with these scopes is about an object."""
    return all(_matches(resource, obj, each) for each in scopes)


def _matches(resource: GroupResource, obj: JsonObject, scope: Mapping[str, object]) -> bool:
    spec, name = obj.get("spec") or {}, scope.get("scopeName")
    if resource == CLAIMS:
        return name == "VolumeAttributesClass" and any(_selected(scope, each) for each in _attribute_classes(obj))
    if resource != PODS:
        return False
    if name in ("Terminating", "NotTerminating"):
        return ((spec.get("activeDeadlineSeconds") or -1) >= 0) is (name == "Terminating")
    if name in ("BestEffort", "NotBestEffort"):
        return (pod_resources.qos_class(obj) == "BestEffort") is (name == "BestEffort")
    if name == "PriorityClass":
        return _selected(scope, spec.get("priorityClassName") or "")
    return name == "CrossNamespacePodAffinity" and _crosses_namespaces(spec.get("affinity") or {})


def _selected(scope: Mapping[str, object], value: str) -> bool:
    operator, values = scope.get("operator"), scope.get("values") or ()
    assert isinstance(values, list | tuple)
    if operator == "In":
        return bool(value) and value in values
    if operator == "NotIn":
        return value not in values
    return bool(value) is (operator != "DoesNotExist")


def _attribute_classes(claim: JsonObject) -> set[str]:
    """The classes that a claim has, had or is to have; one empty name if there is none."""
    status = claim.get("status") or {}
    found = {
        (claim.get("spec") or {}).get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    }
    return {each for each in found if each} or {""}


def claim_changed(claim: JsonObject | None, old: JsonObject | None) -> bool:
    """Whether a change of a claim's status is one of what it uses, or of which quotas are about it."""
    if claim is None or old is None:
        return False
    allocated = [(each.get("status") or {}).get("allocatedResources") for each in (claim, old)]
    return allocated[0] != allocated[1] or _attribute_classes(claim) != _attribute_classes(old)


def _crosses_namespaces(affinity: JsonObject) -> bool:
    for side in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(side) or {}
        wanted = list(terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        wanted += [each.get("podAffinityTerm") or {} for each in preferred]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in wanted):
            return True
    return False
