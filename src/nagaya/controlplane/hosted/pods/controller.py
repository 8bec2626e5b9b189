"""The HostedControlPlane controller of Kubernetes mode: tenants are pods of the management cluster.

Each look reads what is there, plans, acts, and looks again as long as what it did lets it go on. What always holds: a
control plane that is paused is only told that it is, and its pods go on; one that is deleted keeps its finalizer until
its pods have ended and its data is removed; one that came by a move, whose programs run on a machine, is told so and
nothing else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.pause import why_paused
from nagaya.api.controlplane.data_store import DATA_STORES
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason, HostedPhase
from nagaya.api.controlplane.hosted_control_plane import FINALIZER, HOSTED_CONTROL_PLANES, HostedControlPlane
from nagaya.clusters.certificates.key_maker import Keys
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.clusters.external import keep
from nagaya.clusters.finalizer import release
from nagaya.clusters.node import Node
from nagaya.clusters.pause import status_while_paused
from nagaya.clusters.tenant_nodes import TenantNodes
from nagaya.controlplane.hosted.control_plane.deletion import End
from nagaya.controlplane.hosted.control_plane.encryption import EncryptionSecrets
from nagaya.controlplane.hosted.control_plane.kubelets import is_news
from nagaya.controlplane.hosted.control_plane.names import MANAGER
from nagaya.controlplane.hosted.control_plane.refusal import Refusal, refusal_in_pods, waits_for
from nagaya.controlplane.hosted.control_plane.status import (
    OWNED_SOON,
    is_new,
    status_while_deleting,
    status_while_refused,
    status_without_cluster,
)
from nagaya.controlplane.hosted.control_plane.watches import plane_of, waits_for_nodes, watches
from nagaya.controlplane.hosted.control_plane.workers import OfMachine, waits_for_workers
from nagaya.controlplane.hosted.data_store_controller.seen import BY_STORE, add_index
from nagaya.controlplane.hosted.data_store_controller.stores import Stores
from nagaya.controlplane.hosted.kubernetes import kinds
from nagaya.controlplane.hosted.phases import TRY_AGAIN
from nagaya.controlplane.hosted.pods.apply import Apply
from nagaya.controlplane.hosted.pods.deletion import end
from nagaya.controlplane.hosted.pods.known import Known
from nagaya.controlplane.hosted.pods.management_api import management_cidrs
from nagaya.controlplane.hosted.pods.plan import Plan, plan
from nagaya.controlplane.hosted.pods.seen import PODS, Observer, OfPods, Seen, keep_objects
from nagaya.controlplane.hosted.pods.settings import PodSettings
from nagaya.controlplane.hosted.pods.status import CONDITIONS, FIELDS, status
from nagaya.controlplane.hosted.tenant.keepers import Keepers
from nagaya.kube.cache.change import Change
from nagaya.kube.controller import Controller, Result, Watch
from nagaya.kube.key import Key
from nagaya.kube.mapping import owner
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS, follow_secrets

ROUNDS: Final = 8
"""How often one reconcile plans anew at most because what it did lets it go on."""


class HostedControlPlanes:
    """Looks after HostedControlPlanes."""

    def __init__(self, rt: Runtime, stores: Stores, reader: SecretReader, keys: Keys, settings: PodSettings) -> None:
        self._rt = rt
        self._known: dict[str, Known] = {}
        self._api = rt.api(MANAGER)
        self._encryption = EncryptionSecrets(rt.client, rt.world, lambda key: self.controller.look_at((key,)))
        self._observer = Observer(rt, stores, reader, settings, self._encryption)
        self._nodes = TenantNodes(rt.remotes, MANAGER, self._node_changed, self._cluster_changed)
        self._keepers = Keepers(rt.remotes, rt.world, self._cluster_changed)
        self._apply = Apply(self._observer, self._api, keys, self._keepers)
        if not rt.cache.has(TENANT_SECRETS):
            follow_secrets(rt.cache, rt.remotes)
        keep(rt.cache, (CLUSTERS, HOSTED_CONTROL_PLANES))
        add_index(rt.cache)
        keep_objects(rt.cache)
        of_objects = tuple(Watch(kind, owner(HOSTED_CONTROL_PLANES)) for kind in kinds.ALL)
        self.controller = Controller(
            "hostedcontrolplane",
            HOSTED_CONTROL_PLANES,
            self.reconcile,
            watches=(
                *watches(rt.cache),
                *of_objects,
                Watch(PODS, OfPods(rt.cache)),
                Watch(MACHINES, OfMachine(rt.cache)),
            ),
            on_stop=self._stop,
        )
        stores.subscribe(self._store_reached)
        rt.remotes.subscribe(self._cluster_changed)

    async def reconcile(self, key: Key) -> Result | None:
        """Look at one control plane."""
        plane = self._rt.cache.get(HOSTED_CONTROL_PLANES, key)
        if plane is None:
            return None
        cluster, clock = self._observer.cluster_of(plane), self._rt.world.clock
        if why := why_paused(cluster, plane, HOSTED_CONTROL_PLANES.kind):
            # What happens meanwhile is not known: a backup may be restored.
            self._known.pop(plane.metadata.uid, None)
            paused = status_while_paused(plane, why, clock.now())
            await self._api.status(HOSTED_CONTROL_PLANES, plane, paused, conditions=CONDITIONS, fields=FIELDS)
            return None
        if refused := refusal_in_pods(plane):
            return await self._refuse(plane, refused)
        if plane.metadata.deleting and not waits_for_workers(self._rt.cache, plane, cluster):
            return await self._end(plane, cluster)
        if cluster is None and is_new(plane, clock.now()):
            return Result(OWNED_SOON)
        if cluster is None:
            told = status_without_cluster(plane, clock)
            await self._api.status(HOSTED_CONTROL_PLANES, plane, told, conditions=CONDITIONS, fields=FIELDS)
            return None
        return await self._run(plane, cluster)

    async def _refuse(self, plane: HostedControlPlane, refused: Refusal) -> Result | None:
        """Touch nothing, and say why."""
        clock = self._rt.world.clock
        if not plane.metadata.deleting:
            told = status_while_refused(plane, refused, clock)
            await self._api.status(HOSTED_CONTROL_PLANES, plane, told, conditions=CONDITIONS, fields=FIELDS)
            return None
        if FINALIZER not in plane.metadata.finalizers:
            return None
        if why := waits_for(refused, plane):
            await self._tell_end(plane, End(False, HostedControlPlaneReason.REMOVING_DATA, why))
            return None
        self._rt.recorder.warning(HOSTED_CONTROL_PLANES, plane, "DataLeftBehind", refused.message)
        await release(self._rt, self._api, HOSTED_CONTROL_PLANES, plane, FINALIZER)
        return None

    async def _run(self, plane: HostedControlPlane, cluster: Cluster) -> Result | None:
        if self._observer.settings.management_cidrs is None:
            found_out = await management_cidrs(self._rt.client)
            self._observer.settings = replace(self._observer.settings, management_cidrs=found_out)
        known = self._known.setdefault(plane.metadata.uid, Known())
        known.strangers.clear()  # they may be gone
        self._nodes.follow(Key.of(cluster))
        seen = await self._observer.observe(plane, cluster, known)
        planned = plan(seen)
        for _ in range(ROUNDS):
            if not planned.actions:
                break
            await self._apply.all(seen, planned)
            found = self._rt.cache.get(HOSTED_CONTROL_PLANES, Key.of(plane))
            if found is None or found.metadata.uid != plane.metadata.uid:
                return None
            seen = await self._observer.observe(found, cluster, known)
            before, planned = planned, plan(seen)
            if planned.actions == before.actions:
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
        if planned.verdicts[HostedPhase.API_SERVER].done and not seen.initialized:
            note = "The API has answered for the first time."
            self._rt.recorder.normal(HOSTED_CONTROL_PLANES, seen.plane, "ControlPlaneInitialized", note)
        told = status(seen, planned)
        await self._api.status(HOSTED_CONTROL_PLANES, seen.plane, told, conditions=CONDITIONS, fields=FIELDS)

    async def _end(self, plane: HostedControlPlane, cluster: Cluster | None) -> Result | None:
        if FINALIZER not in plane.metadata.finalizers:
            return None
        if cluster is not None:
            self._rt.remotes.forget(Key.of(cluster))
            self._nodes.forget(Key.of(cluster))
        done = await end(self._observer, self._api, plane)
        await self._tell_end(plane, done)
        if not done.done:
            return Result(TRY_AGAIN)
        self._known.pop(plane.metadata.uid, None)
        await self._encryption.forget(plane.metadata.uid)
        if done.message:
            self._rt.recorder.warning(HOSTED_CONTROL_PLANES, plane, "DataLeftBehind", done.message)
        await release(self._rt, self._api, HOSTED_CONTROL_PLANES, plane, FINALIZER)
        return None

    async def _tell_end(self, plane: HostedControlPlane, done: End) -> None:
        told = status_while_deleting(plane, done, self._rt.world.clock)
        await self._api.status(HOSTED_CONTROL_PLANES, plane, told, conditions=CONDITIONS, fields=FIELDS)

    async def _stop(self) -> None:
        await self._encryption.close()
        await self._keepers.close()

    def _node_changed(self, key: Key, change: Change[Node]) -> None:
        cluster = self._rt.cache.get(CLUSTERS, key)
        if cluster is not None and is_news(change):
            self.controller.look_at(waits_for_nodes(self._rt.cache, cluster))

    def _store_reached(self, uid: str) -> None:
        names = [each.metadata.name for each in self._rt.cache.list(DATA_STORES) if each.metadata.uid == uid]
        for name in names:
            self.controller.look_at(Key.of(each) for each in self._rt.cache.by(HOSTED_CONTROL_PLANES, BY_STORE, name))

    def _cluster_changed(self, key: Key) -> None:
        cluster = self._rt.cache.get(CLUSTERS, key) if self._rt.cache.has(CLUSTERS) else None
        if cluster is not None:
            self.controller.look_at(plane_of(cluster))


def controller(rt: Runtime, stores: Stores, reader: SecretReader, keys: Keys, pods: PodSettings) -> Controller:
    """The controller, to be run by a manager."""
    return HostedControlPlanes(rt, stores, reader, keys, pods).controller
