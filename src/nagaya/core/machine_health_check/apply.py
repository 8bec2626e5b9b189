"""What a plan says, done: one write for each machine of which there is news.

Machines do not wait for each other, and a failure with one does not keep the others from being told.

Two field managers are used for the same conditions. Whoever is to remediate a machine changes the condition that
handed it over, and a manager that applies again without a condition it once applied removes that. So handing over is
done under a name of its own, which is never used for anything less.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import msgspec

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.api.cluster.machine_health_check import MACHINE_HEALTH_CHECKS, MachineHealthCheck
from nagaya.api.meta import Condition
from nagaya.clusters.conditions import with_conditions
from nagaya.clusters.owners import owner, with_owner
from nagaya.core.machine_health_check.plan import Plan, Step
from nagaya.core.machine_health_check.seen import Seen
from nagaya.kube.api import Api
from nagaya.kube.conditions import condition
from nagaya.kube.errors import AlreadyExists, ApiError
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import NoAnswer

log = logging.getLogger(__name__)

MANAGER: Final = "nagaya-machinehealthcheck"
HANDING_OVER: Final = "nagaya-machinehealthcheck-remediation"
MARKED_UNHEALTHY: Final = "MachineMarkedUnhealthy"
AT_ONCE: Final = 16
"""Machines of one check that are written to at the same time."""

Failure = ApiError | NoAnswer


class Apply:
    """Carries out plans for MachineHealthChecks."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._api = rt.api(MANAGER)
        self._handing_over = rt.api(HANDING_OVER)

    async def belong(self, check: MachineHealthCheck, cluster: Cluster) -> MachineHealthCheck:
        """Tie a check to its cluster: it goes with it, and is found by it."""
        owners = with_owner(check.metadata.owner_references, owner(CLUSTERS, cluster))
        return await self._api.metadata(
            MACHINE_HEALTH_CHECKS, check, labels={labels.CLUSTER_NAME: check.spec.cluster_name}, owners=owners
        )

    async def all(self, seen: Seen, plan: Plan) -> list[Failure]:
        """Do everything. Returns what could not be done."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(step: Step) -> Failure | None:
            async with gate:
                try:
                    return await self._one(seen, step)
                except (ApiError, NoAnswer) as error:
                    return error

        results = await asyncio.gather(*map(one, plan.steps))
        return [each for each in results if each is not None]

    async def _one(self, seen: Seen, step: Step) -> Failure | None:
        kind = None if seen.external is None else seen.external.request_kind
        remedy, failure = step.remedy, None
        if step.obsolete is not None:
            assert kind is not None
            await self._api.delete(kind, step.obsolete)
        if step.request is not None:
            assert kind is not None
            try:
                await self._api.create(kind, step.request)
            except AlreadyExists:
                log.debug("the remediation of Machine %s is requested already", Key.of(step.machine))
            except ApiError as error:
                failure = error
                remedy = _creation_failed()
        if await self._tell(seen, step, remedy):
            log.info("MachineHealthCheck %s: %s", Key.of(seen.check), step.why)
        return failure

    async def _tell(self, seen: Seen, step: Step, remedy: Condition | None) -> bool:
        """Write the conditions of a machine, if they are news."""
        machine = step.machine
        told = [step.health] if remedy is None else [step.health, remedy]
        before = machine.status.conditions
        after = with_conditions(before, told, now=seen.now, generation=machine.metadata.generation)
        if after is before:
            return False
        api: Api = self._api if remedy is None else self._handing_over
        content = {"conditions": msgspec.to_builtins(after)}
        await api.status(MACHINES, machine, content, conditions=[each.type for each in told])
        if step.announced:
            note = f"Machine {Key.of(machine)} has been marked as unhealthy by {Key.of(seen.check)}"
            self._rt.recorder.normal(MACHINES, machine, MARKED_UNHEALTHY, note)
        return True


def _creation_failed() -> Condition:
    return condition(
        MachineCondition.EXTERNALLY_REMEDIATED,
        False,
        MachineReason.REMEDIATION_REQUEST_CREATION_FAILED,
        "Please check controller logs for errors",
    )
