"""What deletions remember between looks, for as long as this process lives.

Without it they would do more than they must, but nothing wrong: it may be forgotten at any time.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from nagaya.core.machine.deletion.plan import Action
from nagaya.core.machine.deletion.tenant import known_node
from nagaya.core.machine.deletion_outcome import DeletionOutcome
from nagaya.core.machine.seen import Seen

_KEPT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Wait:
    """A tenant was asked and something is still to wait for: it is not asked again before `until`."""

    until: float
    outcome: DeletionOutcome
    circumstances: tuple[object, ...] | None
    """All that would change what is asked. If it changes, the wait is over."""


@dataclass(slots=True)
class Memory:
    """What is known of the deletion of one machine."""

    met: set[Action] = field(default_factory=set)
    """The objects of providers that were seen. Of these it is certain that they are gone when they are not there."""
    wait: Wait | None = None
    entered: tuple[object, ...] | None = None
    """In which circumstances this look came to the tenant."""
    pauses: dict[Action, float] = field(default_factory=dict)
    """How long the last pause of a step was."""
    node_tried: float | None = None
    """When the deletion of the Node was first tried."""


class Memories:
    """What is known of all deletions; of those that were not looked at for longest, nothing."""

    def __init__(self) -> None:
        self._by_uid: OrderedDict[str, Memory] = OrderedDict()

    def of(self, seen: Seen) -> Memory:
        """What is known of one, including what is seen now."""
        uid = seen.machine.metadata.uid
        memory = self._by_uid.setdefault(uid, Memory())
        self._by_uid.move_to_end(uid)
        if len(self._by_uid) > _KEPT:
            self._by_uid.popitem(last=False)
        memory.entered = None
        if seen.infrastructure.provider is not None:
            memory.met.add(Action.DELETE_INFRASTRUCTURE)
        if seen.bootstrap is not None and seen.bootstrap.provider is not None:
            memory.met.add(Action.DELETE_BOOTSTRAP)
        return memory

    def forget(self, seen: Seen) -> None:
        """A machine is gone."""
        self._by_uid.pop(seen.machine.metadata.uid, None)


def circumstances(seen: Seen, entered: Action) -> tuple[object, ...]:
    """What a drain and a look at volumes depend on that events tell of: the user's wishes, and how the Node is."""
    machine = seen.machine
    node = known_node(seen)
    told = None if node is None else (node.unreachable, node.status.volumes_attached)
    return entered, machine.metadata.annotations, machine.spec.deletion, seen.drain_rules, told
