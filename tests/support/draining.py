"""A tenant whose pods can be evicted, and a machine on it that is being deleted: what tests of deletion stand on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from msgspec import structs

from nagaya.api.cluster.machine import Machine
from nagaya.api.kind import Kind, Object
from nagaya.clusters.node import BY_PROVIDER_ID, NODES, provider_ids
from nagaya.core.machine.deletion.apply import Deletion
from nagaya.core.machine.deletion_outcome import DeletionOutcome
from nagaya.core.machine.seen import Seen
from nagaya.kube.cache.cache import Cache
from nagaya.kube.connection import Connection
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.key import Key
from nagaya.kube.recorder import EventType, Recorder
from nagaya.kube.remote import Remote, Remotes
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import Call
from support.builders import BOOTSTRAP, CLUSTER, INFRASTRUCTURE, NAMESPACE
from support.kube import FakeServer
from support.virtual_run import virtual_world

PODS, DAEMON_SETS, VOLUMES = "api/v1/pods", "apis/apps/v1/daemonsets", "api/v1/persistentvolumes"
ATTACHMENTS = "apis/storage.k8s.io/v1/volumeattachments"
HOSTS = f"apis/{INFRASTRUCTURE.group}/v1/{INFRASTRUCTURE.plural}"
CONFIGS = f"apis/{BOOTSTRAP.group}/v1/{BOOTSTRAP.plural}"


class DrainedServer(FakeServer):
    """Knows which pods are on a Node, and lets them be evicted: they stay as going until a test removes them."""

    def __init__(self) -> None:
        super().__init__()
        self.refuse: dict[str, tuple[int, dict[str, Any]]] = {}
        """What the eviction of a pod is answered with."""
        self.evictions: list[dict[str, Any]] = []
        self.broken: set[str] = set()
        """Collections that are answered with 500."""

    def _answer(self, call: Call) -> tuple[int, dict[str, Any]]:
        if any(each in call.path for each in self.broken):
            return 500, status(500, "InternalError", "out of order")
        if not call.path.endswith("/eviction"):
            return super()._answer(call)
        content = json.loads(call.body or b"{}")
        self.evictions.append(content)
        namespace, name = content["metadata"]["namespace"], content["metadata"]["name"]
        if name in self.refuse:
            return self.refuse[name]
        if (PODS, namespace, name) not in self.objects:
            return 404, status(404, "NotFound", f'pods "{name}" not found')
        self.put(PODS, namespace, name, metadata={"deletionTimestamp": "2026-11-01T12:00:30Z"})
        return 201, status(201, "", "")

    def _list(self, collection: str, namespace: str, query: Mapping[str, str]) -> dict[str, Any]:
        found = super()._list(collection, namespace, query)
        field, _, node = query.get("fieldSelector", "").partition("=")
        if field:
            assert (collection, field) == (PODS, "spec.nodeName")
            found["items"] = [each for each in found["items"] if each["spec"]["nodeName"] == node]
        return found

    def pod(self, name: str, node: str = "node-a", *, owner: str = "ReplicaSet", **parts: Any) -> None:
        """A pod of a ReplicaSet called web, unless told otherwise."""
        reference = {"apiVersion": "apps/v1", "kind": owner, "name": "web", "uid": "1", "controller": True}
        metadata = {"ownerReferences": [reference], **parts.pop("metadata", {})}
        spec = {"nodeName": node, **parts.pop("spec", {})}
        self.put(PODS, "apps", name, metadata=metadata, spec=spec, status={"phase": "Running"}, **parts)

    def node(self, name: str = "node-a", ready: str = "True", provider_id: str = "boat:///a", **more: Any) -> None:
        """A Node."""
        told = {"conditions": [{"type": "Ready", "status": ready}], **more}
        self.put("api/v1/nodes", "", name, spec={"providerID": provider_id}, status=told)


class Notes(Recorder):
    """Keeps events instead of sending them."""

    told: list[tuple[str, str]]

    def record(
        self,
        kind: Kind[Any],
        obj: Object,
        event_type: EventType,
        reason: str,
        note: str,
        *,
        action: str = "Reconcile",
    ) -> None:
        self.told.append((reason, note))


class Scene:
    """A machine in deletion, its tenant, and the management API."""

    def __init__(self) -> None:
        self.management = FakeServer()
        self.tenant = DrainedServer()
        self.world = world = virtual_world()
        client = self.management.client(world)
        cache = Cache(client, world)
        self.notes = Notes(client, world)
        self.notes.told = []
        self.rt = Runtime(client, cache, ContractKinds(cache), Remotes(lambda _: self.tenant, world), self.notes, world)
        self.remote = Remote(Key(NAMESPACE, CLUSTER), Connection("tenant"), self.tenant.client(world), world)
        self.deletion = Deletion()
        self.last: DeletionOutcome | None = None

    async def __aenter__(self) -> Scene:
        self.rt.cache.start(INFRASTRUCTURE)
        self.rt.cache.start(BOOTSTRAP)
        self.remote.cache.start(NODES)
        self.remote.cache.add_index(NODES, BY_PROVIDER_ID, provider_ids)
        await self.rt.cache.synced()
        await self.remote.cache.synced()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.rt.cache.close()
        await self.remote.cache.close()

    async def look(self, view: Seen, *, remote: bool = True) -> DeletionOutcome:
        """One look at the deletion, with what earlier looks told in the status, at the present time."""
        await self.remote.cache.current()
        view = replace(view, now=self.world.clock.now(), remote=self.remote if remote else None)
        if self.last is not None:
            view = replace(view, machine=_told(view.machine, self.last))
        self.last = await self.deletion(self.rt, view)
        return self.last

    @property
    def events(self) -> list[str]:
        return [reason for reason, _ in self.notes.told]


def status(code: int, reason: str, message: str, **details: Any) -> dict[str, Any]:
    """A Status."""
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


def _told(machine: Machine, outcome: DeletionOutcome) -> Machine:
    return structs.replace(machine, status=structs.replace(machine.status, deletion=outcome.started))
