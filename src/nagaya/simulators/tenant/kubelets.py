"""The nodes' side of kubelets: they register, report what the matter is, and say that they are still there.

A status is written when it says something new. Heartbeats are one timer for all nodes of the cluster: the nodes stand
in a queue by the time of their next renewal, a few are served at a time, and none of it runs for nodes that are
silent.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.meta import times
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant import node_object
from nagaya.simulators.tenant.conditions import set_conditions
from nagaya.simulators.tenant.hands import LEASES, NODES, Hands
from nagaya.simulators.tenant.machines import Machine, Machines
from nagaya.simulators.tenant.pace import STATUS_RENEWALS
from nagaya.simulators.tenant.settings import TenantSettings

log = logging.getLogger(__name__)

_LEASE_NAMESPACE: Final = "kube-node-lease"
_AT_ONCE: Final = 16  # nodes served before the event loop gets its turn


class Kubelets:
    """Keeps the Nodes of all machines that are heard up to date."""

    name = "simulated kubelets"
    tables = ("nodes",)

    def __init__(self, backend: Backend, machines: Machines, settings: TenantSettings) -> None:
        self._api = Hands(backend, "kubelet")
        self._world = backend.world
        self._machines = machines
        self._settings = settings
        self._pace = settings.shared.pace
        self._queue: list[tuple[float, int, str]] = []  # when (loop time), which renewal it is, of whom
        self._beating: dict[str, float] = {}  # who, and the last renewal (loop time)
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    async def register(self, machine: Machine) -> None:
        """Make the Node if there is none, bring what the kubelet owns of it up to date, and begin to beat."""
        name = machine.settings.name
        await self._api.create_missing(NODES, node_object.registered(machine, self._settings.pod_subnet))
        wanted, provider_id = node_object.labels(machine), machine.settings.provider_id

        def relabel(node: JsonObject) -> JsonObject | None:
            known, spec = node["metadata"].get("labels") or {}, node.setdefault("spec", {})
            same = all(known.get(key) == value for key, value in wanted.items())
            if same and (spec.get("providerID") or not provider_id):
                return None
            node["metadata"]["labels"] = {**known, **wanted}
            if provider_id and not spec.get("providerID"):
                spec["providerID"] = provider_id
            return node

        await self._api.change(NODES, "", name, relabel)
        facts = node_object.facts(machine, self._settings.version, (self._world.uid(), self._world.uid()))
        await self._post(machine, facts)
        await self._renew(machine)
        self._begin(name)

    def start(self) -> Iterator[str]:
        """Nothing: machines come by `register`."""
        return iter(())

    def on_event(self, event: Event) -> Iterator[str]:
        """A Node that is deleted is no longer reported, and forgotten when its machine has gone."""
        if event.table == "nodes" and event.record is None:
            yield event.key

    async def sync(self, key: object) -> float | None:
        """Report the state of one node, if it is heard and its Node is there."""
        assert isinstance(key, str)
        machine = self._machines.get(key)
        if machine is None:
            return None
        if self._api.get(NODES, "", key) is None:
            self._end(key)
            if machine.gone:
                self._machines.forget(key)
            return None
        if not machine.heard:
            self._end(key)
            return None
        # Before it is reported: while the report is written the moment may come.
        left = machine.ready_at - self._world.clock.monotonic()
        await self._post(machine)
        if key not in self._beating:
            await self._renew(machine)
            self._begin(key)
        return left if left > 0 else None

    async def _post(self, machine: Machine, facts: JsonObject | None = None, *, heartbeat: bool = False) -> None:
        now = self._api.now()
        ready = self._world.clock.monotonic() >= machine.ready_at

        def change(node: JsonObject) -> JsonObject | None:
            status = node.setdefault("status", {})
            known = status.get("nodeInfo") or {}
            if facts is not None:
                kept = {name: known[name] for name in ("machineID", "systemUUID") if known.get(name)}
                addresses = status.get("addresses")
                status |= {**facts, "nodeInfo": {**facts["nodeInfo"], **kept}}
                if addresses and machine.settings.external_cloud:
                    status["addresses"] = addresses  # the cloud controller manager knows better
            changed = set_conditions(status, node_object.conditions(machine, ready=ready, now=now), now)
            return node if changed or heartbeat or facts is not None else None

        await self._api.change(NODES, "", machine.settings.name, change, subresource="status")

    async def _renew(self, machine: Machine) -> None:
        """Renew the lease, or make it."""
        name = machine.settings.name
        spec = {
            "holderIdentity": name,
            "leaseDurationSeconds": self._pace.lease_duration,
            "renewTime": times.micro_of(self._world.clock.now()),
        }

        def change(lease: JsonObject) -> JsonObject:
            return {**lease, "spec": spec}

        if await self._api.change(LEASES, _LEASE_NAMESPACE, name, change) is not None:
            return
        node = self._api.get(NODES, "", name)
        if node is not None:
            owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
            metadata = {"name": name, "namespace": _LEASE_NAMESPACE, "ownerReferences": [owner]}
            await self._api.create_missing(LEASES, {"metadata": metadata, "spec": spec})

    def _begin(self, name: str) -> None:
        if name in self._beating:
            return
        self._pace.nodes += 1
        # Machines that join together do not beat together.
        early = self._pace.interval * self._world.random.random() / 2
        self._beating[name] = asyncio.get_running_loop().time() - early
        heapq.heappush(self._queue, (self._beating[name] + self._pace.interval, 1, name))
        self._arm()

    def _end(self, name: str) -> None:
        if name in self._beating:
            del self._beating[name]
            self._pace.nodes -= 1
            self._queue = [each for each in self._queue if each[2] != name]
            heapq.heapify(self._queue)

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._queue and self._task is None:
            self._timer = asyncio.get_running_loop().call_at(self._queue[0][0], self._due)

    def _due(self) -> None:
        self._timer = None
        self._task = asyncio.create_task(self._beat(), name="simulated kubelets")

    async def _beat(self) -> None:
        loop, served = asyncio.get_running_loop(), 0
        try:
            while self._queue and self._queue[0][0] <= loop.time():
                _, count, name = heapq.heappop(self._queue)
                due = self._beating[name] + self._pace.interval
                if due > loop.time():  # there are more nodes now, so they beat more slowly
                    heapq.heappush(self._queue, (due, count, name))
                    continue
                self._beating[name] = loop.time()
                heapq.heappush(self._queue, (loop.time() + self._pace.interval, count + 1, name))
                await self._serve(name, count)
                served += 1
                if served % _AT_ONCE == 0:
                    await asyncio.sleep(0)
        finally:
            self._task = None
            self._arm()

    async def _serve(self, name: str, count: int) -> None:
        machine = self._machines.get(name)
        if machine is None or not machine.heard:
            return
        try:
            await self._renew(machine)
            if count % STATUS_RENEWALS == 0:
                await self._post(machine, heartbeat=True)
        except ApiError as error:
            log.warning("simulated node %s: heartbeat failed: %s", name, error)

    async def stop(self) -> None:
        """End all heartbeats."""
        self._pace.nodes -= len(self._beating)
        self._beating.clear()
        self._queue.clear()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
