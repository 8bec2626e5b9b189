"""Jobs run pods until enough of them have succeeded, and count those that failed.

A simulated pod ends only if its annotation `run-for` says when. A pod that is deleted is replaced and does not count as
failed. Left out: indexes, deadlines, pod failure policies, and cleaning up after a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant import workload_events
from nagaya.simulators.tenant.conditions import set_conditions
from nagaya.simulators.tenant.hands import JOBS, PODS, Hands, table_of
from nagaya.simulators.tenant.pod_templates import pod_from
from nagaya.simulators.tenant.view import PodSeen, View

_FINISHED = ("Complete", "Failed")


class Jobs:
    """Makes the pods of jobs."""

    name = "simulated jobs"
    tables = ("pods", table_of(JOBS))

    def __init__(self, backend: Backend, view: View) -> None:
        self._api = Hands(backend, "kube-controller-manager")
        self._view = view

    def start(self) -> Iterator[str]:
        """All of them."""
        for record in self._api.records(JOBS):
            yield record.key

    def on_event(self, event: Event) -> Iterator[str]:
        """A job or one of its pods changed."""
        return workload_events.of_pods(event, self._view, JOBS, "Job")

    async def sync(self, key: object) -> float | None:
        """Start what is missing, and tell."""
        assert isinstance(key, str)
        namespace, _, name = key.partition("/")
        job = self._api.get(JOBS, namespace, name)
        if job is None or job["metadata"].get("deletionTimestamp") or job["spec"].get("suspend"):
            return None
        if any(each["type"] in _FINISHED for each in (job.get("status") or {}).get("conditions") or ()):
            return None
        uid, spec = job["metadata"]["uid"], job["spec"]
        done, failed, active = _counts(list(self._view.pods_of(uid)))
        wanted = min(spec.get("parallelism", 1), spec.get("completions", 1) - done)
        if failed <= spec.get("backoffLimit", 6):
            for _ in range(wanted - active):
                await self._api.create(PODS, pod_from(job, "Job", api_version="batch/v1"))
        pods = list(self._view.pods_of(uid))
        now = self._api.now()
        await self._api.change(JOBS, namespace, name, lambda obj: _told(obj, pods, now), subresource="status")
        return None


def _counts(pods: Sequence[PodSeen]) -> tuple[int, int, int]:
    """How many pods have succeeded, failed, and are at work."""
    done, failed = (sum(pod.phase == phase for pod in pods) for phase in ("Succeeded", "Failed"))
    return done, failed, sum(pod.active for pod in pods)


def _told(job: JsonObject, pods: Sequence[PodSeen], now: str) -> JsonObject | None:
    done, failed, active = _counts(pods)
    before: JsonObject = job.get("status") or {}
    status: JsonObject = {**before, "startTime": before.get("startTime") or now}
    ready = sum(pod.ready and pod.active for pod in pods)
    counts = {"active": active, "succeeded": done, "failed": failed, "ready": ready}
    status |= counts
    status.setdefault("uncountedTerminatedPods", {})
    complete = done >= job["spec"].get("completions", 1)
    conditions: list[JsonObject] = []
    if complete:
        status["completionTime"] = now
        why = {"reason": "CompletionsReached", "message": "Reached expected number of succeeded pods"}
        conditions = [{"type": kind, "status": "True", **why} for kind in ("SuccessCriteriaMet", "Complete")]
    elif failed > job["spec"].get("backoffLimit", 6) and not active:
        why = {"reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}
        conditions = [{"type": kind, "status": "True", **why} for kind in ("FailureTarget", "Failed")]
    for each in conditions:
        each["lastProbeTime"] = now
    turned = set_conditions(status, conditions, now) if conditions else False
    same = all((before.get(name) or 0) == count for name, count in counts.items()) and bool(before.get("startTime"))
    if same and not turned:
        return None
    job["status"] = status
    return job
