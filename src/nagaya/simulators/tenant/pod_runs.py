"""The pods' side of kubelets: pods that have a node start, end and stop there, as long as its kubelet works.

Nothing runs. A pod is Running and Ready some time after it was bound and its volumes were attached, it is gone some
time after its deletion was asked for and never later than its grace period allows, and on a node whose kubelet is
silent it stays as it is: that is what makes a drain hang in real life too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.meta import times
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant.conditions import set_conditions
from nagaya.simulators.tenant.etcd.etcd import Etcd
from nagaya.simulators.tenant.hands import PODS, Hands
from nagaya.simulators.tenant.machines import Machine, Machines
from nagaya.simulators.tenant.settings import RUN_FOR, STOP_AFTER, TenantSettings
from nagaya.simulators.tenant.view import View, condition_of
from nagaya.simulators.tenant.volume_needs import VolumeNeeds

_CRASHES: Final = "CrashLoopBackOff"
_READY: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


class PodRuns:
    """Runs the pods of all nodes."""

    name = "simulated pods"
    tables = ("nodes", "pods")

    def __init__(
        self,
        backend: Backend,
        view: View,
        machines: Machines,
        needs: VolumeNeeds,
        etcd: Etcd,
        settings: TenantSettings,
    ) -> None:
        self._api = Hands(backend, "kubelet")
        self._clock = backend.world.clock
        self._view = view
        self._machines = machines
        self._needs = needs
        self._etcd = etcd
        self._settings = settings
        self._begun: dict[tuple[str, str], float] = {}  # (uid, step) to when it began, monotonic

    def start(self) -> Iterator[str]:
        """All pods on nodes."""
        for pod in self._view.pods():
            if pod.node:
                yield pod.key

    def on_event(self, event: Event) -> Iterator[str]:
        """A pod changed, a node came or is heard again, or a volume is there."""
        if event.table == "pods":
            change = self._view.pod_change(event)
            if change.after is None and change.before is not None:
                for step in ("start", "run", "stop"):
                    self._begun.pop((change.before.uid, step), None)
            elif change.after is not None and change.after.node and change.matters:
                yield event.key
        elif event.table == "nodes" and event.record is not None:
            node = self._view.node_change(event)
            before = (node.before.ready, node.before.volumes) if node.before else None
            if node.after is not None and (node.after.ready, node.after.volumes) != before:
                yield from [pod.key for pod in self._view.pods_on(event.key)]

    async def sync(self, key: object) -> float | None:
        """Take a pod one step further."""
        assert isinstance(key, str)
        namespace, _, name = key.partition("/")
        pod = self._api.get(PODS, namespace, name)
        if pod is None:
            return None
        machine = self._machines.get(pod["spec"].get("nodeName") or "")
        if machine is None or not machine.works:
            return None
        if pod["metadata"].get("deletionTimestamp"):
            return await self._stop(pod)
        phase = (pod.get("status") or {}).get("phase")
        if phase == "Pending":
            return await self._start(pod, machine)
        if phase == "Running":
            return await self._run(pod, machine)
        return None

    def _left(self, pod: JsonObject, step: str, duration: float) -> float:
        """Seconds until a step of a pod is done."""
        now = self._clock.monotonic()
        return self._begun.setdefault((pod["metadata"]["uid"], step), now) + duration - now

    async def _stop(self, pod: JsonObject) -> float | None:
        metadata = pod["metadata"]
        wanted = _seconds(pod, STOP_AFTER, self._settings.timing.pod_stop)
        end = times.moment(metadata["deletionTimestamp"])
        left = min(self._left(pod, "stop", wanted), (end - self._clock.now()).total_seconds())
        if left > 0 and metadata.get("deletionGracePeriodSeconds"):
            return left
        await self._api.remove_pod(pod)
        return None

    async def _start(self, pod: JsonObject, machine: Machine) -> float | None:
        seen = self._view.pod(_key(pod))
        if seen is None or not self._needs.are_met(seen):
            return None  # the attachment of its volumes brings it back
        timing = self._settings.timing
        left = self._left(pod, "start", timing.static_pod_start if _is_static(pod) else timing.pod_start)
        if left > 0:
            return left
        address = machine.address if pod["spec"].get("hostNetwork") else ""
        address = address or machine.next_pod_address(self._settings.pod_subnet)

        def run(current: JsonObject) -> JsonObject:
            current["status"] = running(current, machine.address, address, self._api.now())
            return current

        await self._api.change(PODS, seen.namespace, seen.name, run, subresource="status")
        return None

    async def _run(self, pod: JsonObject, machine: Machine) -> float | None:
        metadata, status = pod["metadata"], pod["status"]
        if self._has_member(pod, machine) and self._etcd.runs_on(machine) == crashes(status):
            await self._api.change(PODS, metadata["namespace"], metadata["name"], self._turn, subresource="status")
            return None
        ends = RUN_FOR in (metadata.get("annotations") or {}) and pod["spec"].get("restartPolicy") != "Always"
        if ends:
            left = self._left(pod, "run", _seconds(pod, RUN_FOR, 0.0))
            if left > 0:
                return left
            await self._api.change(PODS, metadata["namespace"], metadata["name"], self._succeed, subresource="status")
            return None
        node = self._view.nodes().get(machine.settings.name)
        # A node that is not Ready has no ready pods: its own Ready comes first.
        unready = condition_of(status, "Ready") != "True" and not crashes(status)
        if node is not None and node.ready == "True" and unready:
            await self._api.change(PODS, metadata["namespace"], metadata["name"], self._be_ready, subresource="status")
        return None

    def _has_member(self, pod: JsonObject, machine: Machine) -> bool:
        """Whether a pod is that of a member of etcd, which may be down when its machine is not."""
        component = (pod["metadata"].get("labels") or {}).get("component")
        return machine.settings.boot is not None and _is_static(pod) and component == "etcd"

    def _turn(self, pod: JsonObject) -> JsonObject:
        """A pod whose program has ended begins to crash; one whose program runs again stops to."""
        status, now = pod["status"], self._api.now()
        if crashes(status):
            pod["status"] = made = running(pod, status["hostIP"], status["podIP"], now)
            for before, after in zip(status["containerStatuses"], made["containerStatuses"], strict=True):
                after["restartCount"] = before["restartCount"]
        else:
            crashing(status, now)
        return pod

    def _be_ready(self, pod: JsonObject) -> JsonObject | None:
        wanted: list[JsonObject] = [{"type": kind, "status": "True"} for kind in _READY]
        return pod if set_conditions(pod["status"], wanted, self._api.now()) else None

    def _succeed(self, pod: JsonObject) -> JsonObject:
        status, now = pod["status"], self._api.now()
        status["phase"] = "Succeeded"
        for each in status.get("containerStatuses") or ():
            started = ((each.get("state") or {}).get("running") or {}).get("startedAt") or now
            ended = {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": now}
            each |= {"ready": False, "started": False, "state": {"terminated": ended}}
        unready: list[JsonObject] = [
            {"type": kind, "status": "False", "reason": "PodCompleted"} for kind in ("Ready", "ContainersReady")
        ]
        set_conditions(status, unready, now)
        return pod


def _is_static(pod: JsonObject) -> bool:
    return "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {})


def crashes(status: JsonObject) -> bool:
    """Whether a program of a pod ends whenever it is started."""
    waiting = ((each.get("state") or {}).get("waiting") or {} for each in status.get("containerStatuses") or ())
    return any(each.get("reason") == _CRASHES for each in waiting)


def crashing(status: JsonObject, now: str) -> None:
    """Have the programs of a pod that ran end whenever they are started."""
    names = []
    for each in status.get("containerStatuses") or ():
        names.append(each["name"])
        started = ((each.get("state") or {}).get("running") or {}).get("startedAt") or now
        ended = {"exitCode": 1, "reason": "Error", "startedAt": started, "finishedAt": now}
        why = f"back-off restarting failed container={each['name']}"
        each |= {
            "ready": False,
            "started": False,
            "restartCount": each["restartCount"] + 1,
            "state": {"waiting": {"reason": _CRASHES, "message": why}},
            "lastState": {"terminated": ended},
        }
    message = f"containers with unready status: [{' '.join(names)}]"
    unready: list[JsonObject] = [
        {"type": kind, "status": "False", "reason": "ContainersNotReady", "message": message}
        for kind in ("Ready", "ContainersReady")
    ]
    set_conditions(status, unready, now)


def _key(pod: JsonObject) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _seconds(pod: JsonObject, annotation: str, otherwise: float) -> float:
    """What a pod wishes, if it is a number."""
    text = (pod["metadata"].get("annotations") or {}).get(annotation)
    try:
        return otherwise if text is None else max(0.0, float(text))
    except ValueError:
        return otherwise


def running(pod: JsonObject, host: str, address: str, now: str) -> JsonObject:
    """The status of a pod whose containers all run."""
    status: JsonObject = {**(pod.get("status") or {}), "phase": "Running", "startTime": now}
    conditions: list[JsonObject] = [{"type": kind, "status": "True"} for kind in _READY]
    set_conditions(status, conditions, now)
    status |= {"hostIP": host, "hostIPs": [{"ip": host}], "podIP": address, "podIPs": [{"ip": address}]}
    uid = pod["metadata"]["uid"]
    status["containerStatuses"] = [
        {
            "name": each["name"],
            "image": each["image"],
            "imageID": "simulated",
            "containerID": f"simulated://{uid}/{each['name']}",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": now}},
            "lastState": {},
        }
        for each in pod["spec"]["containers"]
    ]
    if pod["spec"].get("initContainers"):
        done = {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
        status["initContainerStatuses"] = [
            {
                "name": each["name"],
                "image": each["image"],
                "imageID": "simulated",
                "containerID": f"simulated://{uid}/{each['name']}",
                "ready": True,
                "started": each.get("restartPolicy") == "Always",
                "restartCount": 0,
                "state": {"running": {"startedAt": now}}
                if each.get("restartPolicy") == "Always"
                else {"terminated": done},
                "lastState": {},
            }
            for each in pod["spec"]["initContainers"]
        ]
    return status
