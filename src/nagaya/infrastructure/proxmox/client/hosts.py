"""The endpoints that serve the cluster, and its hosts: which of them can be asked.

The two are kept apart. Any host serves calls for any other, so an endpoint that is dead costs nothing as long as
another lives; a host that is dead fails only the calls for that host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nagaya.infrastructure.proxmox.client.breaker import Breaker, Shut, State
from nagaya.infrastructure.proxmox.client.endpoint import Endpoint
from nagaya.world import Clock


class Endpoints:
    """Where calls can be made: those that were given, then those that the cluster told of. The last good one first."""

    def __init__(self, given: Iterable[Endpoint], clock: Clock) -> None:
        self._clock = clock
        self._given: tuple[Endpoint, ...] = ()
        self._learned: tuple[Endpoint, ...] = ()
        self._breakers: dict[Endpoint, Breaker] = {}
        self._preferred: Endpoint | None = None
        self.replace(given)

    def replace(self, given: Iterable[Endpoint]) -> None:
        """Use these from now on. What is known of those that stay is kept."""
        self._given = tuple(dict.fromkeys(given))
        if not self._given:
            raise ValueError("a connection needs at least one endpoint")
        self._learned = ()
        self._forget()

    def learn(self, others: Iterable[Endpoint]) -> None:
        """Hosts that serve too. They are asked when none of those that were given answers."""
        self._learned = tuple(other for other in dict.fromkeys(others) if other not in self._given)
        self._forget()

    def ordered(self) -> list[Endpoint]:
        """All of them, in the order in which to try."""
        known = [*self._given, *self._learned]
        if self._preferred in known[1:]:
            known.remove(self._preferred)
            known.insert(0, self._preferred)
        return known

    def good(self, endpoint: Endpoint) -> None:
        """It answered: it is asked first from now on."""
        self._preferred = endpoint

    def dead(self) -> dict[Endpoint, str]:
        """Those that are not asked at the moment, each with the reason."""
        return {each: breaker.dead.why for each, breaker in self._breakers.items() if breaker.dead is not None}

    def breaker(self, endpoint: Endpoint) -> Breaker:
        """That of an endpoint."""
        return self._breakers.setdefault(endpoint, Breaker(self._clock))

    def _forget(self) -> None:
        known = {*self._given, *self._learned}
        self._breakers = {each: breaker for each, breaker in self._breakers.items() if each in known}
        if self._preferred not in known:
            self._preferred = None


class Hosts:
    """The hosts of the cluster, by name."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._breakers: dict[str, Breaker] = {}
        self._offline: frozenset[str] = frozenset()

    def breaker(self, name: str) -> Breaker:
        """That of a host."""
        return self._breakers.setdefault(name, Breaker(self._clock))

    @property
    def breakers(self) -> Mapping[str, Breaker]:
        """Of all hosts that were asked."""
        return self._breakers

    def check(self, name: str) -> None:
        """Raise Shut for a host that is not asked at the moment."""
        breaker = self._breakers.get(name)
        if breaker is not None and breaker.dead is not None and breaker.state is State.OPEN:
            raise Shut(breaker.dead)

    def dead(self) -> dict[str, str]:
        """The hosts that are not asked at the moment, each with the reason."""
        return {name: breaker.dead.why for name, breaker in self._breakers.items() if breaker.dead is not None}

    def told(self, online: Mapping[str, bool]) -> None:
        """The cluster says who is on. Who went off is not asked, so that nobody has to wait for PVE's 30 s; who came
        back is tried at once. What is behind a breaker is told of changes only: a host can be on and not answer."""
        offline = frozenset(name for name, on in online.items() if not on)
        for name in offline - self._offline:
            self.breaker(name).failed("the cluster says that it is offline", to_connect=True)
        for name in self._offline - offline:
            if name in self._breakers:
                self._breakers[name].told_alive()
        self._offline = offline
