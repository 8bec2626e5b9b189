"""What to do about a DataStore: let it run, let it rest, or let it go."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from nagaya.api.controlplane.data_store import FINALIZER
from nagaya.controlplane.hosted.data_store_controller.seen import Seen


class Verb(Enum):
    """What is to be done."""

    HOLD = auto()
    """Put our finalizer on it."""
    REACH = auto()
    """Start it, where it is ours to start, and ask how it is."""
    REST = auto()
    """It is ours to start, and nobody needs it yet."""
    STOP = auto()
    """End it and remove what is left of it."""
    NOTHING = auto()
    """It is somebody else's to finish."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, and why."""

    verb: Verb
    sentence: str


def plan(seen: Seen) -> Plan:
    """The first rule that fits."""
    metadata = seen.store.metadata
    held = FINALIZER in metadata.finalizers
    if metadata.deleting and not held:
        return Plan(Verb.NOTHING, "It waits for finalizers of others.")
    if metadata.deleting and not seen.used_by:
        return Plan(Verb.STOP, "Nobody has data here any more.")
    if not held and not metadata.deleting:
        return Plan(Verb.HOLD, "It stays as long as somebody has data here.")
    if seen.store.spec.managed and not seen.is_wanted and not seen.is_known:
        return Plan(Verb.REST, "It is started with the first control plane that uses it.")
    return Plan(Verb.REACH, "It is asked how it is.")
