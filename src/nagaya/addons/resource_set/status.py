"""What a ClusterResourceSet says of itself."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from nagaya.addons.resource_set.errands import Returned
from nagaya.addons.resource_set.plan import Plan
from nagaya.addons.resource_set.seen import Seen
from nagaya.api.addons.cluster_resource_set import (
    APPLIED,
    INTERNAL_ERROR,
    NOT_APPLIED,
    RESOURCES_APPLIED,
    WRONG_SECRET_TYPE,
    ClusterResourceSet,
    ClusterResourceSetStatus,
)
from nagaya.api.cluster.pause import CONDITION as PAUSED_CONDITION
from nagaya.api.meta import Condition
from nagaya.clusters.conditions import with_conditions
from nagaya.clusters.pause import NOT_PAUSED
from nagaya.kube.conditions import Conditions, condition, get

CONDITIONS: Final = (RESOURCES_APPLIED, PAUSED_CONDITION)
FIELDS: Final = ("observedGeneration",)
_CHECK_THE_LOGS: Final = "Please check controller logs for errors"


def status(seen: Seen, plan: Plan, returned: Returned, now: datetime) -> ClusterResourceSetStatus:
    """The status after all errands that could be done in a moment. One without a failure stands for the generation."""
    before = seen.resource_set.status
    told = [NOT_PAUSED]
    if (applied := resources_applied(seen, plan, returned)) is not None:
        told.append(applied)
    complete = not returned.problems and not plan.wrong_type
    return msgspec.structs.replace(
        before,
        conditions=_with(seen.resource_set, told, now),
        observed_generation=seen.resource_set.metadata.generation if complete else before.observed_generation,
    )


def status_of_unusable(resource_set: ClusterResourceSet, now: datetime) -> ClusterResourceSetStatus:
    """The status of a set whose selector cannot be understood."""
    told = condition(RESOURCES_APPLIED, False, INTERNAL_ERROR, _CHECK_THE_LOGS)
    return msgspec.structs.replace(resource_set.status, conditions=_with(resource_set, (NOT_PAUSED, told), now))


def resources_applied(seen: Seen, plan: Plan, returned: Returned) -> Condition | None:
    """Whether all clusters have everything; as it was before while there is no cluster or not all is known."""
    if plan.wrong_type:
        message = f"Secret type of resource {plan.wrong_type[0].name} is not supported"
        return condition(RESOURCES_APPLIED, False, WRONG_SECRET_TYPE, message)
    if returned.problems:
        message = "Failed to apply ClusterResourceSet resources to Cluster"
        return condition(RESOURCES_APPLIED, False, NOT_APPLIED, message)
    if plan.missing or plan.unreachable:
        return condition(RESOURCES_APPLIED, False, INTERNAL_ERROR, _CHECK_THE_LOGS)
    if not seen.sites or returned.under_way:
        return get(seen.resource_set.status.conditions, RESOURCES_APPLIED)
    return condition(RESOURCES_APPLIED, True, APPLIED)


def _with(resource_set: ClusterResourceSet, told: Iterable[Condition], now: datetime) -> Conditions:
    generation = resource_set.metadata.generation
    return with_conditions(resource_set.status.conditions, told, now=now, generation=generation)
