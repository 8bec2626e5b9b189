"""The MachineHealthCheck controller: find machines that do not work, and hand them over.

It writes to nothing but the checks, the conditions of Machines that are its own, and remediation requests; it never
deletes a Machine. What always holds: nothing is said of a machine whose cluster cannot be seen, and the next look is
taken when the next machine may run out of time.
"""

from __future__ import annotations

import logging
from typing import Final

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_health_check import (
    MACHINE_HEALTH_CHECKS,
    MachineHealthCheck,
    MachineHealthCheckCondition,
    MachineHealthCheckStatus,
)
from nagaya.api.cluster.pause import why_paused
from nagaya.clusters.external import listed
from nagaya.clusters.failures import worst
from nagaya.clusters.pause import status_while_paused
from nagaya.core.machine_health_check.apply import MANAGER, Apply
from nagaya.core.machine_health_check.external import RemediationKinds
from nagaya.core.machine_health_check.plan import Plan, plan
from nagaya.core.machine_health_check.seen import observe
from nagaya.core.machine_health_check.status import CONDITIONS, FIELDS, status, status_while_blind
from nagaya.core.machine_health_check.tenants import Tenants
from nagaya.core.machine_health_check.verdict import control_plane_initialized
from nagaya.core.machine_health_check.watches import Checks, ChecksOfTemplate
from nagaya.kube.conditions import get
from nagaya.kube.contract_kinds import DEFINITIONS
from nagaya.kube.controller import Controller, Result, Watch
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

RESTRICTED: Final = "RemediationRestricted"


def controller(rt: Runtime) -> Controller:
    """The controller, to be run by a manager with the same cache."""
    return MachineHealthChecks(rt).controller


class MachineHealthChecks:
    """Looks after MachineHealthChecks."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._api = rt.api(MANAGER)
        self._apply = Apply(rt)
        self._kinds = RemediationKinds(rt.cache)
        checks = Checks(rt.cache)
        self.controller = Controller(
            "machinehealthcheck",
            MACHINE_HEALTH_CHECKS,
            self.reconcile,
            watches=(
                Watch(MACHINES, checks.of_machine),
                Watch(CLUSTERS, checks.of_cluster),
                Watch(DEFINITIONS, checks.of_definition),
            ),
        )
        self._tenants = Tenants(rt.remotes, checks, self.controller.look_at)

    async def reconcile(self, key: Key) -> Result | None:
        """Look at one check and its machines."""
        check = self._rt.cache.get(MACHINE_HEALTH_CHECKS, key)
        if check is None:
            return None
        cluster = self._rt.cache.get(CLUSTERS, Key(key.namespace, check.spec.cluster_name))
        if cluster is None:
            log.info("MachineHealthCheck %s waits for Cluster %s to exist", key, check.spec.cluster_name)
            return None
        if why := why_paused(cluster, check, MACHINE_HEALTH_CHECKS.kind):
            await self._tell(check, status_while_paused(check, why, self._rt.world.clock.now()))
            return None
        check = await self._apply.belong(check, cluster)
        if control_plane_initialized(cluster):
            self._tenants.follow(Key.of(cluster))
        await self._follow_remediation(check)
        seen = observe(self._rt, self._kinds, check, cluster)
        if seen.blind:
            log.debug("MachineHealthCheck %s waits for the Nodes of Cluster %s", key, cluster.metadata.name)
            if self._rt.remotes.get(Key.of(cluster)) is None:  # else they are being listed: a moment
                await self._tell(check, status_while_blind(check, seen.now))
            return None
        planned = plan(seen)
        failures = await self._apply.all(seen, planned)
        told = status(seen, planned, check, complete=not failures)
        await self._tell(check, told)
        self._announce(check, told, planned)
        if failures:
            raise worst(failures, "several machines could not be told")
        return None if planned.again_after is None else Result(planned.again_after.total_seconds())

    async def _tell(self, check: MachineHealthCheck, told: MachineHealthCheckStatus) -> None:
        await self._api.status(MACHINE_HEALTH_CHECKS, check, told, conditions=CONDITIONS, fields=FIELDS)

    def _announce(self, check: MachineHealthCheck, told: MachineHealthCheckStatus, planned: Plan) -> None:
        """An event, when unhealthy machines are left alone from now on or there are others than before."""
        if planned.allowance.allowed or not planned.unhealthy:
            return
        type = MachineHealthCheckCondition.REMEDIATION_ALLOWED
        before, after = get(check.status.conditions, type), get(told.conditions, type)
        if before is None or after is None or before.message != after.message:
            self._rt.recorder.warning(MACHINE_HEALTH_CHECKS, check, RESTRICTED, planned.allowance.message)

    async def _follow_remediation(self, check: MachineHealthCheck) -> None:
        """Have the templates and requests of external remediation in the cache: absent must mean that they are."""
        reference = check.spec.remediation.template_ref
        if reference is None:
            return
        cache = self._rt.cache
        template, request = self._kinds.template(reference), self._kinds.request(reference)
        if template is not None:
            self.controller.watch(template, ChecksOfTemplate(cache, f"{template.kind}.{template.group}"))
        await listed(cache, [kind for kind in (template, request) if kind is not None])
