"""Pods: one word for the state of all containers, and how often they were restarted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.apiserver.meta import durations
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.builtin.parts import (
    NONE,
    age,
    condition,
    containers,
    deleting,
    labels_text,
    metadata,
    name,
    spec,
    status,
)
from nagaya.apiserver.table.columns import AGE, NAME, Cells, TableShape, text, wide

_COLUMNS: Final = (
    NAME,
    text("Ready", "Containers that are ready, of all."),
    text("Status", "The state of the pod and its containers in one word."),
    text("Restarts", "How often containers were restarted, and when last."),
    AGE,
    wide("IP", "The pod's address."),
    wide("Node", "The node that the pod runs on."),
    wide("Nominated Node", "The node that is being cleared for the pod."),
    wide("Readiness Gates", "Extra conditions for readiness that hold, of all."),
)


@dataclass(slots=True)
class _Summary:
    """What is known of a pod after its containers were looked at."""

    reason: str
    total: int
    ready: int = 0
    restarts: int = 0
    last_restart: datetime | None = None

    def restarted(self, container: JsonObject) -> None:
        self.restarts += container.get("restartCount") or 0
        finished = ((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt")
        moment = durations.parse_timestamp(finished) if finished else None
        if moment is not None and (self.last_restart is None or moment > self.last_restart):
            self.last_restart = moment


def _row(pod: JsonObject, now: datetime) -> Cells:
    summary = _summary(pod)
    restarts = str(summary.restarts)
    if summary.restarts and summary.last_restart is not None:
        since = durations.human(durations.seconds_between(summary.last_restart, now))
        restarts = f"{summary.restarts} ({since} ago)"
    observed = status(pod)
    addresses: list[JsonObject] = observed.get("podIPs") or []
    return [
        name(pod),
        f"{summary.ready}/{summary.total}",
        summary.reason,
        restarts,
        age(pod, now),
        observed.get("podIP") or (addresses[0].get("ip") if addresses else "") or NONE,
        spec(pod).get("nodeName") or NONE,
        observed.get("nominatedNodeName") or NONE,
        _gates(pod),
    ]


def _summary(pod: JsonObject) -> _Summary:
    wanted, observed = spec(pod), status(pod)
    phase: str = observed.get("phase") or ""
    init: list[JsonObject] = wanted.get("initContainers") or []
    sidecars = {each.get("name") or "" for each in init if each.get("restartPolicy") == "Always"}
    total = len(wanted.get("containers") or ()) + sum(each.get("restartPolicy") == "Always" for each in init)
    summary = _Summary(observed.get("reason") or phase, total)
    for each in observed.get("conditions") or ():
        if each.get("type") == "PodScheduled" and each.get("reason") == "SchedulingGated":
            summary.reason = "SchedulingGated"
    sidecar_summary = _Summary("", 0)
    initializing = _look_at_init(summary, sidecar_summary, observed, sidecars, len(init))
    initialized = condition(observed.get("conditions"), "Initialized")
    if not initializing or (initialized is not None and initialized.get("status") == "True"):
        summary.restarts, summary.last_restart = sidecar_summary.restarts, sidecar_summary.last_restart
        _look_at_containers(summary, observed)
    if deleting(pod):
        if observed.get("reason") == "NodeLost":
            summary.reason = "Unknown"
        elif phase not in ("Failed", "Succeeded"):
            summary.reason = "Terminating"
    return summary


def _look_at_init(summary: _Summary, sidecar: _Summary, observed: JsonObject, sidecars: set[str], total: int) -> bool:
    """Whether the pod is still initialising. The first container that is not done decides the reason."""
    for position, container in enumerate(observed.get("initContainerStatuses") or ()):
        summary.restarted(container)
        is_sidecar = (container.get("name") or "") in sidecars
        if is_sidecar:
            sidecar.restarted(container)
        state: JsonObject = container.get("state") or {}
        ended: JsonObject | None = state.get("terminated")
        waiting = (state.get("waiting") or {}).get("reason") or ""
        if ended is not None and not ended.get("exitCode"):
            continue
        if is_sidecar and container.get("started"):
            summary.ready += bool(container.get("ready"))
            continue
        if ended is not None:
            summary.reason = f"Init:{_end_reason(ended)}"
        elif waiting and waiting != "PodInitializing":
            summary.reason = f"Init:{waiting}"
        else:
            summary.reason = f"Init:{position}/{total}"
        return True
    return False


def _look_at_containers(summary: _Summary, observed: JsonObject) -> None:
    running = False
    failure = ""
    for container in reversed(observed.get("containerStatuses") or ()):
        summary.restarted(container)
        state: JsonObject = container.get("state") or {}
        ended: JsonObject | None = state.get("terminated")
        waiting = (state.get("waiting") or {}).get("reason") or ""
        if waiting:
            summary.reason = waiting
        elif ended is not None:
            summary.reason = _end_reason(ended)
            if ended.get("exitCode"):
                failure = summary.reason
        elif container.get("ready") and state.get("running") is not None:
            running = True
            summary.ready += 1
    if summary.reason == "Completed":
        if running and _is_ready(observed):
            summary.reason = "Running"
        elif failure:
            summary.reason = failure
        elif running:
            summary.reason = "NotReady"


def _end_reason(ended: JsonObject) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode') or 0}"


def _is_ready(observed: JsonObject) -> bool:
    return any(
        each.get("type") == "Ready" and each.get("status") == "True" for each in observed.get("conditions") or ()
    )


def _gates(pod: JsonObject) -> str:
    gates: list[JsonObject] = spec(pod).get("readinessGates") or []
    if not gates:
        return NONE
    conditions = status(pod).get("conditions")
    found = [condition(conditions, gate.get("conditionType") or "") for gate in gates]
    return f"{sum(each is not None and each.get('status') == 'True' for each in found)}/{len(gates)}"


_COMPLETED: Final = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


def _conditions(pod: JsonObject) -> list[JsonObject] | None:
    phase = status(pod).get("phase") or ""
    if phase not in _COMPLETED:
        return None
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _COMPLETED[phase]}]


PODS: Final = TableShape(_COLUMNS, _row, conditions=_conditions)


def _template_row(obj: JsonObject, now: datetime) -> Cells:
    template: JsonObject = obj.get("template") or {}
    return [name(obj), *containers(spec(template)), labels_text(metadata(template).get("labels"))]


POD_TEMPLATES: Final = TableShape(
    (
        NAME,
        text("Containers", "The names of the template's containers."),
        text("Images", "The images of the template's containers."),
        text("Pod Labels", "The labels of the template."),
    ),
    _template_row,
)
