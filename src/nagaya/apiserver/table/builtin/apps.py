"""The apps group: what makes and replaces pods."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from nagaya.apiserver.meta.gvk import GroupKind, GroupVersion
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import label_selector
from nagaya.apiserver.selectors.requirement import SelectorError
from nagaya.apiserver.table.builtin.parts import (
    NONE,
    age,
    containers,
    labels_text,
    metadata,
    name,
    pod_template,
    selector_text,
    spec,
    status,
)
from nagaya.apiserver.table.columns import AGE, NAME, Cells, number, shape, text, wide

_CONTAINERS: Final = (
    wide("Containers", "The names of the template's containers."),
    wide("Images", "The images of the template's containers."),
)
_SELECTOR: Final = wide("Selector", "Which pods are meant, by their labels.")
_READY: Final = text("Ready", "Pods that are ready, of those wanted.")


def _ready(obj: JsonObject) -> str:
    return f"{status(obj).get('readyReplicas') or 0}/{spec(obj).get('replicas') or 0}"


@shape(
    NAME,
    _READY,
    text("Up-to-date", "Pods made from the current template."),
    text("Available", "Pods that have been ready for long enough."),
    AGE,
    *_CONTAINERS,
    _SELECTOR,
)
def DEPLOYMENTS(obj: JsonObject, now: datetime) -> Cells:
    observed = status(obj)
    try:
        selector = str(label_selector.compiled(spec(obj).get("selector")))
    except SelectorError:
        selector = "<invalid>"
    return [
        name(obj),
        _ready(obj),
        observed.get("updatedReplicas") or 0,
        observed.get("availableReplicas") or 0,
        age(obj, now),
        *containers(pod_template(obj)),
        selector,
    ]


@shape(NAME, _READY, AGE, *_CONTAINERS)
def STATEFUL_SETS(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), _ready(obj), age(obj, now), *containers(pod_template(obj))]


@shape(
    NAME,
    number("Desired", "The number of pods that is wanted."),
    number("Current", "The number of pods that exist."),
    number("Ready", "The number of pods that are ready."),
    AGE,
    *_CONTAINERS,
    _SELECTOR,
)
def REPLICA_SETS(obj: JsonObject, now: datetime) -> Cells:
    observed = status(obj)
    return [
        name(obj),
        spec(obj).get("replicas") or 0,
        observed.get("replicas") or 0,
        observed.get("readyReplicas") or 0,
        age(obj, now),
        *containers(pod_template(obj)),
        selector_text(spec(obj).get("selector")),
    ]


@shape(
    NAME,
    number("Desired", "The number of nodes that should run a pod."),
    number("Current", "The number of nodes that do."),
    number("Ready", "The number of nodes where the pod is ready."),
    number("Up-to-date", "The number of nodes with a pod of the current template."),
    number("Available", "The number of nodes where the pod has been ready for long enough."),
    text("Node Selector", "Which nodes are meant, by their labels."),
    AGE,
    *_CONTAINERS,
    _SELECTOR,
)
def DAEMON_SETS(obj: JsonObject, now: datetime) -> Cells:
    observed, pod = status(obj), pod_template(obj)
    return [
        name(obj),
        observed.get("desiredNumberScheduled") or 0,
        observed.get("currentNumberScheduled") or 0,
        observed.get("numberReady") or 0,
        observed.get("updatedNumberScheduled") or 0,
        observed.get("numberAvailable") or 0,
        labels_text(pod.get("nodeSelector")),
        age(obj, now),
        *containers(pod),
        selector_text(spec(obj).get("selector")),
    ]


@shape(NAME, text("Controller", "Whose history this is."), text("Revision", "Its place in the history."), AGE)
def CONTROLLER_REVISIONS(obj: JsonObject, now: datetime) -> Cells:
    owners: list[JsonObject] = metadata(obj).get("ownerReferences") or []
    controller = NONE
    for owner in owners:
        if owner.get("controller"):
            group = GroupVersion.parse(owner.get("apiVersion") or "").group
            kind = GroupKind(group, owner.get("kind") or "")
            controller = f"{str(kind).lower()}/{owner.get('name') or ''}" if any(kind) else owner.get("name") or ""
            break
    return [name(obj), controller, obj.get("revision") or 0, age(obj, now)]
