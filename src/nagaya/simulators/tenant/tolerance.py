"""Which pods may be on which nodes: selectors, affinity, taints. Pure functions on plain data.

The rules are those of the scheduler's filters and of the taint manager; `refusal` gives the scheduler's own words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.simulators.tenant.view import RESOURCES, NodeSeen, PodSeen

UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
ELSEWHERE: Final = "node(s) didn't match Pod's node affinity/selector"


def tolerates(tolerations: Iterable[JsonObject], taint: Mapping[str, str]) -> bool:
    """Whether one of the tolerations covers the taint."""
    return any(_covers(each, taint) for each in tolerations)


def _covers(toleration: JsonObject, taint: Mapping[str, str]) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    if (toleration.get("operator") or "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def patience(tolerations: Sequence[JsonObject], taint: Mapping[str, str]) -> float | None:
    """Seconds that a pod stays on a node with a NoExecute taint. None is for ever; 0 is not at all."""
    covering = [each for each in tolerations if _covers(each, taint)]
    if not covering:
        return 0.0
    limits = [each["tolerationSeconds"] for each in covering if each.get("tolerationSeconds") is not None]
    return float(max(0, min(limits))) if limits else None


def selects(spec: JsonObject, node: NodeSeen) -> bool:
    """Whether a pod's node selector and required node affinity fit a node."""
    if any(node.labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_term_fits(term, node) for term in required.get("nodeSelectorTerms") or ())


def _term_fits(term: JsonObject, node: NodeSeen) -> bool:
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False  # an empty term selects nothing
    name = {"metadata.name": node.name}
    return all(_holds(each, node.labels) for each in expressions) and all(_holds(each, name) for each in fields)


def _holds(expression: JsonObject, labels: Mapping[str, str]) -> bool:
    value: str | None = labels.get(expression["key"])
    wanted: list[str] = expression.get("values") or []
    match expression["operator"]:
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and _is_integer(value) and int(value) > int(wanted[0])
        case "Lt":
            return value is not None and _is_integer(value) and int(value) < int(wanted[0])
    return False


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def refusal(spec: JsonObject, pod: PodSeen, node: NodeSeen, there: Iterable[PodSeen]) -> str:
    """Why a pod cannot go to a node, in the scheduler's words; nothing if it can."""
    tolerations = spec.get("tolerations") or ()
    if node.unschedulable and not tolerates(tolerations, {"key": UNSCHEDULABLE, "effect": "NoSchedule"}):
        return "node(s) were unschedulable"
    for taint in node.taints:
        if taint["effect"] in ("NoSchedule", "NoExecute") and not tolerates(tolerations, taint):
            return "node(s) had untolerated taint(s)"
    if not selects(spec, node):
        return ELSEWHERE
    return _too_full(pod, node, [each for each in there if not each.ended])


def _too_full(pod: PodSeen, node: NodeSeen, there: Sequence[PodSeen]) -> str:
    if len(there) + 1 > node.most_pods:
        return "Too many pods"
    for position, name in enumerate(RESOURCES):
        asked = pod.requests[position]
        if not asked:
            continue
        used = sum(each.requests[position] for each in there)
        if used + asked > node.allocatable[position]:
            return f"Insufficient {name}"
    return ""
