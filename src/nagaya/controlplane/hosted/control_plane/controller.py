"""The HostedControlPlane controller, for tenants that are processes of this machine.

Each look reads what is there, plans, acts, and looks again as long as what it did lets it go on. What always holds: a
control plane that is paused is only told that it is, and its processes go on; one that names a tenant of somebody
else, or one that is not here, is told so and nothing else; one that is deleted keeps its finalizer until nothing of it
is left; processes that end are started again by the supervisor, not by this.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.pause import why_paused
from nagaya.api.controlplane.data_store import DATA_STORES
from nagaya.api.controlplane.hosted_conditions import (
    HostedControlPlaneCondition,
    HostedControlPlaneReason,
    HostedPhase,
)
from nagaya.api.controlplane.hosted_control_plane import (
    DEFAULT_DATA_STORE,
    FINALIZER,
    HOSTED_CONTROL_PLANES,
    HostedControlPlane,
)
from nagaya.clusters.certificates.key_maker import Keys
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.clusters.finalizer import release
from nagaya.clusters.node import Node
from nagaya.clusters.pause import status_while_paused
from nagaya.clusters.tenant_nodes import TenantNodes
from nagaya.controlplane.hosted.control_plane.apply import Apply
from nagaya.controlplane.hosted.control_plane.components import program_of
from nagaya.controlplane.hosted.control_plane.deletion import End, end
from nagaya.controlplane.hosted.control_plane.encryption import EncryptionSecrets
from nagaya.controlplane.hosted.control_plane.known import Known
from nagaya.controlplane.hosted.control_plane.kubelets import is_news
from nagaya.controlplane.hosted.control_plane.names import MANAGER
from nagaya.controlplane.hosted.control_plane.plan import Plan, plan
from nagaya.controlplane.hosted.control_plane.refusal import Refusal, refusal, waits_for
from nagaya.controlplane.hosted.control_plane.seen import Observer, Seen
from nagaya.controlplane.hosted.control_plane.status import (
    CONDITIONS,
    FIELDS,
    OWNED_SOON,
    is_new,
    status,
    status_while_deleting,
    status_while_refused,
    status_without_cluster,
    status_without_host,
)
from nagaya.controlplane.hosted.control_plane.watches import plane_of, waits_for_nodes, watches
from nagaya.controlplane.hosted.control_plane.workers import OfMachine, waits_for_workers
from nagaya.controlplane.hosted.data_store_controller.seen import BY_STORE
from nagaya.controlplane.hosted.data_store_controller.stores import Stores
from nagaya.controlplane.hosted.host.host import Host
from nagaya.controlplane.hosted.phases import TRY_AGAIN
from nagaya.controlplane.hosted.tenant.keepers import Keepers
from nagaya.kube.cache.change import Change
from nagaya.kube.conditions import get
from nagaya.kube.controller import Controller, Result, Watch
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS, follow_secrets
from nagaya.supervision.errors import SupervisionError
from nagaya.supervision.events import Event, Exited, NotStarted, Ready, Started

log = logging.getLogger(__name__)

ROUNDS: Final = 8
"""How often one reconcile plans anew at most because what it did lets it go on."""
TIMEOUT: Final = 180.0
"""Seconds that one look may take: an API server that ends is given time to finish what it has begun."""
BY_TENANT: Final = "tenant"


_BEFORE_THE_END: Final = (
    HostedControlPlaneReason.NOT_DELETING,
    HostedControlPlaneReason.WAITING_FOR_WORKERS_DELETION,
)


class HostedControlPlanes:
    """Looks after HostedControlPlanes."""

    def __init__(self, rt: Runtime, host: Host, stores: Stores, reader: SecretReader, keys: Keys) -> None:
        self._rt = rt
        self._host = host
        self._known: dict[str, Known] = {}
        self._api = rt.api(MANAGER)
        self._encryption = EncryptionSecrets(rt.client, rt.world, lambda key: self.controller.look_at((key,)))
        self._observer = Observer(rt, host, stores, reader, self._encryption)
        self._nodes = TenantNodes(rt.remotes, MANAGER, self._node_changed, self._cluster_changed)
        self._keepers = Keepers(rt.remotes, rt.world, self._cluster_changed)
        self._apply = Apply(self._observer, self._api, keys, self._keepers)
        self._strangers = asyncio.Lock()
        self._strangers_ended = False
        if not rt.cache.has(TENANT_SECRETS):
            follow_secrets(rt.cache, rt.remotes)
        rt.cache.add_index(HOSTED_CONTROL_PLANES, BY_TENANT, lambda plane: (plane.tenant_id,))
        self.controller = Controller(
            "hostedcontrolplane",
            HOSTED_CONTROL_PLANES,
            self.reconcile,
            watches=(*watches(rt.cache), Watch(MACHINES, OfMachine(rt.cache))),
            timeout=TIMEOUT,
            on_stop=self._stop,
        )
        host.subscribe(self._heard, self._look_at_all)
        stores.subscribe(self._store_reached)
        rt.remotes.subscribe(self._cluster_changed)

    async def reconcile(self, key: Key) -> Result | None:
        """Look at one control plane."""
        plane = self._rt.cache.get(HOSTED_CONTROL_PLANES, key)
        if plane is None:
            return None
        try:
            await self._begin()
        except (SupervisionError, OSError, ValueError) as error:
            log.error("hosted control planes cannot be run: %s", error)
            told = status_without_host(plane, error, self._rt.world.clock)
            await self._api.status(HOSTED_CONTROL_PLANES, plane, told, conditions=CONDITIONS, fields=FIELDS)
            return Result(TRY_AGAIN)
        cluster = self._observer.cluster_of(plane)
        if why := why_paused(cluster, plane, HOSTED_CONTROL_PLANES.kind):
            # What happens meanwhile is not known: a backup may be restored.
            self._known.pop(plane.metadata.uid, None)
            folder = self._host.folder(plane.tenant_id).path
            await asyncio.to_thread(self._host.note_pause, plane.metadata, plane.tenant_id, folder)
            paused = status_while_paused(plane, why, self._rt.world.clock.now())
            await self._api.status(HOSTED_CONTROL_PLANES, plane, paused, conditions=CONDITIONS, fields=FIELDS)
            return None
        if refused := self._refusal(plane):
            return await self._refuse(plane, refused)
        if plane.metadata.deleting and not waits_for_workers(self._rt.cache, plane, cluster):
            return await self._end(plane, cluster)
        if cluster is None:
            return await self._await_cluster(plane)
        return await self._run(plane, cluster)

    def _refusal(self, plane: HostedControlPlane) -> Refusal | None:
        return refusal(plane, self._observer.claim(plane), self._host.settings.folder)

    async def _refuse(self, plane: HostedControlPlane, refused: Refusal) -> Result | None:
        """Touch nothing, and say why."""
        self._known.pop(plane.metadata.uid, None)
        clock = self._rt.world.clock
        if not plane.metadata.deleting:
            told = status_while_refused(plane, refused, clock)
            await self._api.status(HOSTED_CONTROL_PLANES, plane, told, conditions=CONDITIONS, fields=FIELDS)
            return Result(TRY_AGAIN)
        if FINALIZER not in plane.metadata.finalizers:
            return None
        ended = get(plane.status.conditions, HostedControlPlaneCondition.DELETING)
        # The record goes as the last of all, before the finalizer: an end that was interrupted there is complete.
        complete = ended is not None and ended.reason == HostedControlPlaneReason.DELETION_COMPLETED
        if not complete and (why := waits_for(refused, plane)):
            await self._tell_end(plane, End(False, HostedControlPlaneReason.REMOVING_DATA, why))
            return Result(TRY_AGAIN)
        if not complete:
            self._rt.recorder.warning(HOSTED_CONTROL_PLANES, plane, "DataLeftBehind", refused.message)
        await release(self._rt, self._api, HOSTED_CONTROL_PLANES, plane, FINALIZER)
        return None

    async def _await_cluster(self, plane: HostedControlPlane) -> Result | None:
        """The store is begun with at once: it is started while the Cluster's controller takes ownership."""
        wanted = plane.spec.data_store_ref.name == DEFAULT_DATA_STORE and not plane.store_name
        if wanted and self._observer.store_of(plane) is None:
            await self._apply.make_default_store()
        clock = self._rt.world.clock
        if is_new(plane, clock.now()):
            return Result(OWNED_SOON)
        told = status_without_cluster(plane, clock)
        await self._api.status(HOSTED_CONTROL_PLANES, plane, told, conditions=CONDITIONS, fields=FIELDS)
        return None

    async def _run(self, plane: HostedControlPlane, cluster: Cluster) -> Result | None:
        known = self._known.setdefault(plane.metadata.uid, Known())
        self._nodes.follow(Key.of(cluster))
        seen = await self._observer.observe(plane, cluster, known)
        planned = plan(seen)
        for _ in range(ROUNDS):
            if not planned.actions:
                break
            before = _progress(seen)
            # Who waits is told what is known so far, beside what may take seconds.
            await self._apply.all(seen, planned, *([self._tell(seen, planned)] if planned.takes_long else ()))
            found = self._rt.cache.get(HOSTED_CONTROL_PLANES, Key.of(plane))
            if found is None or found.metadata.uid != plane.metadata.uid:
                return None
            seen = await self._observer.observe(found, cluster, known)
            planned = plan(seen)
            if _progress(seen) == before:
                break  # what was tried did not succeed: it is tried again later
        if planned.set_up:
            await self._apply.set_up(seen)
            seen = await self._observer.observe(seen.plane, cluster, known)
            planned = plan(seen)
        await self._tell(seen, planned)
        return Result(TRY_AGAIN if planned.actions else planned.requeue_after)

    async def _tell(self, seen: Seen, planned: Plan) -> None:
        if not planned.verdicts:
            return
        told = status(seen, planned, self._host.last_words)
        if planned.verdicts[HostedPhase.API_SERVER].done and not seen.initialized:
            note = "The API has answered for the first time."
            self._rt.recorder.normal(HOSTED_CONTROL_PLANES, seen.plane, "ControlPlaneInitialized", note)
        await self._api.status(HOSTED_CONTROL_PLANES, seen.plane, told, conditions=CONDITIONS, fields=FIELDS)

    async def _end(self, plane: HostedControlPlane, cluster: Cluster | None) -> Result | None:
        if FINALIZER not in plane.metadata.finalizers:
            return None
        if cluster is not None:
            self._rt.remotes.forget(Key.of(cluster))
            self._nodes.forget(Key.of(cluster))
        told = get(plane.status.conditions, HostedControlPlaneCondition.DELETING)
        if told is None or told.reason in _BEFORE_THE_END:
            begun = End(False, HostedControlPlaneReason.STOPPING_COMPONENTS, "Its programs are being stopped.")
            await self._tell_end(plane, begun)
        done = await end(self._observer, plane)
        await self._tell_end(plane, done)
        if not done.done:
            return Result(TRY_AGAIN)
        self._known.pop(plane.metadata.uid, None)
        await self._encryption.forget(plane.metadata.uid)
        if done.message:
            self._rt.recorder.warning(HOSTED_CONTROL_PLANES, plane, "DataLeftBehind", done.message)
        await self._host.remove_folder(plane.tenant_id)
        await release(self._rt, self._api, HOSTED_CONTROL_PLANES, plane, FINALIZER)
        return None

    async def _tell_end(self, plane: HostedControlPlane, done: End) -> None:
        told = status_while_deleting(plane, done, self._rt.world.clock)
        await self._api.status(HOSTED_CONTROL_PLANES, plane, told, conditions=CONDITIONS, fields=FIELDS)

    async def _begin(self) -> None:
        """Take this machine, the first time, and stop what belongs to nobody."""
        await self._host.start()
        async with self._strangers:
            if not self._strangers_ended:
                cache = self._rt.cache
                tenants = {each.tenant_id for each in cache.list(HOSTED_CONTROL_PLANES)}
                await self._host.end_strangers(tenants | {each.store_id for each in cache.list(DATA_STORES)})
                self._strangers_ended = True

    async def _stop(self) -> None:
        await self._encryption.close()
        await self._keepers.close()
        await self._host.close()

    def _heard(self, uid: str, event: Event) -> None:
        named = self._rt.cache.by(HOSTED_CONTROL_PLANES, BY_TENANT, uid)
        planes = [each for each in named if not self._observer.claim(each).refused]
        for plane in planes:
            self._record(plane, event)
            cluster = self._observer.cluster_of(plane)
            if isinstance(event, Ready) and cluster is not None:
                self._rt.remotes.hurry(Key.of(cluster))
        self.controller.look_at(Key.of(each) for each in planes)

    def _record(self, plane: HostedControlPlane, event: Event) -> None:
        program = program_of(event.name)
        note = str(event).replace(event.name, program)
        recorder = self._rt.recorder
        if isinstance(event, Exited | NotStarted):
            recorder.warning(HOSTED_CONTROL_PLANES, plane, "ComponentEnded", note)
        elif isinstance(event, Started | Ready):
            recorder.normal(HOSTED_CONTROL_PLANES, plane, f"Component{type(event).__name__}", note)

    def _store_reached(self, uid: str) -> None:
        names = [each.metadata.name for each in self._rt.cache.list(DATA_STORES) if each.metadata.uid == uid]
        for name in names:
            self.controller.look_at(Key.of(each) for each in self._rt.cache.by(HOSTED_CONTROL_PLANES, BY_STORE, name))

    def _cluster_changed(self, key: Key) -> None:
        cluster = self._rt.cache.get(CLUSTERS, key) if self._rt.cache.has(CLUSTERS) else None
        if cluster is not None:
            self.controller.look_at(plane_of(cluster))

    def _node_changed(self, key: Key, change: Change[Node]) -> None:
        cluster = self._rt.cache.get(CLUSTERS, key)
        if cluster is not None and is_news(change):
            self.controller.look_at(waits_for_nodes(self._rt.cache, cluster))

    def _look_at_all(self) -> None:
        self.controller.look_at(Key.of(each) for each in self._rt.cache.list(HOSTED_CONTROL_PLANES))


def _progress(seen: Seen) -> tuple[object, ...]:
    """All that actions change: if it is the same afterwards, they have not come further."""
    known = seen.known
    return (
        seen.plane.metadata.finalizers,
        seen.recorded,
        seen.plane.spec.control_plane_endpoint,
        seen.plane.status.data_store,
        seen.store is None,
        seen.authorities_plan.verdict,
        seen.authorities_plan.adopt,
        (seen.kubeconfig_plan.write, seen.kubeconfig_plan.owners),
        (known.store, known.store_due),
        known.files,
        tuple(sorted(seen.started.items(), key=lambda each: each[0])),
        tuple((status.name, status.state, status.digest) for status in seen.processes.values()),
    )


def controller(rt: Runtime, host: Host, stores: Stores, reader: SecretReader, keys: Keys) -> Controller:
    """The controller, to be run by a manager."""
    return HostedControlPlanes(rt, host, stores, reader, keys).controller
