"""Gives members that have joined their vote, some time after they started, as kubeadm does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant.etcd.etcd import Etcd
from nagaya.simulators.tenant.etcd.refusals import Refused
from nagaya.simulators.tenant.settings import Timing
from nagaya.world import Clock

_RETRY: Final = 0.5  # seconds, as kubeadm's


class Promotions:
    """Looks at the members of nodes. Keys are their names; whoever lets a node join asks for a look."""

    name = "simulated etcd promotions"
    tables: tuple[str, ...] = ()

    def __init__(self, etcd: Etcd, timing: Timing, clock: Clock) -> None:
        self._etcd = etcd
        self._timing = timing
        self._clock = clock
        self._begun: dict[str, float] = {}  # monotonic, by node

    def start(self) -> Iterator[str]:
        """Nothing: there are no members yet."""
        return iter(())

    def on_event(self, event: Event) -> Iterator[str]:
        """Nothing in the API has to do with it."""
        return iter(())

    async def sync(self, key: object) -> float | None:
        """Promote the member of a node when it is time."""
        assert isinstance(key, str)
        member = None if self._etcd.cluster is None else self._etcd.cluster.named(key)
        if member is None or not member.learner:
            self._begun.pop(key, None)
            return None
        now = self._clock.monotonic()
        left = self._begun.setdefault(key, now) + self._timing.etcd_catch_up - now
        if left > 0:
            return left
        try:
            self._etcd.promote(key)
        except Refused:
            return _RETRY
        return None
