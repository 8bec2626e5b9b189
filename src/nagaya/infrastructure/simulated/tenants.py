"""All simulated clusters of this process, by their Clusters.

One object, shared by the controllers that make the clusters and by the connector through which others reach them. It
remembers nothing that is not in the management API too: what is lost with the process is built again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from nagaya.allowed_endpoints import Publication
from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.apiserver.server import bind
from nagaya.infrastructure.simulated.elsewhere import Elsewhere
from nagaya.infrastructure.simulated.tenancy import Tenancy
from nagaya.kube.key import Key
from nagaya.simulators.tenant.shared import Shared
from nagaya.simulators.tenant.tenant import Tenant
from nagaya.world import World

Subscriber = Callable[[Key], None]


class AddressTaken(ValueError):
    """Another simulated cluster has the address."""


class Tenants:
    """The simulated clusters of this process."""

    def __init__(self, world: World, *, listen: bool = True, publication: Publication | None = None) -> None:
        """`listen` opens a port for each cluster; without it they are reached within the process only. `publication`
        hears of these ports."""
        self.world = world
        self.listen = listen
        self.shared = Shared(publication=publication)
        self._tenancies: dict[Key, Tenancy] = {}
        self._elsewhere: dict[Key, Elsewhere] = {}
        self._by_url: dict[str, Tenancy] = {}
        self._subscribers: tuple[Subscriber, ...] = ()

    def subscribe(self, handler: Subscriber) -> Callable[[], None]:
        """Call a function with the key of a Cluster whose API can be started now, or begins to answer. Returns what
        ends that."""
        self._subscribers = (*self._subscribers, handler)

        def unsubscribe() -> None:
            self._subscribers = tuple(each for each in self._subscribers if each is not handler)

        return unsubscribe

    def announce(self, key: Key, endpoint: Endpoint) -> Tenancy:
        """The API of a Cluster will be at an address. Again: no effect. Raises AddressTaken.

        The address of a cluster does not change once it runs.
        """
        known = self._tenancies.get(key)
        url = f"https://{endpoint}"
        if known is not None and (known.url == url or known.tenant is not None):
            return known
        other = self._by_url.get(url)
        if other is not None:
            raise AddressTaken(f"{endpoint} is the address of the simulated cluster {other.key}")
        if known is not None:
            del self._by_url[known.url]
        made = self._tenancies[key] = self._by_url[url] = Tenancy(key, url, self._tell)
        self._tell(key)
        return made

    def announce_elsewhere(self, key: Key, endpoint: Endpoint) -> None:
        """The API of a Cluster is at an address, and not in this process. Again: no effect."""
        if key not in self._elsewhere:
            self._elsewhere[key] = Elsewhere(key, str(endpoint), self.world)
            self._tell(key)

    def tenancy(self, key: Key) -> Tenancy | Elsewhere | None:
        """The simulated cluster of a Cluster, once its address is known."""
        return self._tenancies.get(key) or self._elsewhere.get(key)

    def get(self, key: Key) -> Tenant | None:
        """The tenant of a Cluster, if it runs."""
        tenancy = self._tenancies.get(key)
        return None if tenancy is None else tenancy.tenant

    def at(self, url: str) -> Tenancy | None:
        """The simulated cluster that has its API at an address."""
        return self._by_url.get(url)

    def free(self, endpoint: Endpoint) -> bool:
        """Whether a cluster could have its API at an address."""
        if f"https://{endpoint}" in self._by_url:
            return False
        if self.listen:
            try:
                bind(endpoint.host, endpoint.port or 0).close()
            except OSError:
                return False
        return True

    async def stop(self, key: Key) -> None:
        """A cluster is gone."""
        elsewhere = self._elsewhere.pop(key, None)
        if elsewhere is not None:
            await elsewhere.stop()
        tenancy = self._tenancies.pop(key, None)
        if tenancy is not None:
            with suppress(KeyError):
                del self._by_url[tenancy.url]
            await tenancy.stop()

    async def close(self) -> None:
        """End all of them."""
        for key in [*self._tenancies, *self._elsewhere]:
            await self.stop(key)

    def _tell(self, key: Key) -> None:
        for subscriber in self._subscribers:
            subscriber(key)
