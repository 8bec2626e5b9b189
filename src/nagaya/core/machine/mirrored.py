"""What a provider says of its own object, said of the Machine."""

from __future__ import annotations

import msgspec

from nagaya.api.cluster.machine_conditions import MachineReason
from nagaya.api.cluster.provider_conditions import ProviderCondition
from nagaya.api.contract.provider import Provider
from nagaya.api.meta import Condition
from nagaya.kube.conditions import condition, conditions_of, mirror
from nagaya.kube.conditions.untyped import NO_REASON


def mirrored(provider: Provider, fallback: Condition) -> Condition:
    """The condition Ready of a provider's object as one of the Machine, of the type of the fallback."""
    try:
        ready = mirror(conditions_of(provider.object), ProviderCondition.READY, target=fallback.type, fallback=fallback)
    except ValueError as error:
        return condition(fallback.type, "Unknown", MachineReason.INVALID_CONDITION_REPORTED, str(error))
    if ready.reason == NO_REASON and ready.status == "True":
        # Providers of older contracts give no reason for good news.
        return msgspec.structs.replace(ready, reason=MachineReason.READY)
    return ready
