"""One simulated kubelet: its Node, its heartbeat, and the pods that are bound to it.

It goes on whatever the API server does: what fails is tried again, and what a real kubelet would write to its log goes
to the log. When it is ended nothing is taken back: others notice by its silence, as they would with a real one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Final

from nagaya.apiserver.meta import times
from nagaya.simulators.kubelet.calls import STRATEGIC, Calls, Json, Refused
from nagaya.simulators.tenant import node_object
from nagaya.simulators.tenant.conditions import set_conditions
from nagaya.simulators.tenant.machines import Machine
from nagaya.simulators.tenant.pod_runs import running
from nagaya.world import World

log = logging.getLogger(__name__)

BEAT: Final = 10.0
"""Seconds between two renewals of the lease, as kubelets have it."""
LEASE: Final = 40
STATUS_BEATS: Final = 30
"""How many renewals go by between two reports that say nothing new."""
_AGAIN: Final = 2.0
_NODES: Final = "/api/v1/nodes"
_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


class Kubelet:
    """The kubelet of one machine."""

    def __init__(self, calls: Calls, machine: Machine, version: str, world: World) -> None:
        self._calls = calls
        self._machine = machine
        self._version = version
        self._world = world
        self._name = machine.settings.name
        self._identifiers = world.uid(), world.uid()
        self._tasks: list[asyncio.Task[None]] = []

    async def register(self) -> None:
        """Make the Node if there is none, and report for the first time. Raises Refused and OSError."""
        node = node_object.registered(self._machine, "10.0.0.0/8")
        for each in ("podCIDR", "podCIDRs"):
            del node["spec"][each]  # the cluster's own controllers choose it
        try:
            await self._calls.create(_NODES, {"apiVersion": "v1", "kind": "Node", **node})
        except Refused as error:
            if error.status != 409:
                raise
        await self._renew()
        await self._report()

    def start(self) -> None:
        """Go on by itself, until `stop`."""
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._for_ever(self._beat), name=f"heartbeat of {self._name}"),
            loop.create_task(self._for_ever(self._follow_pods), name=f"pods of {self._name}"),
        ]

    def pause(self) -> None:
        """Be silent until `start`."""
        for task in self._tasks:
            task.cancel()

    async def stop(self) -> None:
        """Be silent for good."""
        self.pause()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _for_ever(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
            except (Refused, OSError) as error:
                log.info("simulated kubelet %s: %s", self._name, error)
            await asyncio.sleep(_AGAIN)

    async def _beat(self) -> None:
        left = self._machine.ready_at - self._world.clock.monotonic()
        if left > 0:
            await asyncio.sleep(left)
        await self._report()
        beats = 0
        while True:
            await asyncio.sleep(BEAT)
            beats += 1
            await self._renew()
            if beats % STATUS_BEATS == 0:
                await self._report()

    async def _renew(self) -> None:
        spec = {
            "holderIdentity": self._name,
            "leaseDurationSeconds": LEASE,
            "renewTime": times.micro_of(self._world.clock.now()),
        }
        try:
            await self._calls.patch(f"{_LEASES}/{self._name}", {"spec": spec})
        except Refused as error:
            if error.status != 404:
                raise
            node = await self._calls.get(f"{_NODES}/{self._name}")
            owner = {"apiVersion": "v1", "kind": "Node", "name": self._name, "uid": node["metadata"]["uid"]}
            metadata = {"name": self._name, "ownerReferences": [owner]}
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            await self._calls.create(_LEASES, lease)

    async def _report(self) -> None:
        node = await self._calls.get(f"{_NODES}/{self._name}")
        status: Json = {"conditions": (node.get("status") or {}).get("conditions") or []}
        ready = self._world.clock.monotonic() >= self._machine.ready_at
        now = self._now()
        set_conditions(status, node_object.conditions(self._machine, ready=ready, now=now), now)
        facts = node_object.facts(self._machine, self._version, self._identifiers)
        await self._calls.patch(f"{_NODES}/{self._name}/status", {"status": {**facts, **status}}, STRATEGIC)

    async def _follow_pods(self) -> None:
        chosen = f"spec.nodeName={self._name}"
        listed = await self._calls.get("/api/v1/pods", fieldSelector=chosen)
        for pod in listed.get("items") or ():
            await self._look_at(pod)
        version = str(listed["metadata"]["resourceVersion"])
        events = self._calls.watch("/api/v1/pods", fieldSelector=chosen, resourceVersion=version)
        async with aclosing(events):
            async for event in events:
                if event.get("type") in ("ADDED", "MODIFIED"):
                    await self._look_at(event["object"])
                elif event.get("type") == "ERROR":
                    return

    async def _look_at(self, pod: Json) -> None:
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        try:
            if metadata.get("deletionTimestamp"):
                options = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
                await self._calls.delete(path, {"apiVersion": "v1", "kind": "DeleteOptions", **options})
            elif (pod.get("status") or {}).get("phase") == "Pending":
                own = pod["spec"].get("hostNetwork")
                address = self._machine.address if own else self._machine.next_pod_address("10.244.0.0/16")
                status = running(pod, self._machine.address, address, self._now())
                await self._calls.patch(f"{path}/status", {"status": status}, STRATEGIC)
        except Refused as error:
            if error.status not in (404, 409):
                raise

    def _now(self) -> str:
        return times.of(self._world.clock.now())
