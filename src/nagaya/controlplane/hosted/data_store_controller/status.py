"""What a DataStore tells: whether it answers, who has data there, and whether it goes."""

from __future__ import annotations

from typing import Final

from nagaya.api.controlplane.data_store import DataStoreStatus
from nagaya.api.controlplane.data_store_conditions import DataStoreCondition, DataStoreReason
from nagaya.api.meta import Condition
from nagaya.clusters.conditions import with_conditions
from nagaya.clusters.names import listed
from nagaya.clusters.pause import NOT_PAUSED
from nagaya.controlplane.hosted.data_store.driver import Health
from nagaya.controlplane.hosted.data_store_controller.seen import Seen
from nagaya.kube.conditions import condition

CONDITIONS: Final = tuple(DataStoreCondition)
FIELDS: Final = ("ready", "version", "usedBy", "observedGeneration")
_SHOWN: Final = 3


def status(seen: Seen, health: Health) -> DataStoreStatus:
    """The status of a store, by what it said just now."""
    present, metadata = seen.store.status, seen.store.metadata
    told = (ready(health), deleting(seen), NOT_PAUSED)
    return DataStoreStatus(
        conditions=with_conditions(present.conditions, told, now=seen.now, generation=metadata.generation),
        ready=health.is_ready,
        version=health.version or present.version,
        used_by=seen.used_by,
        observed_generation=metadata.generation,
    )


def ready(health: Health) -> Condition:
    """Whether the store answers."""
    return condition(DataStoreCondition.READY, health.is_ready, health.reason, health.message)


def deleting(seen: Seen) -> Condition:
    """Whether the store goes, and who keeps it."""
    type = DataStoreCondition.DELETING
    if not seen.store.metadata.deleting:
        return condition(type, False, DataStoreReason.NOT_DELETING)
    if seen.used_by:
        names = listed(seen.used_by, _SHOWN)
        message = (
            f"HostedControlPlanes have data here: {names}. The DataStore goes after them. Their data goes with them: "
            "back them up first (`nagaya tenant backup`)."
        )
        return condition(type, True, DataStoreReason.IN_USE, message)
    return condition(type, True, DataStoreReason.STOPPING, "It is stopped, and what is left of it is removed.")
