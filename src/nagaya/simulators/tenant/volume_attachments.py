"""Volumes are attached to the nodes whose pods use them, and detached when the last of those pods is gone.

A node that is not healthy gives its volumes back only after the time that kube-controller-manager waits, or at once
when it is out of service or its Node is gone: its kubelet cannot confirm that nothing writes any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant.hands import ATTACHMENTS, CLAIMS, NODES, Hands, table_of
from nagaya.simulators.tenant.machines import Machines
from nagaya.simulators.tenant.pod_garbage import is_out_of_service
from nagaya.simulators.tenant.settings import Timing
from nagaya.simulators.tenant.view import View
from nagaya.simulators.tenant.volume_needs import Volume, VolumeNeeds


class VolumeAttachments:
    """Attaches and detaches. Keys are the names of nodes."""

    name = "simulated volume attachments"
    tables = ("pods", "nodes", CLAIMS.resource, table_of(ATTACHMENTS))

    def __init__(self, backend: Backend, view: View, machines: Machines, needs: VolumeNeeds, timing: Timing) -> None:
        self._api = Hands(backend, "kube-controller-manager")
        self._clock = backend.world.clock
        self._view = view
        self._machines = machines
        self._needs = needs
        self._timing = timing
        self._begun: dict[tuple[str, str, str], float] = {}  # (node, volume, what) to when it began, monotonic

    def start(self) -> Iterator[str]:
        """All nodes with attachments, and all with pods."""
        for record in self._api.records(ATTACHMENTS):
            yield record.object()["spec"]["nodeName"]
        yield from self._view.occupied_nodes()

    def on_event(self, event: Event) -> Iterator[str]:
        """A pod with claims was bound or went, a claim got its volume, or a node changed."""
        if event.table == "pods":
            change = self._view.pod_change(event)
            for pod in (change.before, change.after):
                if pod is not None and pod.node and pod.claims:
                    yield pod.node
        elif event.table == CLAIMS.resource:
            namespace, _, name = event.key.partition("/")
            for pod in self._view.pods():
                if pod.node and pod.namespace == namespace and name in pod.claims:
                    yield pod.node
        elif event.table == "nodes" and self._view.node_change(event).matters:
            yield event.key
        elif event.table == table_of(ATTACHMENTS) and event.record is None and event.previous is not None:
            yield event.previous.object()["spec"]["nodeName"]

    async def sync(self, key: object) -> float | None:
        """Bring the attachments of a node closer to what its pods need."""
        assert isinstance(key, str)
        wanted, there = self._needs.wanted_on(key), self._attachments(key)
        lefts = []
        for volume in sorted(wanted if key in self._view.nodes() else ()):
            self._begun.pop((key, volume.name, "detach"), None)
            lefts.append(await self._attach(key, volume))
        for name, attachment in there.items():
            volume_name = attachment["spec"]["source"].get("persistentVolumeName") or ""
            if volume_name not in {each.name for each in wanted}:
                lefts.append(await self._detach(key, volume_name, name))
        if not lefts:
            # The last one may have gone later than it was asked to: drivers hold attachments with finalizers.
            await self._list_on_node(key)
        waiting = [left for left in lefts if left > 0]
        return min(waiting) if waiting else None

    def _attachments(self, node: str) -> dict[str, JsonObject]:
        found = (record.object() for record in self._api.records(ATTACHMENTS))
        return {each["metadata"]["name"]: each for each in found if each["spec"]["nodeName"] == node}

    def _left(self, node: str, volume: str, what: str, duration: float) -> float:
        now = self._clock.monotonic()
        return self._begun.setdefault((node, volume, what), now) + duration - now

    async def _attach(self, node: str, volume: Volume) -> float:
        name = volume.attachment(node)
        source = {"persistentVolumeName": volume.name}
        made: JsonObject = {
            "metadata": {"name": name},
            "spec": {"attacher": volume.driver, "nodeName": node, "source": source},
        }
        await self._api.create_missing(ATTACHMENTS, made)
        current = self._api.get(ATTACHMENTS, "", name)
        if current is None or (current.get("status") or {}).get("attached"):
            await self._list_on_node(node)
            return 0.0
        left = self._left(node, volume.name, "attach", self._timing.attach)
        if left > 0:
            return left
        self._begun.pop((node, volume.name, "attach"), None)
        await self._api.change(ATTACHMENTS, "", name, _attached, subresource="status")
        await self._list_on_node(node)
        return 0.0

    async def _detach(self, node: str, volume: str, name: str) -> float:
        left = self._left(node, volume, "detach", self._patience(node))
        if left > 0:
            return left
        for what in ("attach", "detach"):
            self._begun.pop((node, volume, what), None)
        await self._api.delete(ATTACHMENTS, "", name)
        await self._list_on_node(node)
        return 0.0

    def _patience(self, node: str) -> float:
        seen, machine = self._view.nodes().get(node), self._machines.get(node)
        if seen is None or is_out_of_service(seen):
            return 0.0
        heard = machine is None or machine.works
        return self._timing.detach if heard and seen.ready == "True" else self._timing.forced_detach

    async def _list_on_node(self, node: str) -> None:
        """Write the attached volumes into the Node's status."""
        listed: list[JsonObject] = []
        for attachment in self._attachments(node).values():
            volume = self._needs.volume(attachment["spec"]["source"].get("persistentVolumeName") or "")
            if volume is not None and (attachment.get("status") or {}).get("attached"):
                listed.append({"name": volume.unique_name, "devicePath": ""})

        def change(found: JsonObject) -> JsonObject | None:
            status = found.setdefault("status", {})
            if (status.get("volumesAttached") or []) == listed:
                return None
            used = [each["name"] for each in listed]
            for field, value in (("volumesAttached", listed), ("volumesInUse", used)):
                if value:
                    status[field] = value
                else:
                    status.pop(field, None)
            return found

        await self._api.change(NODES, "", node, change, subresource="status")


def _attached(attachment: JsonObject) -> JsonObject:
    attachment["status"] = {**(attachment.get("status") or {}), "attached": True}
    return attachment
