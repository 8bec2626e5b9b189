"""The KubeadmControlPlane controller: as many machines as declared, all as declared, one change at a time.

Each look reads everything from the cache, asks the tenant once, plans, acts and tells. What always holds: a control
plane that is paused is only told that it is; one that is deleted keeps its finalizer until its last machine is gone;
and a tenant that does not answer keeps nothing waiting that does not need it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.name_template import TemplateError
from nagaya.api.cluster.pause import why_paused
from nagaya.api.controlplane.kubeadm_control_plane import (
    KUBEADM_CONTROL_PLANES,
    KubeadmControlPlane,
    KubeadmControlPlaneStatus,
)
from nagaya.api.controlplane.names import FINALIZER
from nagaya.clusters.external import listed
from nagaya.clusters.finalizer import release
from nagaya.clusters.pause import status_while_paused
from nagaya.controlplane.kubeadm.apply import Apply
from nagaya.controlplane.kubeadm.certificates_port import Certificates, CertificatesSeen
from nagaya.controlplane.kubeadm.control_plane import ControlPlane
from nagaya.controlplane.kubeadm.decision import PREFLIGHT_RETRY
from nagaya.controlplane.kubeadm.health.examine import examine
from nagaya.controlplane.kubeadm.hosts import kinds_of
from nagaya.controlplane.kubeadm.machine_content import MANAGER, fingerprint
from nagaya.controlplane.kubeadm.plan import Plan, plan
from nagaya.controlplane.kubeadm.seen import Seen, add_indexes, cluster_of, observe, question
from nagaya.controlplane.kubeadm.status import FIELDS, owned_conditions, seconds_until_news, status
from nagaya.controlplane.kubeadm.watches import OfTemplate, watches
from nagaya.controlplane.kubeadm.workload_port import Workload, WorkloadError, Workloads
from nagaya.kube.controller import SETTLE, Controller, Result
from nagaya.kube.errors import ApiError, Conflict
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.status_change import News
from nagaya.kube.tenant_secrets import TENANT_SECRETS, follow_secrets

log = logging.getLogger(__name__)

ROUNDS: Final = 4
"""How often one reconcile plans anew at most because what it did lets it go on: finalizer, certificates, kubeconfig."""
TIMEOUT: Final = 120.0
"""Seconds that one reconcile may take: etcd is asked through a tenant that may be slow."""
AGAIN: Final = Result()
"""What a round returns instead of its result if there is more to do at once."""
LOOK_TIMEOUT: Final = 30.0
"""Seconds after which a tenant that is being looked at counts as one that cannot be reached."""


class KubeadmControlPlanes:
    """Looks after KubeadmControlPlanes."""

    def __init__(self, rt: Runtime, certificates: Certificates, workloads: Workloads) -> None:
        self._rt = rt
        self._certificates = certificates
        self._workloads = workloads
        self._api = rt.api(MANAGER)
        self._apply = Apply(rt, certificates)
        self._said: dict[Key, int] = {}  # what machines were last brought in line with, as a fingerprint
        if not rt.cache.has(TENANT_SECRETS):
            follow_secrets(rt.cache, rt.remotes)
        add_indexes(rt.cache)
        self.controller = Controller(
            "kubeadmcontrolplane",
            KUBEADM_CONTROL_PLANES,
            self.reconcile,
            watches=watches(rt.cache),
            settle=SETTLE,
            timeout=TIMEOUT,
            on_stop=workloads.close,
        )
        workloads.on_change(self._tenant_changed)

    async def reconcile(self, key: Key) -> Result | None:
        """Look at one control plane."""
        for rounds_left in reversed(range(ROUNDS)):
            kcp = self._rt.cache.get(KUBEADM_CONTROL_PLANES, key)
            if kcp is None:
                self._said.pop(key, None)
                return None
            cluster = cluster_of(self._rt.cache, kcp)
            if cluster is None:
                await self._without_cluster(kcp)
                return None
            if why := why_paused(cluster, kcp, KUBEADM_CONTROL_PLANES.kind):
                paused = status_while_paused(kcp, why, self._rt.world.clock.now())
                await self._api.status(
                    KUBEADM_CONTROL_PLANES, kcp, paused, conditions=owned_conditions(kcp), fields=FIELDS
                )
                return None
            result = await self._once(kcp, cluster, last=not rounds_left)
            if result is not AGAIN:
                return result
        return None

    async def _once(self, kcp: KubeadmControlPlane, cluster: Cluster, *, last: bool) -> Result | None:
        """One round. AGAIN if there is more to do at once, which is left for later in the last round."""
        await self._follow_providers(kcp)
        if cluster.status.initialization.infrastructure_provisioned:
            self._rt.remotes.want(Key.of(cluster))
        workload = self._workloads.get(cluster, kcp)
        seen = await self._look(kcp, cluster, workload)
        plane = examine(seen)
        planned = plan(plane)
        if planned.problem:
            log.warning("KubeadmControlPlane %s: %s", Key.of(kcp), planned.why)
        else:
            log.debug("KubeadmControlPlane %s: %s", Key.of(kcp), planned.why)
        failure = await self._act(seen, planned, workload)
        if planned.again and failure is None and not last:
            return AGAIN
        after = self._look_again(seen, planned)
        if after is None:
            return None
        complete = failure is None and not planned.problem and not plane.problem
        told = status(after, planned, complete=complete)
        tell_after = await self._tell(after.kcp, told)
        if failure is not None:
            raise failure
        waits = [planned.requeue_after, seconds_until_news(after, told), _until(seen)]
        if planned.again:
            waits.append(PREFLIGHT_RETRY)
        return Result(min((each for each in waits if each is not None), default=None), tell_after)

    async def _act(self, seen: Seen, planned: Plan, workload: Workload | None) -> Exception | None:
        """Do what is planned. Returns what went wrong, so that it can be told what is known nevertheless."""
        key = Key.of(seen.kcp)
        # Until all is done it is unknown what the machines are in line with.
        self._said.pop(key, None)
        try:
            await self._apply.all(seen, planned, workload)
        except Conflict:
            raise  # somebody else wrote first; what is seen here is old
        except (ApiError, WorkloadError, TemplateError) as error:
            return error
        if planned.propagated:
            self._said[key] = fingerprint(seen.kcp, seen.cluster.metadata.name)
        return None

    async def _look(self, kcp: KubeadmControlPlane, cluster: Cluster, workload: Workload | None) -> Seen:
        """Everything there is to see. The tenant is asked only once there may be one."""
        provisioned = cluster.status.initialization.infrastructure_provisioned
        if provisioned and not kcp.metadata.deleting:
            certificates = await self._certificates.look(cluster, kcp)
        else:
            certificates = CertificatesSeen()
        settled = kcp.status.observed_generation == kcp.metadata.generation
        settled = settled or self._said.get(Key.of(kcp)) == fingerprint(kcp, cluster.metadata.name)
        seen = observe(self._rt, kcp, cluster, certificates, settled=settled)
        if workload is None or not seen.machines:
            return seen
        try:
            async with asyncio.timeout(LOOK_TIMEOUT):
                return replace(seen, tenant=await workload.look(question(seen)))
        except TimeoutError:
            log.warning("KubeadmControlPlane %s: its tenant did not answer within %g s", Key.of(kcp), LOOK_TIMEOUT)
            return seen

    def _look_again(self, before: Seen, planned: Plan) -> ControlPlane | None:
        """The control plane after what was done, with what the tenant said before. None if it is gone, or another one
        has its name."""
        cache = self._rt.cache
        kcp = cache.get(KUBEADM_CONTROL_PLANES, Key.of(before.kcp))
        if kcp is None or kcp.metadata.uid != before.kcp.metadata.uid:
            return None
        if not planned.actions:
            return examine(replace(before, kcp=kcp))
        certificates = CertificatesSeen(before.authorities, before.kubeconfig, before.renewal)
        cluster = cache.get(CLUSTERS, Key.of(before.cluster)) or before.cluster
        seen = observe(self._rt, kcp, cluster, certificates, settled=True)
        return examine(replace(seen, tenant=before.tenant))

    async def _tell(self, kcp: KubeadmControlPlane, told: KubeadmControlPlaneStatus) -> float | None:
        """Tell what is news. Returns after how many seconds the rest is to be told."""
        owned = owned_conditions(kcp)
        news = News(fields=("initialization.controlPlaneInitialized",), turns=("observedGeneration",), conditions=owned)
        return await self._api.news(KUBEADM_CONTROL_PLANES, kcp, told, news, conditions=owned, fields=FIELDS)

    async def _without_cluster(self, kcp: KubeadmControlPlane) -> None:
        """Nothing is done before the Cluster owns it. One that outlived its Cluster goes when its machines have."""
        key = Key.of(kcp)
        if not kcp.metadata.deleting or FINALIZER not in kcp.metadata.finalizers:
            log.info("KubeadmControlPlane %s waits until a Cluster owns it", key)
        elif self._rt.cache.owned(MACHINES, kcp.metadata.uid):
            log.warning("KubeadmControlPlane %s has machines, but no Cluster: it waits until they are deleted", key)
        else:
            await release(self._rt, self._api, KUBEADM_CONTROL_PLANES, kcp, FINALIZER)

    async def _follow_providers(self, kcp: KubeadmControlPlane) -> None:
        """Have the kinds of providers in the cache: an empty one would look as if nothing existed."""
        rt = self._rt
        machines = rt.cache.owned(MACHINES, kcp.metadata.uid)
        kinds = kinds_of(rt, kcp, machines)
        reference = kcp.spec.machine_template.spec.infrastructure_ref
        for kind in kinds:
            if (kind.group, kind.kind) == (reference.api_group, reference.kind):
                self.controller.watch(kind, OfTemplate(rt.cache))
        if not kcp.metadata.deleting:
            await listed(rt.cache, kinds)

    def _tenant_changed(self, cluster: Key) -> None:
        self.controller.look_at(self._of_cluster(cluster))

    def _of_cluster(self, key: Key) -> Iterable[Key]:
        cluster = self._rt.cache.get(CLUSTERS, key)
        reference = None if cluster is None else cluster.spec.control_plane_ref
        if reference is not None and reference.kind == KUBEADM_CONTROL_PLANES.kind:
            yield Key(key.namespace, reference.name)


def _until(seen: Seen) -> float | None:
    """When a certificate is to be renewed, in seconds."""
    return None if seen.renewal is None else max((seen.renewal - seen.now).total_seconds(), 1.0)


def controller(rt: Runtime, certificates: Certificates, workloads: Workloads) -> Controller:
    """The controller, to be run by a manager."""
    return KubeadmControlPlanes(rt, certificates, workloads).controller
