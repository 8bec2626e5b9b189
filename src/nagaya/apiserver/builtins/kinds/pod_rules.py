"""Which of the rules for pod specs hold.

Some rules are younger than objects that break them. What an object had before may stay, so an update is held only to
the rules that the old object kept; a new object is held to all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from nagaya.apiserver.builtins.kinds.pod_defaults import all_containers
from nagaya.apiserver.builtins.kinds.pod_resources import has_indivisible_pages
from nagaya.apiserver.meta import integers, names
from nagaya.apiserver.meta.field_errors import Path
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import label_selector

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_IPC_SYSCTLS: Final = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shm", "msg", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "msgmax", "msgmnb", "msgmni")
)
_cost = re.compile("-[0-9]+|[1-9][0-9]*").fullmatch


@dataclass(frozen=True, slots=True)
class Rules:
    """What the object before the change allows it to keep; `for_pod` is False for templates."""

    for_pod: bool = False
    any_deletion_cost: bool = False
    any_affinity_value: bool = False
    any_node_affinity_value: bool = False
    any_spread_selector: bool = False
    indivisible_pages: bool = False
    any_token_path: bool = False
    host_sysctls: bool = False
    comparing_tolerations: bool = False
    any_selinux_policy: bool = False
    restart_in_init: bool = False
    host_network_without_host_users: bool = False
    devices_without_host_users: bool = False
    merged_spread_keys: bool = False


NEW_POD: Final = Rules(for_pod=True)
NEW_TEMPLATE: Final = Rules()


def rules_after(spec: JsonObject, metadata: JsonObject, *, for_pod: bool) -> Rules:
    """The rules for a change of an object with this spec and metadata."""
    security = spec.get("securityContext") or {}
    isolated = spec.get("hostUsers") is False
    return Rules(
        for_pod=for_pod,
        any_deletion_cost=deletion_cost_problem(metadata.get("annotations") or {}),
        any_affinity_value=any(map(label_selector.has_invalid_value, _affinity_selectors(spec))),
        any_node_affinity_value=_has_bad_node_value(spec),
        any_spread_selector=_has_bad_spread_selector(spec),
        indivisible_pages=has_indivisible_pages(spec),
        any_token_path=_has_outside_token(spec),
        host_sysctls=any(host_sysctl_problem(each.get("name") or "", spec) for each in security.get("sysctls") or ()),
        comparing_tolerations=any(each.get("operator") in ("Lt", "Gt") for each in spec.get("tolerations") or ()),
        any_selinux_policy="seLinuxChangePolicy" in security,
        restart_in_init=_restarts_in_init(spec),
        host_network_without_host_users=isolated and bool(spec.get("hostNetwork")),
        devices_without_host_users=isolated and any(each.get("volumeDevices") for each in all_containers(spec)),
        merged_spread_keys=_has_merged_keys(spec),
    )


def deletion_cost_problem(annotations: JsonObject) -> bool:
    """Whether the annotation that says which pod goes first is no number of 32 bits."""
    cost = annotations.get(DELETION_COST)
    if cost is None or cost == "0":
        return False
    return not _cost(cost) or not -(2**31) <= (integers.clamped(cost) or 0) < 2**31


def host_sysctl_problem(name: str, spec: JsonObject) -> str:
    """Why a kernel setting would reach beyond the pod; empty if it does not."""
    dotted = name.replace("/", ".")
    if spec.get("hostNetwork") and dotted.startswith("net."):
        return "may not be specified when 'hostNetwork' is true"
    if spec.get("hostIPC") and (dotted in _IPC_SYSCTLS or dotted.startswith("fs.mqueue.")):
        return "may not be specified when 'hostIPC' is true"
    return ""


def affinity_terms(spec: JsonObject) -> Iterator[JsonObject]:
    """Every term by which a pod wants to be near others, or far from them."""
    affinity = spec.get("affinity") or {}
    for side in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(side) or {}
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted.get("podAffinityTerm") or {}
        yield from terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()


def _affinity_selectors(spec: JsonObject) -> Iterator[JsonObject | None]:
    for term in affinity_terms(spec):
        yield term.get("labelSelector")
        yield term.get("namespaceSelector")


def _has_bad_node_value(spec: JsonObject) -> bool:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or ()
    return any(
        names.label_value(value)
        for term in terms
        for expression in term.get("matchExpressions") or ()
        for value in expression.get("values") or ()
    )


def _has_bad_spread_selector(spec: JsonObject) -> bool:
    constraints = spec.get("topologySpreadConstraints") or ()
    return any(label_selector.validate(each.get("labelSelector"), Path()) for each in constraints)


def _has_merged_keys(spec: JsonObject) -> bool:
    """Whether a spread constraint's selector names one of its keys twice, as only old pods could."""
    for constraint in spec.get("topologySpreadConstraints") or ():
        keys = constraint.get("matchLabelKeys") or ()
        selector = constraint.get("labelSelector")
        if keys and selector is None:
            return True
        seen = set((selector or {}).get("matchLabels") or ())
        for expression in (selector or {}).get("matchExpressions") or ():
            if expression.get("key") in keys and expression["key"] in seen:
                return True
            seen.add(expression.get("key") or "")
        if any(names.qualified_name(key) for key in keys):
            return True
    return False


def _has_outside_token(spec: JsonObject) -> bool:
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            file = (source.get("serviceAccountToken") or {}).get("path") or ""
            if file.startswith(("/", "..")) or ".." in file.split("/"):
                return True
    return False


def _restarts_in_init(spec: JsonObject) -> bool:
    return any(
        policy.get("restartPolicy") == "RestartContainer"
        for container in spec.get("initContainers") or ()
        if container.get("restartPolicy") != "Always"
        for policy in container.get("resizePolicy") or ()
    )
